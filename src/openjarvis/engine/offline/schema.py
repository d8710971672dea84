"""What a tool's JSON Schema says of each argument, in the terms in which a request can fill it."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from openjarvis.engine.offline.script import fold, stem
from openjarvis.toolkit.base import ToolSpec


class Kind(StrEnum):
    """What an argument holds, as far as that decides where to look for it."""

    ENUM = "enum"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    DATE = "date"
    EMAIL = "email"
    URL = "url"
    PATH = "path"
    EXPRESSION = "expression"
    PROGRAM = "program"
    CODE = "code"
    NAME = "name"
    TEXT = "text"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a tool.

    `words` are the stems of its name and description, `cues` the words that may stand right before
    its value, `sample` is the value that its description shows.
    """

    name: str
    kind: Kind
    required: bool
    schema: dict[str, Any]
    words: frozenset[str]
    cues: frozenset[str]
    sample: str


_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SAMPLE = re.compile(
    r"(?:e\.\s?g\.|for example|such as|like|เช่น|例如|比如)[,:]?\s*['\"`]?([\w-]+)", re.IGNORECASE
)
_LONG_TEXT = re.compile(
    r"text|content|body|message|thought|query|prompt|question|note|comment|task|instruction|reason"
    r"|summary|title|subject|input|sentence|phrase|keyword|search"
)
_ARITHMETIC = re.compile(r"\b(?:math\w*|arithmetic\w*|calculat\w*|comput\w*)\b|คำนวณ|计算|計算")
_FORMULA = re.compile(r"\b(?:expression|formula|calculation|equation|sum)\b|นิพจน์|表达式|算式")
_FORMATS = {
    "date": Kind.DATE,
    "date-time": Kind.DATE,
    "email": Kind.EMAIL,
    "idn-email": Kind.EMAIL,
    "uri": Kind.URL,
    "url": Kind.URL,
    "path": Kind.PATH,
    "file-path": Kind.PATH,
    "directory-path": Kind.PATH,
    "uuid": Kind.CODE,
}
_ROLES = (
    ({"from"}, {"from", "source", "origin", "departure"}),
    ({"to", "into"}, {"to", "target", "destination", "arrival", "recipient", "language"}),
)
_BY_NAME = (
    (Kind.URL, {"url", "uri", "link", "href"}),
    (Kind.EMAIL, {"email", "mail"}),
    (Kind.PATH, {"path", "file", "filename", "filepath", "directory", "folder", "dir"}),
    (Kind.DATE, {"date", "day"}),
    (Kind.CODE, {"id", "code", "number", "sku"}),
)


def name_words(name: str) -> list[str]:
    """Return the words in `get_order_status` or `getOrderStatus`, in lower case."""
    return [word.lower() for word in _NAME_WORD.findall(name)]


def parameters_of(spec: ToolSpec) -> list[Parameter]:
    """Return the arguments of a tool in the order of its schema."""
    schema, properties, required = _parts(spec)
    context = f"{spec.name} {spec.description} {spec.category}".replace("_", " ").lower()
    parameters = [
        _parameter(str(name), _resolved(member, schema), name in required, context)
        for name, member in properties.items()
    ]
    if len(parameters) == 1 and parameters[0].kind is Kind.TEXT:
        return [replace(parameters[0], required=True)]  # without its only text a call is idle
    return parameters


def has_unfillable(spec: ToolSpec) -> bool:
    """Tell whether the schema requires an argument that it does not describe."""
    _, properties, required = _parts(spec)
    return any(name not in properties for name in required)


def _parts(spec: ToolSpec) -> tuple[dict[str, Any], dict[Any, Any], list[Any]]:
    """Return a schema, its properties and what it requires; parts of a wrong type are empty."""
    schema = spec.parameters if isinstance(spec.parameters, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    return (
        schema,
        properties if isinstance(properties, dict) else {},
        required if isinstance(required, list) else [],
    )


def _resolved(member: Any, root: dict[str, Any]) -> dict[str, Any]:
    """Return a member's schema without references, and without `null` beside another type."""
    for _ in range(4):
        if not isinstance(member, dict):
            return {}
        outer = {key: value for key, value in member.items() if key in ("description", "default")}
        branches = member.get("anyOf") or member.get("oneOf") or member.get("allOf")
        if isinstance(reference := member.get("$ref"), str):
            definitions = root.get("$defs") or root.get("definitions") or {}
            member = {**(definitions.get(reference.rsplit("/", 1)[-1]) or {}), **outer}
        elif isinstance(branches, list):
            real = [
                part for part in branches if isinstance(part, dict) and part.get("type") != "null"
            ]
            member = {**(real[0] if real else {}), **outer}
        else:
            break
    kind = member.get("type")
    if isinstance(kind, list):
        kinds = [part for part in kind if part != "null"]
        member = {**member, "type": kinds[0] if kinds else "null"}
    return dict(member)


def _parameter(name: str, schema: dict[str, Any], required: bool, context: str) -> Parameter:
    description = str(schema.get("description") or schema.get("title") or "")
    spoken = [*name_words(name), *re.findall(r"[^\W\d_]+", fold(description))]
    sample = _SAMPLE.search(description)
    examples = schema.get("examples")
    if sample is None and isinstance(examples, list) and examples:
        sample = re.fullmatch(r"()?(.+)", str(examples[0]))
    shown = sample[sample.lastindex or 0] if sample else ""
    kind = _kind(name, description, schema, context, shown)
    words = frozenset(stem(word) for word in spoken if len(word) > 1)
    return Parameter(name, kind, required, schema, words, _cues(name), shown)


def _cues(name: str) -> frozenset[str]:
    """Return what may introduce the value: `from Oslo` is for `origin`, `dish: soup` for `dish`."""
    called = set(name_words(name))
    return frozenset(called.union(*(cues for cues, roles in _ROLES if called & roles)))


def _kind(name: str, description: str, schema: dict[str, Any], context: str, sample: str) -> Kind:
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return Kind.ENUM
    simple = {
        "integer": Kind.NUMBER,
        "number": Kind.NUMBER,
        "boolean": Kind.BOOLEAN,
        "array": Kind.LIST,
    }
    stated = schema.get("type")
    if stated in simple:
        return simple[stated]
    if stated not in ("string", None):
        return Kind.UNKNOWN
    return _kind_of_text(name, description, schema, context, sample)


def _kind_of_text(
    name: str, description: str, schema: dict[str, Any], context: str, sample: str
) -> Kind:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    spoken = " ".join([*name_words(name), description.lower()])
    if _FORMULA.search(spoken) and _ARITHMETIC.search(f"{context} {spoken}"):
        return Kind.EXPRESSION
    called = name_words(name)
    if called[-1:] == ["code"] and re.search(
        r"\b(?:python|javascript|run|execute|script)\b", spoken
    ):
        return Kind.PROGRAM
    if re.search(r"\d", sample) and re.search(r"[A-Za-z]", sample):
        return Kind.CODE
    if sample.isupper() and sample.isascii() and len(sample) < 6:
        return Kind.NAME
    for kind, names in _BY_NAME:
        if called and called[-1] in names:
            return kind
    return Kind.TEXT if any(map(_LONG_TEXT.fullmatch, called)) else Kind.NAME
