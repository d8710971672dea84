"""The images of tools' results, as far as a model can be shown them.

A model without eyes, and what is left out for a bound, get a line that says so. Pure.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.images import PARTS, Image, images_in
from openjarvis.core.types import Message, Role

MOST_IMAGES = 20
MOST_BASE64 = 15_000_000
"""Characters of all images of a request; past them the oldest are left out."""

MOST_LINES = 10
"""Lines about images that are not shown, in one result."""
_IMAGE = re.compile(r"\bimages?\b", re.IGNORECASE)
TEXT_ONLY = "this engine takes text only"
EVERY_KIND = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class Pictured(NamedTuple):
    """A message, and the images to show with it."""

    message: Message
    images: Sequence[Image] = ()


def pictured(
    messages: Iterable[Message], *, kinds: Collection[str] = EVERY_KIND, blind: str = ""
) -> list[Pictured]:
    """Return the messages, and apart from them the images of their results.

    `kinds` are the media types that may be shown; `blind` says why none can be.
    """
    room = _Room(kinds, blind)
    # The newest first: they are what the model is asked about.
    shown = [room.shown(message) for message in reversed(list(messages))]
    return shown[::-1]


def in_text(messages: Iterable[Message], why: str = TEXT_ONLY) -> list[Message]:
    """Return the messages for a model that is shown no images, each told as a line."""
    return [one.message for one in pictured(messages, blind=why)]


def without_refused(messages: Sequence[Message], error: LLMError) -> list[Message]:
    """Return the messages for another attempt at a request whose images the provider refused.

    An image that only looks whole would else spoil every request of its conversation.

    Raises:
        LLMError: `error` itself, when it is about something else.
    """
    is_about_images = error.status == 413 or bool(_IMAGE.search(error.message))
    if error.code is not LLMErrorCode.REQUEST_REJECTED or not is_about_images:
        raise error
    if not any(one.images for one in pictured(messages)):
        raise error
    return in_text(messages, "the provider refused it, or another one")


def unshown(line: str, why: str) -> str:
    """Return the line for an image that is not shown."""
    return f"[Not shown: {line}: {why}.]"


class _Room:
    """What may still be shown in one request."""

    def __init__(self, kinds: Collection[str], blind: str) -> None:
        self._kinds = kinds
        self._blind = blind
        self._images = MOST_IMAGES
        self._characters = MOST_BASE64

    def shown(self, message: Message) -> Pictured:
        if message.role is not Role.TOOL or PARTS not in message.metadata:
            return Pictured(message)
        images: list[Image] = []
        lines: list[str] = []
        for found in images_in(message.metadata):
            if isinstance(found, str):
                lines.append(unshown("an image", found))
            elif why := self._refusal(found):
                lines.append(unshown(found.line, why))
            else:
                images.append(found)
        if lines:
            more = len(lines) - MOST_LINES
            lines = [*lines[:MOST_LINES], f"[{more} more images.]"] if more > 0 else lines
        text = "\n".join(filter(None, [message.text, *lines]))
        rest = {key: value for key, value in message.metadata.items() if key != PARTS}
        return Pictured(replace(message, content=text, metadata=rest), images)

    def _refusal(self, image: Image) -> str:
        """Return why an image is not shown, or "" and make room for it."""
        if self._blind:
            return self._blind
        if image.media_type not in self._kinds:
            return f"the provider takes no {image.media_type}"
        size = len(image.data) * 4 // 3
        if not self._images or size > self._characters:
            return "there are more images than a request may hold"
        self._images -= 1
        self._characters -= size
        return ""
