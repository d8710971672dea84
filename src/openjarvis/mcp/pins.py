"""Definitions pinned when they are first used, so that a server cannot change one unnoticed."""

import json
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from openjarvis.core.errors import ConfigError
from openjarvis.mcp import kept
from openjarvis.mcp.definitions import Definition

Pins = dict[str, dict[str, str]]
"""The digests of tools by their names there, by the server that is configured."""


class Pinned(StrEnum):
    """How a definition stands to what was pinned of its server: NEW where nothing was."""

    NEW = "new"
    ADDED = "added"
    SAME = "pinned"
    CHANGED = "changed"


class PinStore:
    """The pins in one JSON file that only its owner can read. Any thread or process may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def standing(self, definition: Definition) -> Pinned:
        """Tell whether a definition is the pinned one.

        Raises:
            ConfigError: when the pins cannot be read; what cannot be compared is not believed.
        """
        pins = self._read()
        _claim(pins, definition)
        of_server = pins.get(_key(definition))
        if not of_server:
            return Pinned.NEW
        pinned = of_server.get(definition.remote_name)
        if pinned is None:
            return Pinned.ADDED
        return Pinned.SAME if pinned == definition.digest else Pinned.CHANGED

    def pin_first(self, definitions: Iterable[Definition]) -> None:
        """Pin all definitions of a server of which nothing is pinned yet."""
        listed = list(definitions)
        self._change(lambda pins: _add_first(pins, listed))

    def pin(self, *definitions: Definition, replace: bool = False) -> None:
        """Pin definitions; those pinned already stay as they are, unless `replace`."""
        self._change(lambda pins: _add(pins, definitions, replace=replace))

    def _change(self, change: Callable[[Pins], bool]) -> None:
        """Keep what `change` makes of the pins; it tells whether it changed any."""
        if not change(self._read()):
            return
        with kept.changing(self._path):
            pins = self._read()
            if change(pins):
                kept.write(self._path, json.dumps(pins, indent=1, sort_keys=True))

    def _read(self) -> Pins:
        try:
            pins = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"{self._path}: the pinned MCP definitions cannot be read: {error}. Mend or remove "
                "the file."
            ) from error
        if not _are_pins(pins):
            raise ConfigError(f"{self._path}: this is no file of pins. Mend or remove it.")
        return cast("Pins", pins)


def _are_pins(pins: Any) -> bool:
    return isinstance(pins, dict) and all(
        isinstance(of_server, dict)
        and all(isinstance(digest, str) for digest in of_server.values())
        for of_server in pins.values()
    )


def _key(one: Definition) -> str:
    """Return what the pins of a definition's server are kept by; no name has a blank."""
    return f"{one.server} {one.configured}"


def _claim(pins: Pins, one: Definition) -> bool:
    """Give pins that are kept by the name alone, as they once were, to the server of `one`."""
    if _key(one) in pins or one.server not in pins:
        return False
    pins[_key(one)] = pins.pop(one.server)
    return True


def _add(pins: Pins, definitions: Iterable[Definition], *, replace: bool) -> bool:
    """Put definitions among the pins; tell whether that changed any."""
    changed = False
    for one in definitions:
        changed = _claim(pins, one) or changed
        of_server = pins.setdefault(_key(one), {})
        if one.remote_name in of_server and not replace:
            continue
        changed = changed or of_server.get(one.remote_name) != one.digest
        of_server[one.remote_name] = one.digest
    return changed


def _add_first(pins: Pins, definitions: Sequence[Definition]) -> bool:
    """Put the definitions of a server among the pins where it has none."""
    if not definitions:
        return False
    claimed = _claim(pins, definitions[0])
    if pins.get(_key(definitions[0])):
        return claimed
    return _add(pins, definitions, replace=False)
