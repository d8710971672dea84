"""Definitions pinned when they are first used, so that a server cannot change one unnoticed."""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from openjarvis.core.errors import ConfigError
from openjarvis.mcp import kept
from openjarvis.mcp.definitions import Definition


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
        pins = self._read().get(definition.server)
        if not pins:
            return Pinned.NEW
        pinned = pins.get(definition.remote_name)
        if pinned is None:
            return Pinned.ADDED
        return Pinned.SAME if pinned == definition.digest else Pinned.CHANGED

    def pin_first(self, server: str, definitions: Iterable[Definition]) -> None:
        """Pin all definitions of a server of which nothing is pinned yet."""
        if not self._read().get(server):
            self.pin(*definitions)

    def pin(self, *definitions: Definition, replace: bool = False) -> None:
        """Pin definitions; those pinned already stay as they are, unless `replace`."""
        if not _add(self._read(), definitions, replace=replace):
            return
        with kept.changing(self._path):
            pins = self._read()
            _add(pins, definitions, replace=replace)
            kept.write(self._path, json.dumps(pins, indent=1, sort_keys=True))

    def _read(self) -> dict[str, dict[str, str]]:
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
        return cast("dict[str, dict[str, str]]", pins)


def _are_pins(pins: Any) -> bool:
    return isinstance(pins, dict) and all(
        isinstance(of_server, dict)
        and all(isinstance(digest, str) for digest in of_server.values())
        for of_server in pins.values()
    )


def _add(
    pins: dict[str, dict[str, str]], definitions: Iterable[Definition], *, replace: bool
) -> bool:
    """Put definitions among the pins; tell whether that changed any."""
    changed = False
    for one in definitions:
        of_server = pins.setdefault(one.server, {})
        if one.remote_name in of_server and not replace:
            continue
        changed = changed or of_server.get(one.remote_name) != one.digest
        of_server[one.remote_name] = one.digest
    return changed
