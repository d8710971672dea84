"""Engines: one interface to every model, and the one that answers without a model."""

from openjarvis.core.registry import EngineRegistry

# Named here and imported when first asked for: a client library can cost half a second.
EngineRegistry.register_lazy("openai", "openjarvis.engine.openai", "OpenAIEngine")
EngineRegistry.register_lazy("anthropic", "openjarvis.engine.anthropic", "AnthropicEngine")
EngineRegistry.register_lazy("gemini", "openjarvis.engine.gemini", "GeminiEngine")
EngineRegistry.register_lazy("ollama", "openjarvis.engine.ollama", "OllamaEngine")
EngineRegistry.register_lazy("llamacpp", "openjarvis.engine.llamacpp", "LlamaCppEngine")
EngineRegistry.register_lazy("offline", "openjarvis.engine.offline.engine", "OfflineEngine")
EngineRegistry.register_lazy("scripted", "openjarvis.engine.scripted", "ScriptedEngine")
