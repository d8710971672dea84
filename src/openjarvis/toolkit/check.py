"""Arguments against a JSON Schema: coerced where nothing is lost, else refused, faults named."""

import copy
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import jsonschema_rs

from openjarvis.core import strict_json
from openjarvis.core.errors import ToolDefinitionError, nearest
from openjarvis.toolkit.coerce import NOTHING, coerce
from openjarvis.toolkit.describe import json_type, type_name
from openjarvis.toolkit.effort import Effort, TooMuchEffort

QUOTED_CHARACTERS = 200
"""How much of the input all faults of one call may repeat together."""

MAX_FAULTS = 50
"""How many faults of one call are told."""

_MEANING = 100
"""Characters of a missing argument's description that are told."""

_ROUNDS = 4
_MAX_MENDS = 10_000
_MASK = "the value"
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=20_000)  # about a millisecond


class ArgumentsError(ValueError):
    """Arguments that a tool cannot take; `faults` says each in words for the model."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


class Fault(NamedTuple):
    """A value that is of the right JSON type and still of no use, and where it lies."""

    place: tuple[str | int, ...]
    reason: str
    value: Any


class UnfitValue(ValueError):
    """A value of an argument that cannot become the annotated type."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.reason for fault in faults))
        self.faults = list(faults)

    def told(self, argument: str, quotes: "Quotes") -> list[str]:
        """Return the faults in words for the model."""
        return [
            f"'{'.'.join([argument, *(quotes.text(str(step)) for step in fault.place)])}': "
            f"{fault.reason}, got {quotes.of(fault.value)}"
            for fault in self.faults[:MAX_FAULTS]
        ]


class Quotes:
    """Hands out pieces of the input to show, at most `QUOTED_CHARACTERS` in all."""

    def __init__(self) -> None:
        self._left = QUOTED_CHARACTERS

    def of(self, value: Any) -> str:
        """Return `value` as it may be shown: its type, and its beginning while there is room."""
        if value is None:
            return "null"
        if isinstance(value, dict | list):
            return f"{_article(json_type(value))} of {len(value)}"
        if isinstance(value, str):
            return f'string "{self.text(value)}"'
        return f"{json_type(value)} {self.text(str(value))}"

    def text(self, text: str) -> str:
        """Return the beginning of `text`, one line, while there is room for it."""
        room = min(60, self._left)
        shown = text[: room + 1]
        if not shown.isprintable():
            shown = shown.encode("unicode_escape").decode()
        self._left -= min(len(shown), room)
        return shown[:room] + ("…" if len(shown) > room else "")


