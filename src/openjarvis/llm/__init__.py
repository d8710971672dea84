"""The loop that lets a model call tools: `generate`, `stream` and their async twins."""
