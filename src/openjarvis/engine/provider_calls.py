"""What is told of tools that the provider ran, in one shape for all providers."""

import json
from typing import Any

from openjarvis.engine.base import ProviderCall, Reply


class Told:
    """Collects sources and provider calls while an answer is read."""

    def __init__(self) -> None:
        self._sources: dict[str, dict[str, str]] = {}
        self._calls: dict[str, ProviderCall] = {}

    def source(self, url: Any, title: Any) -> None:
        """Note something that the answer rests on; the first title of a URL that has one stays."""
        if isinstance(url, str) and url:
            known = self._sources.setdefault(url, {"title": "", "url": url})
            known["title"] = known["title"] or (title if isinstance(title, str) else "")

    def call(self, name: str, arguments: Any, *, call_id: str = "", output: str = "") -> None:
        """Note a call; the same id, or the same call without one, is noted once."""
        written = json.dumps(arguments or {}, ensure_ascii=False)
        key = call_id or f"{name} {written}"
        self._calls[key] = ProviderCall(id=call_id, name=name, arguments=written, output=output)

    def answered(self, call_id: str, output: str) -> None:
        """Note what a call gave, of this turn or of an earlier one."""
        unnamed = ProviderCall(id=call_id, name="", arguments="", output="")
        self._calls.setdefault(call_id, unnamed)["output"] = output

    def add_to(self, reply: Reply) -> None:
        """Put what was told into the reply."""
        if self._sources:
            reply["sources"] = list(self._sources.values())
        if self._calls:
            reply["provider_calls"] = list(self._calls.values())
