"""Registries: a name on one side, a class or a value on the other.

A registry may hold an entry that is only named so far (`register_lazy`), so that listing the
built-ins does not import them all.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import Any, ClassVar, NamedTuple, TypeVar

from openjarvis.core.errors import nearest

T = TypeVar("T")


class _Named(NamedTuple):
    """An entry that is imported when it is first asked for."""

    module: str
    attribute: str

    def is_definition_of(self, value: object) -> bool:
        """Tell whether `value` is what this entry would import."""
        return (
            getattr(value, "__module__", None) == self.module
            and getattr(value, "__qualname__", None) == self.attribute
        )


class Registry:
    """The base of the registries; each subclass has entries of its own.

    Any thread may call any method.
    """

    _entries: ClassVar[dict[str, Any]]
    _lock: ClassVar[RLock]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._entries = {}
        cls._lock = RLock()

    @classmethod
    def register(cls, key: str) -> Callable[[T], T]:
        """Return a decorator that registers what it decorates under `key`.

        Raises:
            TypeError: when `key` is no text.
            ValueError: when `key` is taken.
        """
        _check_key(cls, key)

        def decorate(entry: T) -> T:
            cls.register_value(key, entry)
            return entry

        return decorate

    @classmethod
    def register_value(cls, key: str, value: Any) -> None:
        """Register `value` under `key`.

        Raises:
            TypeError: when `key` is no text.
            ValueError: when `key` is taken.
        """
        _check_key(cls, key)
        with cls._lock:
            present = cls._entries.get(key)
            announced = isinstance(present, _Named) and present.is_definition_of(value)
            if key in cls._entries and not announced:
                raise ValueError(f"{cls.__name__} already has an entry for {key!r}")
            cls._entries[key] = value

    @classmethod
    def register_lazy(cls, key: str, module: str, attribute: str) -> None:
        """Announce that `module.attribute` registers itself under `key` once it is imported."""
        with cls._lock:
            cls._entries.setdefault(key, _Named(module, attribute))

    @classmethod
    def get(cls, key: str) -> Any:
        """Return the entry of `key`.

        Raises:
            KeyError: when there is none; the text names the nearest key.
        """
        with cls._lock:
            if key not in cls._entries:
                near = nearest(key, list(cls._entries))
                hint = f"; did you mean {near!r}?" if near else ""
                raise KeyError(f"{cls.__name__} does not have an entry for {key!r}{hint}")
            entry = cls._entries[key]
        return cls._resolved(key, entry)

    @classmethod
    def _resolved(cls, key: str, entry: Any) -> Any:
        if not isinstance(entry, _Named):
            return entry
        # Without the lock: a module that another thread is importing wants it to register itself.
        value = getattr(import_module(entry.module), entry.attribute)
        with cls._lock:
            if cls._entries.get(key) is entry:
                cls._entries[key] = value
        return value

    @classmethod
    def create(cls, key: str, *args: Any, **kwargs: Any) -> Any:
        """Return what the entry of `key` makes of the arguments.

        Raises:
            KeyError: when there is no such entry.
            TypeError: when the entry is not callable.
        """
        entry = cls.get(key)
        if not callable(entry):
            raise TypeError(f"{cls.__name__} entry {key!r} is not callable")
        return entry(*args, **kwargs)

    @classmethod
    def items(cls) -> tuple[tuple[str, Any], ...]:
        """Return the keys with their entries, in the order of registration."""
        with cls._lock:
            present = tuple(cls._entries.items())
        return tuple((key, cls._resolved(key, entry)) for key, entry in present)

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """Return the keys in the order of registration."""
        with cls._lock:
            return tuple(cls._entries)

    @classmethod
    def contains(cls, key: str) -> bool:
        """Tell whether `key` has an entry."""
        with cls._lock:
            return key in cls._entries

    @classmethod
    def clear(cls) -> None:
        """Remove every entry, the built-in ones too."""
        with cls._lock:
            cls._entries = {}

    @classmethod
    @contextmanager
    def isolated(cls) -> Iterator[None]:
        """Undo on exit whatever is registered or cleared inside; for tests."""
        with cls._lock:
            before = dict(cls._entries)
        try:
            yield
        finally:
            with cls._lock:
                cls._entries = before


def _check_key(registry: type[Registry], key: object) -> None:
    if not isinstance(key, str):
        raise TypeError(
            f"{registry.__name__}: the key must be text, got {key!r}; "
            f'as a decorator write @{registry.__name__}.register("key").'
        )


class ToolRegistry(Registry):
    """Tools by name: classes (or instances) with `spec` and `execute`."""


class AgentRegistry(Registry):
    """Agent classes by key."""


class EngineRegistry(Registry):
    """Engine classes by key."""


class ModelRegistry(Registry):
    """What is known of models, by model name."""


class ChannelRegistry(Registry):
    """Channel classes by the scheme of the address they are for."""


class MemoryRegistry(Registry):
    """Memory backend classes by key."""
