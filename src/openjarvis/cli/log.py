"""The log on stderr: without secrets, and without what could steer the terminal."""

import logging
import sys

from openjarvis.safety.secrets import mask_secrets
from openjarvis.safety.terminal import plain


class _Safe(logging.Formatter):
    """Writes out a record and the traceback with it, then masks the whole."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return plain(mask_secrets(super().format(record)))
        except Exception:  # noqa: BLE001 - anybody logs anything, and logging would print it raw
            return plain(f"{record.name}: a record that cannot be shown")


def show_log() -> None:
    """Print on stderr what openjarvis logs, and the warnings of everything else.

    What libraries log below a warning holds whole requests: addresses, headers, prompts.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Safe())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("openjarvis").setLevel(logging.DEBUG)


def show_warnings_only() -> None:
    """Keep the log of openjarvis quiet; the warnings of everything else are still printed."""
    logging.getLogger("openjarvis").addHandler(logging.NullHandler())
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Safe())
