"""Definitions pinned when they are first used, so that a server cannot change one unnoticed."""

import json
import os
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock

from openjarvis.core.errors import ConfigError
from openjarvis.mcp.definitions import Definition


class Pinned(StrEnum):
    """How a definition stands to what was pinned of it."""

    NEW = "new"
    SAME = "pinned"
    CHANGED = "changed"


class PinStore:
    """The pins in one JSON file that only its owner can read. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()

    def standing(self, definition: Definition) -> Pinned:
        """Tell whether a definition is the pinned one.

        Raises:
            ConfigError: when the pins cannot be read; what cannot be compared is not believed.
        """
        pinned = self._read().get(definition.server, {}).get(definition.remote_name)
        if pinned is None:
            return Pinned.NEW
        return Pinned.SAME if pinned == definition.digest else Pinned.CHANGED

    def pin(self, *definitions: Definition, replace: bool = False) -> None:
        """Pin definitions; those pinned already stay as they are, unless `replace`."""
        with self._lock:
            pins = self._read()
            before = json.dumps(pins)
            for one in definitions:
                of_server = pins.setdefault(one.server, {})
                if replace or one.remote_name not in of_server:
                    of_server[one.remote_name] = one.digest
            if json.dumps(pins) != before:
                self._write(pins)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            pins = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self._path}: the pinned MCP definitions cannot be read: {error}. Mend or remove "
                "the file."
            ) from error
        if not isinstance(pins, dict) or not all(isinstance(one, dict) for one in pins.values()):
            raise ConfigError(f"{self._path}: this is no file of pins. Mend or remove it.")
        return pins

    def _write(self, pins: dict[str, dict[str, str]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._path.parent, delete=False
        ) as temporary:  # made with mode 0600
            json.dump(pins, temporary, indent=1, sort_keys=True)
        os.replace(temporary.name, self._path)  # noqa: PTH105 - one step, on every system
