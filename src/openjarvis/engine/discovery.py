"""Which engine: the configured one, else the first that is ready.

A configured engine is never probed for; local servers are looked for only when nothing is
configured, all at once and within a quarter of a second.
"""

from dataclasses import dataclass, replace
from typing import Any

from openjarvis.core.registry import EngineRegistry
from openjarvis.engine.base import InferenceEngine
from openjarvis.engine.probe import Found, is_listening, probe_all
from openjarvis.engine.settings import OPENAI_URL, EngineSettings, LocalServer
from openjarvis.safety.secrets import mask_secrets

OFFLINE = "offline"
SHOWN_MODELS = 5

_HIDDEN = frozenset({"scripted"})
"""Engines that are never an answer to "which one?"; they can be named."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Whether an engine is ready, why or why not, and where it is or which models it has."""

    key: str
    ready: bool
    reason: str
    detail: str = ""


def engine_keys(settings: EngineSettings) -> tuple[str, ...]:
    """Return every key that `get_engine` knows, in the order of preference."""
    registered = [key for key in EngineRegistry.keys() if key != OFFLINE]  # noqa: SIM118 - not a dict
    ordered = ("openai", *_local_keys(settings), *registered, OFFLINE)
    return tuple(dict.fromkeys(ordered))


def engine_statuses(settings: EngineSettings) -> list[EngineStatus]:
    """Return the state of every engine, in the order of preference.

    Local servers are probed all at once, within a quarter of a second.
    """
    found = dict(zip(_local_keys(settings), probe_all(settings.local_servers), strict=True))
    return [
        _local_status(key, found[key]) if key in found else _status(key, settings)
        for key in engine_keys(settings)
        if key not in _HIDDEN
    ]


def get_engine(
    settings: EngineSettings, key: str | None = None, model: str | None = None
) -> tuple[str, InferenceEngine] | None:
    """Return the engine to use, under its key, or None when the named one is not there.

    Named is `key`, else the configured default; when neither is, it is the first that is ready.
    `model` replaces the configured one.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the configured URL or key cannot be one.
    """
    settings = replace(settings, model=model or settings.model)
    key = key or settings.default
    if key:
        is_there = key in engine_keys(settings) and _is_there(key, settings)
    else:
        key = _first_ready(settings)
        is_there = key in engine_keys(settings)
    return (key, _built(key, settings)) if is_there else None


def _first_ready(settings: EngineSettings) -> str:
    if _openai_status(settings).ready:
        return "openai"
    found = zip(_local_keys(settings), probe_all(settings.local_servers), strict=True)
    return next((key for key, server in found if server.ready), OFFLINE)


def _is_there(key: str, settings: EngineSettings) -> bool:
    if key == "openai":
        return _openai_status(settings).ready
    server = _local_server(key, settings)
    return server is None or is_listening(server)


def _built(key: str, settings: EngineSettings) -> InferenceEngine:
    # The registry imports an engine when it is first asked for; the others need not be loaded.
    server = _local_server(key, settings)
    if server is not None and not EngineRegistry.contains(key):
        made = EngineRegistry.create(
            "openai",
            server.base_url,
            api_key="",  # the environment's key is not for whoever listens here
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
            model=settings.model,
        )
    else:
        entry: Any = EngineRegistry.get(key)
        made = entry.from_settings(settings) if hasattr(entry, "from_settings") else entry()
    engine: InferenceEngine = made
    return engine


def _status(key: str, settings: EngineSettings) -> EngineStatus:
    if key == "openai":
        return _openai_status(settings)
    if key == OFFLINE:
        return EngineStatus(key, True, "always there", "no language model: it only picks tools")
    return EngineStatus(key, True, "registered")


def _openai_status(settings: EngineSettings) -> EngineStatus:
    url = settings.base_url
    if settings.api_key:
        return EngineStatus("openai", True, "an API key is set", mask_secrets(url or OPENAI_URL))
    if url and url != OPENAI_URL:
        return EngineStatus("openai", True, "a base URL is set", mask_secrets(url))
    reason = "no API key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without one"
    return EngineStatus("openai", False, reason)


def _local_status(key: str, found: Found) -> EngineStatus:
    names = ", ".join(found.models[:SHOWN_MODELS])
    more = len(found.models) - SHOWN_MODELS
    return EngineStatus(
        key, found.ready, found.reason, f"{names}, {more} more" if more > 0 else names
    )


def _local_keys(settings: EngineSettings) -> list[str]:
    return [server.key for server in settings.local_servers]


def _local_server(key: str, settings: EngineSettings) -> LocalServer | None:
    return next((server for server in settings.local_servers if server.key == key), None)
