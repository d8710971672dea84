"""`${VARIABLE}` in settings, filled in from the environment."""

import os
import re

from openjarvis.core.errors import ConfigError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def filled(text: str, owner: str) -> str:
    """Return `text` with `${VARIABLE}` and `${VARIABLE:-default}` filled in.

    Raises:
        ConfigError: when a variable is not set, naming it and `owner`.
    """

    def value(found: re.Match[str]) -> str:
        present = os.environ.get(found[1], found[2])
        if present is None:
            raise ConfigError(f"{owner} needs ${{{found[1]}}}, which is not set in the environment")
        return present

    return _VARIABLE.sub(value, text)


def variables(text: str) -> list[str]:
    """Return the names of the variables that `filled` fills in."""
    return [found[1] for found in _VARIABLE.finditer(text)]
