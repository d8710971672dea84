"""Which engine: the configured one, else the first that is ready.

A configured engine is never probed for; local servers are looked for only when nothing is
configured, all at once and within a quarter of a second.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openjarvis.core.extras import how_to_install
from openjarvis.core.registry import EngineRegistry
from openjarvis.engine.base import InferenceEngine
from openjarvis.engine.gguf import is_gguf
from openjarvis.engine.library import is_installed, missing
from openjarvis.engine.probe import Found, is_listening, probe_all
from openjarvis.engine.settings import OPENAI_URL, EngineSettings, LocalServer
from openjarvis.safety.secrets import mask_secrets

OFFLINE = "offline"
SHOWN_MODELS = 5

LLAMACPP, OLLAMA = "llamacpp", "ollama"
_KEYED = ("anthropic", "gemini")
"""Engines that need a key and a package of their own."""
_COMPATIBLE = (
    f"asked through its OpenAI-compatible interface; for its own: {how_to_install('ollama')}"
)
_HIDDEN = frozenset({"scripted"})
"""Engines that are of no use to choose; programs can name them."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Whether an engine is ready, why or why not, and where it is or which models it has."""

    key: str
    ready: bool
    reason: str
    detail: str = ""


def engine_keys(settings: EngineSettings) -> tuple[str, ...]:
    """Return every key that a user may choose, in the order of preference."""
    unlisted = {OFFLINE, *_HIDDEN}
    registered = [key for key in EngineRegistry.keys() if key not in unlisted]  # noqa: SIM118 - not a dict
    keyed = [key for key in _KEYED if key in registered]
    ordered = ("openai", *keyed, *_local_keys(settings), *registered, OFFLINE)
    return tuple(dict.fromkeys(ordered))


def engine_statuses(settings: EngineSettings) -> list[EngineStatus]:
    """Return the state of every engine, in the order of preference.

    Local servers are probed all at once, within a quarter of a second.
    """
    found = dict(zip(_local_keys(settings), probe_all(settings.servers), strict=True))
    return [
        _local_status(key, found[key]) if key in found else _status(key, settings)
        for key in engine_keys(settings)
    ]


def nearly_ready(settings: EngineSettings) -> EngineStatus | None:
    """Return the state of an engine that was set up and is not ready all the same."""
    set_up = {
        "anthropic": settings.key_of_anthropic,
        "gemini": settings.key_of_gemini,
        OLLAMA: settings.ollama_url,
        LLAMACPP: settings.gguf_path,
    }
    statuses = engine_statuses(settings)
    return next((one for one in statuses if not one.ready and set_up.get(one.key)), None)


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
        is_known = key in engine_keys(settings) or key in _HIDDEN
        is_there = is_known and _is_there(key, settings)
    else:
        key = _first_ready(settings)
        is_there = key in engine_keys(settings)
    return (key, _built(key, settings)) if is_there else None


def _first_ready(settings: EngineSettings) -> str:
    for key in ("openai", *_KEYED):
        if key in engine_keys(settings) and _status(key, settings).ready:
            return key
    found = zip(_local_keys(settings), probe_all(settings.servers), strict=True)
    has_file = EngineRegistry.contains(LLAMACPP) and _llamacpp_status(settings).ready
    last = LLAMACPP if has_file else OFFLINE
    return next((key for key, server in found if server.ready), last)


def _is_there(key: str, settings: EngineSettings) -> bool:
    server = _local_server(key, settings)
    if server is None:
        return _status(key, settings).ready
    # Elsewhere than usual is where the user says it is; the first request will tell.
    return bool(key == OLLAMA and settings.ollama_url) or is_listening(server)


def _built(key: str, settings: EngineSettings) -> InferenceEngine:
    # The registry imports an engine when it is first asked for; the others need not be loaded.
    server = _local_server(key, settings)
    if server is not None and not _has_own_engine(key):
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


def _has_own_engine(key: str) -> bool:
    """Tell whether a local server is spoken to otherwise than by OpenAI's interface."""
    return EngineRegistry.contains(key) and (key != OLLAMA or is_installed(OLLAMA))


def _status(key: str, settings: EngineSettings) -> EngineStatus:
    if key == "openai":
        return _openai_status(settings)
    if key in _KEYED:
        return _keyed_status(key, settings)
    if key == LLAMACPP:
        return _llamacpp_status(settings)
    if key == OFFLINE:
        return EngineStatus(key, True, "always there", "no language model: it only picks tools")
    return EngineStatus(key, True, "registered")


def _openai_status(settings: EngineSettings) -> EngineStatus:
    url = settings.base_url
    if settings.api_key:
        return EngineStatus("openai", True, "an API key is set", mask_secrets(url or OPENAI_URL))
    if url and url != OPENAI_URL:
        return EngineStatus("openai", True, "a base URL is set", mask_secrets(url))
    reason = "no API key; set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without one"
    return EngineStatus("openai", False, reason)


def _keyed_status(key: str, settings: EngineSettings) -> EngineStatus:
    keys = {"anthropic": settings.key_of_anthropic, "gemini": settings.key_of_gemini}
    module = {"anthropic": "anthropic", "gemini": "google.genai"}[key]
    if not keys[key]:
        return EngineStatus(key, False, f"no API key; set {key.upper()}_API_KEY")
    if not is_installed(module):
        return EngineStatus(key, False, f"an API key is set, but: {missing(module, key)}")
    return EngineStatus(key, True, "an API key is set")


def _llamacpp_status(settings: EngineSettings) -> EngineStatus:
    path = settings.gguf_path
    if not path:
        return EngineStatus(LLAMACPP, False, "no model file: set gguf_path in [engine]")
    if not _is_file(path):
        return EngineStatus(LLAMACPP, False, f"gguf_path is no file: {path}")
    if not is_gguf(path):
        return EngineStatus(LLAMACPP, False, f"gguf_path is no GGUF model: {path}")
    if not is_installed("xllamacpp"):
        return EngineStatus(LLAMACPP, False, missing("xllamacpp", "local"), path)
    return EngineStatus(LLAMACPP, True, "a model file is configured", path)


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (ValueError, RuntimeError):  # a zero byte; a user that is not known
        return False


def _local_status(key: str, found: Found) -> EngineStatus:
    names = ", ".join(found.models[:SHOWN_MODELS])
    if key == OLLAMA and found.ready and not is_installed(OLLAMA):
        found = replace(found, reason=f"{found.reason}; {_COMPATIBLE}")
    more = len(found.models) - SHOWN_MODELS
    return EngineStatus(
        key, found.ready, found.reason, f"{names}, {more} more" if more > 0 else names
    )


def _local_keys(settings: EngineSettings) -> list[str]:
    return [server.key for server in settings.servers]


def _local_server(key: str, settings: EngineSettings) -> LocalServer | None:
    return next((server for server in settings.servers if server.key == key), None)
