"""What a server turns out not to understand, learned from its refusals and left out from then on.

OpenAI-compatible servers and models differ in a few fields of a request. None announces it; they
answer 400 and name the field.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from openjarvis.engine.messages import REASONING_FIELDS
from openjarvis.engine.pictures import unshown

logger = logging.getLogger("openjarvis.engine")

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Quirk:
    """A field that some servers refuse: how they say so, and the request without it."""

    field: str
    refusal: re.Pattern[str]
    present: Callable[[Body], bool]
    adapted: Callable[[Body], Body]


def _without(field: str) -> Callable[[Body], Body]:
    return lambda body: {key: value for key, value in body.items() if key != field}


def _with_completion_limit(body: Body) -> Body:
    rest = _without("max_tokens")(body)
    return {**rest, "max_completion_tokens": body["max_tokens"]}


def _has_reasoning(body: Body) -> bool:
    return any(
        field in message for message in body.get("messages", ()) for field in REASONING_FIELDS
    )


def _without_reasoning(body: Body) -> Body:
    messages = [
        {key: value for key, value in message.items() if key not in REASONING_FIELDS}
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


def _is_strict(body: Body) -> bool:
    return any(_function(tool).get("strict") for tool in body.get("tools", ()))


def _without_strictness(body: Body) -> Body:
    tools = [_loose(tool) for tool in body["tools"]]
    return {**body, "tools": tools}


def _loose(tool: Body) -> Body:
    """Return a tool whose function is not strict; here and on the Responses interface."""
    if "function" in tool:
        return {**tool, "function": _without("strict")(tool["function"])}
    return {**tool, "strict": False} if "strict" in tool else tool


def _function(tool: Body) -> Body:
    found: Body = tool.get("function", tool)
    return found


def _has_images(body: Body) -> bool:
    return any(_is_picture(message) for message in body.get("messages", ()))


def _is_picture(message: Body) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(part["type"] == "image_url" for part in content)


def _without_images(body: Body) -> Body:
    messages = [
        {**message, "content": "\n".join(map(_told, message["content"]))}
        if _is_picture(message)
        else message
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


def _told(part: Body) -> str:
    said: str = part.get("text") or unshown("an image", "this model takes none")
    return said


QUIRKS = (
    Quirk(
        "stream_options",
        re.compile(r"stream_options|include_usage"),
        lambda body: "stream_options" in body,
        _without("stream_options"),
    ),
    Quirk(
        "max_tokens",
        re.compile(r"max_completion_tokens"),
        lambda body: "max_tokens" in body,
        _with_completion_limit,
    ),
    Quirk(
        "temperature",
        re.compile(
            r"temperature.{0,80}(?:not support|unsupported|only the default)"
            r"|(?:not support|unsupported).{0,80}temperature",
            re.IGNORECASE | re.DOTALL,
        ),
        lambda body: "temperature" in body,
        _without("temperature"),
    ),
    Quirk(
        "images",
        re.compile(
            r"image_url|multi-?modal|\bvision\b|at most 0 image|support image|support vision"
            r"|images? (?:input )?(?:is|are) not supported",
            re.IGNORECASE,
        ),
        _has_images,
        _without_images,
    ),
    Quirk(
        "strict",
        re.compile(r"\bstrict\b|schema for function", re.IGNORECASE),
        _is_strict,
        _without_strictness,
    ),
    Quirk("reasoning", re.compile("|".join(REASONING_FIELDS)), _has_reasoning, _without_reasoning),
)


class Dialect:
    """The quirks of one server, by model. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, tuple[Quirk, ...]] = {}

    def adapted(self, body: Body) -> Body:
        """Return `body` without what the server is known to refuse for its model."""
        with self._lock:
            known = self._known.get(body["model"], ())
        for quirk in known:
            if quirk.present(body):
                body = quirk.adapted(body)
        return body

    def learns_from(self, refusal: str, sent: Body) -> bool:
        """Tell whether `refusal` of the body that was `sent` names a field to leave out.

        True at most once for a field: what is known is not in a body any more.
        """
        named = [quirk for quirk in QUIRKS if quirk.present(sent) and quirk.refusal.search(refusal)]
        model = sent["model"]
        with self._lock:
            known = self._known.get(model, ())
            self._known[model] = known + tuple(quirk for quirk in named if quirk not in known)
        for quirk in named:
            logger.info("The server does not take %r for %s; left out.", quirk.field, model)
        return bool(named)
