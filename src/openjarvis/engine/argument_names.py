"""Names of arguments for a provider that takes few: put in place on the way out, and back. Pure.

Tools are written in every language; Claude and Gemini take names of arguments in ASCII alone.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from openjarvis.core.types import Message
from openjarvis.engine.adapter import Client, Exchange, Reading
from openjarvis.engine.base import Reply, ReplyCall
from openjarvis.engine.wire import mapping

_KEPT = 40
"""Characters of a name that a reader still knows it by."""
_OF_SCHEMAS = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)
_BY_ARGUMENT = frozenset({"properties", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"(\s*:)?)?', re.DOTALL)
"""A string of JSON, in group 2 the colon behind a key; one that is cut off goes to the end."""


class ArgumentNames:
    """The names in one request: `offered` are its definitions with names that `taken` matches.

    A name that is replaced stands at the front of its argument's description.
    """

    def __init__(self, definitions: Iterable[Mapping[str, Any]], taken: re.Pattern[str]) -> None:
        self._taken = taken
        self._theirs: dict[str, str] = {}
        self._definitions = list(definitions)
        self._text = ""
        self.offered = [self._definition(definition) for definition in self._definitions]
        self._ours = {theirs: ours for ours, theirs in self._theirs.items()}

    def sent(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages as the provider is sent them."""
        return [self._message(message) for message in messages]

    def around(self, exchange: Exchange) -> Exchange:
        """Return an exchange whose reply has the user's names."""
        return _Renamed(exchange, self) if self._ours else exchange

    def received(self, reply: Reply) -> Reply:
        """Return a reply with the user's names."""
        calls = reply.get("tool_calls")
        if calls:
            reply["tool_calls"] = [
                ReplyCall({**call, "arguments": _renamed(call["arguments"], self._ours)})
                for call in calls
            ]
        return reply

    def _message(self, message: Message) -> Message:
        if not self._theirs or not message.tool_calls:
            return message
        calls = [
            replace(call, arguments=_renamed(call.arguments, self._theirs))
            for call in message.tool_calls
        ]
        return replace(message, tool_calls=calls)

    def _definition(self, definition: Mapping[str, Any]) -> dict[str, Any]:
        function = mapping(definition.get("function"))
        if "parameters" not in function:
            return dict(definition)
        parameters = self._schema(function["parameters"])
        return {**definition, "function": {**function, "parameters": parameters}}

    def _schema(self, schema: Any) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        return {keyword: self._value(keyword, value) for keyword, value in schema.items()}

    def _value(self, keyword: str, value: Any) -> Any:
        if keyword in _OF_SCHEMAS and isinstance(value, Mapping):
            inner = {name: self._schema(schema) for name, schema in value.items()}
            return self._arguments(inner) if keyword in _BY_ARGUMENT else inner
        if keyword == "required" and isinstance(value, list):
            return [self._name(name) for name in value]
        if keyword in _LISTS and isinstance(value, list):
            return [self._schema(schema) for schema in value]
        if keyword in ("items", "additionalProperties"):
            return self._schema(value)
        return value

    def _arguments(self, schemas: Mapping[str, Any]) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for name, schema in schemas.items():
            theirs = self._name(name)
            if theirs != name:
                said = mapping(schema).get("description")
                schema = {**mapping(schema), "description": f"{name}: {said}" if said else name}
            named[theirs] = schema
        return named

    def _name(self, name: Any) -> Any:
        if not isinstance(name, str) or self._taken.fullmatch(name):
            return name
        if name not in self._theirs:
            # The same in every request, whatever else is offered: histories are sent again.
            known = re.sub("[^A-Za-z0-9_]+", "_", name).strip("_")[:_KEPT]
            readable = known if known[:1].isalpha() else f"arg_{known}".strip("_")
            self._theirs[name] = self._free(readable, sha256(name.encode()).hexdigest())
        return self._theirs[name]

    def _free(self, readable: str, digest: str) -> str:
        """Return a name that no argument has: with as much of the digest as that takes."""
        self._text = self._text or json.dumps(self._definitions, ensure_ascii=False, default=str)
        made = (f"{readable}_{digest[:length]}" for length in (8, 12, 16, len(digest)))
        return next((name for name in made if f'"{name}"' not in self._text), readable)


class _Renamed(Exchange):
    def __init__(self, exchange: Exchange, names: ArgumentNames) -> None:
        self._exchange = exchange
        self._names = names
        self.body: dict[str, Any] = exchange.body
        self.client: Client = exchange.client

    def streaming_body(self) -> dict[str, Any]:
        return self._exchange.streaming_body()

    def reading(self) -> Reading:
        return _RenamedReading(self._exchange.reading(), self._names)


class _RenamedReading(Reading):
    def __init__(self, reading: Reading, names: ArgumentNames) -> None:
        self._reading = reading
        self._names = names

    def feed(self, event: Any) -> str:
        return self._reading.feed(event)

    def reply(self) -> Reply:
        return self._names.received(self._reading.reply())


def _renamed(arguments: str, names: Mapping[str, str]) -> str:
    """Return the JSON text with its keys replaced and all else as it was written, JSON or not."""

    def replaced(found: re.Match[str]) -> str:
        if found[2] is None:
            return found[0]
        try:
            key = json.loads(f'"{found[1]}"', strict=False)
        except ValueError:
            return found[0]
        if key not in names:
            return found[0]
        return json.dumps(names[key], ensure_ascii=False) + found[2]

    return _STRING.sub(replaced, arguments)
