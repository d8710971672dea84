"""How much work it is to hold a value against a JSON Schema, told before the work is done.

A validator follows every reference each time it meets it. A schema of three kilobytes, in which
each of forty definitions names the next one twice, so takes 2^40 steps, in which no other thread
runs and no deadline is kept. Schemas come from outside, so the steps are counted first, each part
of the schema once for each part of the value. Pure.
"""

from collections.abc import Iterator
from typing import Any

from openjarvis.core.references import referred

MAX_STEPS = 100_000
"""How many steps a check may take; a bit less than a second."""

_COUNTED_FROM = 1_000
_SOME = 20  # members, of a list that nobody has seen yet
_REPEATED = 4  # a validator goes through what lies beside these keywords again, measured thrice
_AGAIN = ("unevaluatedProperties", "unevaluatedItems")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_HERE = ("not", "if", "then", "else")
_ALL_HERE = ("allOf", "anyOf", "oneOf")
_NAMED_HERE = ("dependentSchemas", "dependencies")
_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")

# What these hold is counted where it is held against a value, or is told and never checked.
_OF_OTHERS = frozenset(
    [
        *(*_REFERENCES, *_HERE, *_ALL_HERE, *_NAMED_HERE, *_MEMBERS, *_ITEMS),
        *("properties", "patternProperties", "propertyNames", "prefixItems"),
        *("$defs", "definitions", "description", "title", "examples", "default", "$comment"),
    ]
)

Schema = Any


class TooMuchEffort(ValueError):
    """A check would take more than `MAX_STEPS`, or would not end."""


class Effort:
    """Counts the steps of checks against one schema. Immutable once made; any thread may use it."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Look through `schema`, a valid one.

        Raises:
            TooMuchEffort: when no value at all can be checked against it.
        """
        self._parts = _Parts(schema)
        self._schema = schema
        try:
            self._varies = self._unfolded(schema, {}) > _COUNTED_FROM
            if self._varies:
                self.check({})
        except RecursionError:
            raise TooMuchEffort("it is nested too deeply") from None

    @property
    def is_small(self) -> bool:
        """Whether a check takes no more than a thousand steps for each member of a value."""
        return not self._varies

    def check(self, value: Any) -> None:
        """Return when `value` can be held against the schema in `MAX_STEPS`.

        Raises:
            TooMuchEffort: when it would take more.
            RecursionError: when it is nested too deeply.
        """
        if self._varies:
            self.check_faults(value)

    def check_faults(self, value: Any, *, most: int = MAX_STEPS) -> None:
        """Return when all that is wrong with `value` can be told in `most` steps.

        Whether it fits is known at its first fault; to tell them takes all steps, and memory for
        each.

        Raises:
            TooMuchEffort: when it would take more.
            RecursionError: when it is nested too deeply.
        """
        _Count(self._parts, most).of(self._schema, value)

    def _unfolded(self, schema: Schema, known: dict[int, int | None], /) -> int:
        """Return the steps for a value that has every member, each once; cycles have too many."""
        if not isinstance(schema, dict):
            return 1
        if id(schema) in known:
            size = known[id(schema)]
            return _COUNTED_FROM + 1 if size is None else size
        known[id(schema)] = None
        size = _own_steps(schema, [None] * _SOME) + _again(schema) * sum(
            self._unfolded(part, known) for part in self._parts.here(schema)
        )
        size += sum(self._unfolded(part, known) for part in _inside(schema))
        known[id(schema)] = size
        return size


