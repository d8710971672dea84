"""The parameter sections of docstrings, read by griffe."""

import logging
from typing import Literal

import griffe

# griffe reports docstrings that do not name the types; a tool's types are in its annotations.
logging.getLogger("griffe").setLevel(logging.CRITICAL)


def parse_sections(
    text: str, style: Literal["google", "numpy", "sphinx"]
) -> tuple[str, dict[str, str]]:
    """Return the text before the sections, and what the parameter section says of each name."""
    description: list[str] = []
    meanings: dict[str, str] = {}
    for section in griffe.Docstring(text).parse(style):
        if section.kind is griffe.DocstringSectionKind.text:
            description.append(section.value)
        elif section.kind is griffe.DocstringSectionKind.parameters:
            meanings.update(
                {item.name: " ".join(item.description.split()) for item in section.value}
            )
    return "\n\n".join(description).strip(), meanings
