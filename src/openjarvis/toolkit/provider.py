"""Tools that the model's provider runs on its own side."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from openjarvis.core.errors import invalid_request
from openjarvis.toolkit.base import ToolSpec, check_name


class ProviderTool:
    """A tool of the provider's: named and configured here, run over there, never by us.

    `provider_type` is the provider's own name for it, e.g. `google.google_search`; an engine that
    does not know it refuses the request. There is no `execute`, and none can be given.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when an `execute` is given: it would never be called.
    """

    def __init__(
        self,
        name: str,
        provider_type: str,
        options: Mapping[str, Any] | None = None,
        *,
        execute: Callable[..., Any] | None = None,
    ) -> None:
        self.name = check_name(name, f"provider tool {provider_type}")
        self.provider_type = provider_type
        self.options = dict(options or {})
        if execute is not None:
            _refuse_execute(name)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "execute"):
            _refuse_execute(cls.__name__)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "execute":
            _refuse_execute(self.name)
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"ProviderTool({self.name!r}, {self.provider_type!r}, {self.options!r})"

    @property
    def spec(self) -> ToolSpec:
        """What is known of the tool, for listings."""
        return ToolSpec(
            name=self.name,
            description=f"Run by the provider ({self.provider_type}).",
            category="provider",
            metadata={"provider_type": self.provider_type},
        )


def _refuse_execute(name: str) -> NoReturn:
    raise invalid_request(
        f"The provider runs the tool {name!r}: a function given to it would never be called. "
        "Remove `execute`, or make a tool of your own with @tool."
    )
