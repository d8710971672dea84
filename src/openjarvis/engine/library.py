"""Optional client libraries, imported when they are first used."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.extras import how_to_install


def load_library(module: str, *, extra: str) -> Any:
    """Return the module, imported.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when it is not installed, naming the `extra` that brings it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise LLMError(LLMErrorCode.INVALID_REQUEST, missing(module, extra)) from error


def is_installed(module: str) -> bool:
    """Tell whether a module is there, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def missing(module: str, extra: str) -> str:
    """Return the sentence that says what to install."""
    return f"The package {module!r} is not installed: {how_to_install(extra)}."


def transport_failures() -> tuple[type[Exception], ...]:
    """Return what the HTTP libraries that client libraries stand on raise."""
    found = [import_module(name).HTTPError for name in ("httpx", "httpx2") if is_installed(name)]
    return (OSError, *found)
