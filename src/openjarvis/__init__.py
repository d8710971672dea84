"""openjarvis: the tool system that lets any language model use tools safely.

```python
from openjarvis import Jarvis, llm, tool
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from openjarvis._version import __version__

if TYPE_CHECKING:
    from openjarvis import llm
    from openjarvis.sdk import Jarvis
    from openjarvis.toolkit.function import tool

__all__ = ["Jarvis", "__version__", "llm", "tool"]

_HOMES = {
    "Jarvis": ("openjarvis.sdk", "Jarvis"),
    "llm": ("openjarvis.llm", None),
    "tool": ("openjarvis.toolkit.function", "tool"),
}


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for, so that a program loads only what it uses."""
    if name not in _HOMES:
        raise AttributeError(f"module 'openjarvis' has no attribute {name!r}")
    module_name, attribute = _HOMES[name]
    module = import_module(module_name)
    value = module if attribute is None else getattr(module, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