class _Parts:
    """The parts of a schema that are held against the same value, references followed."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        objects = list(_objects(root))
        refers = any(isinstance(part.get(key), str) for part in objects for key in _REFERENCES)
        if refers and any(isinstance(part.get("$id"), str) for part in objects[1:]):
            raise TooMuchEffort("a part of it has an $id of its own; use #/$defs/…")

    def here(self, schema: dict[str, Any]) -> Iterator[Schema]:
        """Yield what a value of `schema` is held against beside its own keywords."""
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                yield self._target(schema[key])
        for key in _HERE:
            if key in schema:
                yield schema[key]
        for key in _ALL_HERE:
            yield from _list(schema.get(key))
        for key in _NAMED_HERE:
            yield from _dict(schema.get(key)).values()

    def _target(self, reference: str) -> Schema:
        own = self._root.get("$id")
        if isinstance(own, str):
            reference = reference.removeprefix(own)
        if not reference.startswith("#"):
            return True  # it leaves the schema, and is refused where nothing is fetched
        try:
            return referred(self._root, reference)
        except LookupError as error:
            raise TooMuchEffort(f"the reference {error}; use #/$defs/…") from None


class _Count:
    """The steps of one check, counted once for each pair of a schema and a value."""

    def __init__(self, parts: _Parts, most: int) -> None:
        self._parts = parts
        self._most = most
        self._known: dict[tuple[int, int], int | None] = {}
        self._counted = 0

    def of(self, schema: Schema, value: Any) -> int:
        if not isinstance(schema, dict):
            return 1
        pair = (id(schema), id(value))
        if pair in self._known:
            steps = self._known[pair]
            if steps is None:
                raise TooMuchEffort("it refers to itself without going deeper into the value")
            return steps
        self._known[pair] = None
        own = _own_steps(schema, value)
        self._counted += own
        self._check(self._counted)
        steps = own + _again(schema) * sum(
            self.of(part, value) for part in self._parts.here(schema)
        )
        steps += sum(self.of(part, member) for part, member in _pairs(schema, value))
        self._check(steps)
        self._known[pair] = steps
        return steps

    def _check(self, steps: int) -> None:
        if steps > self._most:
            raise TooMuchEffort(f"it takes more than {self._most:,} steps to check")


def _own_steps(schema: dict[str, Any], value: Any) -> int:
    """Return the steps of the keywords of `schema` itself; each thing they list may be a fault."""
    steps = 1 + sum(_size(held) for key, held in schema.items() if key not in _OF_OTHERS)
    dependencies = _dict(schema.get("dependencies")).values()
    steps += sum(_size(held) for held in dependencies if isinstance(held, list))
    if schema.get("uniqueItems") is True and isinstance(value, list):
        steps += len(value)
    return steps


def _size(value: Any) -> int:
    """Return how many things `value` lists, at any depth."""
    if isinstance(value, dict):
        return len(value) + sum(map(_size, value.values()))
    if isinstance(value, list):
        return len(value) + sum(map(_size, value))
    return 0


def _again(schema: dict[str, Any]) -> int:
    return _REPEATED if any(key in schema for key in _AGAIN) else 1


def _pairs(schema: dict[str, Any], value: Any) -> Iterator[tuple[Schema, Any]]:
    """Yield each member of `value` with what it may be held against."""
    if isinstance(value, dict):
        declared = _dict(schema.get("properties"))
        everywhere = [schema[key] for key in _MEMBERS if key in schema]
        everywhere += _dict(schema.get("patternProperties")).values()
        for name, member in value.items():
            if name in declared:
                yield declared[name], member
            for part in everywhere:
                yield part, member
            if "propertyNames" in schema:
                yield schema["propertyNames"], name
    elif isinstance(value, list):
        everywhere = [part for key in _ITEMS for part in _one_or_many(schema.get(key))]
        everywhere += _list(schema.get("prefixItems"))
        for member in value:
            for part in everywhere:
                yield part, member


def _inside(schema: dict[str, Any]) -> Iterator[Schema]:
    """Yield what the members of a value are held against."""
    for key in (*_MEMBERS, "propertyNames"):
        if key in schema:
            yield schema[key]
    for key in ("properties", "patternProperties"):
        yield from _dict(schema.get(key)).values()
    for key in (*_ITEMS, "prefixItems"):
        yield from _one_or_many(schema.get(key))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            yield at
            waiting.extend(at.values())
        elif isinstance(at, list):
            waiting.extend(at)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _one_or_many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
