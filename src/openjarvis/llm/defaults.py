"""The configured engine, for callers that name none."""

from typing import Any

from openjarvis.config import JarvisConfig, load_config
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.engine.base import InferenceEngine
from openjarvis.engine.discovery import get_engine
from openjarvis.engine.settings import EngineSettings


def resolve(model: str | None = None) -> tuple[InferenceEngine, str]:
    """Return the configured engine, or the first that is ready, and the model to ask it for.

    Raises:
        ConfigError: when the configuration cannot be read.
        LLMError: `LLM_UNAVAILABLE` when the configured engine is not there.
    """
    config = load_config()
    found = get_engine(engine_settings(config), None, model)
    if found is None:
        raise LLMError(
            LLMErrorCode.UNAVAILABLE,
            f"The configured engine {config.engine.default!r} is not there; see 'jarvis engines'.",
            503,
        )
    return found[1], choose_model(found[1], model or config.engine.model)


def engine_settings(config: JarvisConfig) -> EngineSettings:
    """Return what the configuration says of engines, as the engines want it."""
    return EngineSettings(**vars(config.engine))


def choose_model(engine: object, wanted: str) -> str:
    """Return the `wanted` model, else the engine's default, else the first that it lists, or "".

    Raises:
        LLMError: when the engine has models and none of them is the obvious one.
    """
    if wanted:
        return wanted
    if isinstance(engine, InferenceEngine):
        return engine.default_model()
    listed: Any = getattr(engine, "list_models", list)()
    return str(listed[0]) if isinstance(listed, list) and listed else ""