class Checker:
    """Checks the arguments of one tool. Immutable once made; any thread may use it."""

    def __init__(self, schema: dict[str, Any], *, owner: str = "") -> None:
        """Compile `schema`.

        Raises:
            ToolDefinitionError: when it is not a valid JSON Schema, or takes too long to check
                against; `owner` names the tool.
        """
        if not isinstance(schema, dict):
            raise ToolDefinitionError(
                f"{owner}: its parameters must be a JSON Schema as a dict, got {schema!r:.80}."
            )
        self._schema = closed(schema)
        try:
            self._effort = Effort(self._schema)
            self._validator = jsonschema_rs.validator_for(
                self._schema, mask=_MASK, retriever=_refuse_to_fetch, pattern_options=_PATTERNS
            )
        except ValueError as error:
            reason = str(error).split("\n", 1)[0]
            raise ToolDefinitionError(
                f"{owner}: its parameters are no JSON Schema: {reason}"
            ) from error
        self.accepts = self._validator.is_valid

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return `arguments`, coerced in a copy where that was needed.

        Raises:
            ArgumentsError: when they do not fit, with every wrong or missing field.
        """
        try:
            self._effort.check(arguments)
            if self.accepts(arguments):
                return arguments
            self._effort.check_faults(arguments)
            coerced = self._coerced(arguments)
            if self.accepts(coerced):
                return coerced
            errors = list(islice(self._errors(coerced), MAX_FAULTS + 1))
        except TooMuchEffort as error:
            raise ArgumentsError([f"they cannot be checked: {error}"]) from None
        except ValueError as error:  # not JSON at all: another key than str, a set, a surrogate
            raise ArgumentsError([f"not JSON values: {str(error)[:80]}"]) from None
        except RecursionError:
            raise ArgumentsError(["nested too deeply"]) from None
        quotes = Quotes()
        told = [fault for error in errors[:MAX_FAULTS] for fault in self._faults(error, quotes)]
        raise ArgumentsError(told if len(errors) <= MAX_FAULTS else [*told, "and more"])

    def _errors(self, arguments: dict[str, Any]) -> Iterator[Any]:
        for error in self._validator.iter_errors(arguments):
            yield from _narrowed(error)

    def _coerced(self, arguments: dict[str, Any]) -> dict[str, Any]:
        coerced = copy.deepcopy(arguments)
        for _ in range(_ROUNDS):  # a list made of "3" needs two: wrapped, then its item
            mended: set[tuple[str | int, ...]] = set()
            for error in islice(self._errors(coerced), _MAX_MENDS):
                path = tuple(error.instance_path)
                # What lies in a value that was replaced is judged in the next round.
                replaced = any(path[:length] in mended for length in range(1, len(path) + 1))
                if path and not replaced and self._mend(coerced, error):
                    mended.add(path)
            if not mended:
                break
        return coerced

    def _mend(self, root: dict[str, Any], error: Any) -> bool:
        parent: Any = root
        for step in error.instance_path[:-1]:
            parent = parent[step]
        key = error.instance_path[-1]
        for expected in _expected_types(error):
            value = coerce(parent[key], expected)
            if value is not NOTHING:
                parent[key] = value
                return True
        return False

    def _faults(self, error: Any, quotes: Quotes) -> list[str]:
        place = _place(error, quotes)
        kind, details = error.kind.name, error.kind.as_dict()
        inside = f" in '{place}'" if place else ""
        if kind == "required":
            return [self._missing(details["property"], error, inside)]
        if kind in ("additionalProperties", "unevaluatedProperties"):
            return self._unknown(details["unexpected"], error, inside, quotes)
        subject = f"'{place}'" if place else "the arguments"
        if kind == "pattern" and "error" in details:
            return [f"{subject} takes too long to check against its pattern"]
        if kind == "propertyNames":
            return [f"a name{inside or ' of the arguments'} {_reason(details['error'])}"]
        if kind == "enum":
            return [
                f"{subject} must be one of {_options(details)}, got {quotes.of(error.instance)}"
            ]
        expected = _expected_types(error)
        if expected:
            return [
                f"{subject} must be {_article(' or '.join(expected))}, "
                f"got {quotes.of(error.instance)}"
            ]
        return [f"{subject} {_reason(error)}, got {quotes.of(error.instance)}"]

    def _missing(self, name: str, error: Any, inside: str) -> str:
        known = _properties_at(self._schema, error.schema_path)
        schema = known.get(name)
        meaning = schema.get("description", "") if isinstance(schema, dict) else ""
        if len(meaning) > _MEANING:
            meaning = f"{meaning[:_MEANING]}…"
        kind = type_name(schema, self._schema.get("$defs"))
        return f"missing '{name}'{inside} ({f'{kind}: {meaning}' if meaning else kind})"

    def _unknown(self, names: list[str], error: Any, inside: str, quotes: Quotes) -> list[str]:
        known = list(_properties_at(self._schema, error.schema_path))
        faults = []
        for name in names[:MAX_FAULTS]:
            near = nearest(name, known)
            hint = (
                f"did you mean '{near}'?" if near else f"known: {', '.join(known[:20]) or 'none'}"
            )
            faults.append(f"unknown argument '{quotes.text(name)}'{inside} ({hint})")
        if len(names) > MAX_FAULTS:
            faults.append(f"and {len(names) - MAX_FAULTS:,} more unknown arguments{inside}")
        return faults


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with unknown arguments refused, unless it says that it takes them.

    A schema that lists no properties at all describes nothing, and so refuses nothing.
    """
    opens = ("additionalProperties", "patternProperties", "unevaluatedProperties")
    combines = ("anyOf", "oneOf", "allOf", "$ref")
    if "properties" not in schema or any(key in schema for key in opens + combines):
        return schema
    return {**schema, "additionalProperties": False}


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"the reference {uri[:80]!r} leaves the schema, and nothing is fetched")


def _place(error: Any, quotes: Quotes) -> str:
    """Return where in the arguments `error` lies; what the schema names is no quotation."""
    declared = error.evaluation_path
    return ".".join(
        str(step) if isinstance(step, int) or step in declared else quotes.text(step)
        for step in error.instance_path
    )


def _reason(error: Any) -> str:
    return str(error.message.removeprefix(_MASK).strip()[:200])


def _properties_at(schema: dict[str, Any], path: Sequence[str | int]) -> dict[str, Any]:
    """Return the properties declared beside the keyword that `path` ends with."""
    at: Any = schema
    for step in path[:-1]:
        at = at.get(step, {}) if isinstance(at, dict) else at[int(step)]
    properties = at.get("properties") if isinstance(at, dict) else None
    return properties if isinstance(properties, dict) else {}


def _narrowed(error: Any) -> Iterator[Any]:
    """Yield the errors of the one branch of a union that was meant, where only one can have been.

    `Address | None` given an object with a member missing should say which member.
    """
    if error.kind.name in ("anyOf", "oneOf"):
        meant = [
            branch
            for branch in error.kind.as_dict()["context"]
            if not any(_is_wrong_type(inner, error.instance_path) for inner in branch)
        ]
        if len(meant) == 1:
            for inner in meant[0]:
                yield from _narrowed(inner)
            return
    yield error


def _is_wrong_type(error: Any, path: Sequence[str | int]) -> bool:
    return bool(error.kind.name == "type" and error.instance_path == path)


def _expected_types(error: Any) -> list[str]:
    """Return the types that would have done where `error` says the type was wrong."""
    kind, details = error.kind.name, error.kind.as_dict()
    if kind == "type":
        return list(details["types"])
    if kind not in ("anyOf", "oneOf") or not all(details["context"]):
        return []  # where several branches of a `oneOf` fit, the type is not what is wrong
    types: list[str] = []
    for branch in details["context"]:
        for inner in branch:
            if _is_wrong_type(inner, error.instance_path):
                types.extend(inner.kind.as_dict()["types"])
    return list(dict.fromkeys(types))


def _options(details: dict[str, Any]) -> str:
    options = details["options"]
    shown = ", ".join(
        repr(option) if isinstance(option, str) else strict_json.dumps(option)
        for option in options[:20]
    )
    return shown + (", …" if len(options) > 20 else "")


def _article(words: str) -> str:
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"
