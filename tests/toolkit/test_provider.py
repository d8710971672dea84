from typing import Any

import pytest

from openjarvis.core.errors import LLMError, ToolDefinitionError
from openjarvis.toolkit.base import Tool
from openjarvis.toolkit.provider import ProviderTool

NEVER_CALLED = r"LLM_INVALID_REQUEST: The provider runs the tool 'search': .* never be called"


def test_a_provider_tool_is_its_name_type_and_options() -> None:
    options = {"exclude": ["example.com"]}

    search = ProviderTool("search", "google.google_search", options)
    options.clear()

    assert (search.name, search.provider_type) == ("search", "google.google_search")
    assert search.options == {"exclude": ["example.com"]}
    assert repr(search) == (
        "ProviderTool('search', 'google.google_search', {'exclude': ['example.com']})"
    )


def test_a_provider_tool_is_listed_with_who_runs_it() -> None:
    spec = ProviderTool("search", "google.google_search").spec

    assert (spec.name, spec.category) == ("search", "provider")
    assert spec.description == "Run by the provider (google.google_search)."
    assert spec.metadata == {"provider_type": "google.google_search"}


def test_a_provider_tool_has_nothing_to_execute() -> None:
    search = ProviderTool("search", "google.google_search")

    assert not hasattr(search, "execute")
    assert not isinstance(search, Tool)


def test_an_execute_given_to_it_is_refused() -> None:
    with pytest.raises(LLMError, match=NEVER_CALLED) as refusal:
        ProviderTool("search", "google.google_search", execute=print)

    assert (refusal.value.status, refusal.value.retryable) == (400, False)


def test_an_execute_assigned_to_it_is_refused() -> None:
    search = ProviderTool("search", "google.google_search")

    with pytest.raises(LLMError, match=NEVER_CALLED):
        search.execute = print  # type: ignore[attr-defined]


def test_a_subclass_with_an_execute_is_refused() -> None:
    with pytest.raises(LLMError, match="The provider runs the tool 'Search'"):

        class Search(ProviderTool):
            def execute(self, **params: Any) -> None: ...


def test_a_subclass_that_inherits_an_execute_is_refused() -> None:
    class Runs:
        def execute(self) -> None: ...

    with pytest.raises(LLMError, match="The provider runs the tool 'Search'"):

        class Search(Runs, ProviderTool):
            pass


def test_a_name_that_models_cannot_call_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match=r"provider tool google\.google_search"):
        ProviderTool("google search", "google.google_search")
