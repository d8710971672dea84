"""What is said when the `offline` engine was used; apart, since it is said without loading it."""

HOW_TO_GET_ONE = (
    "To get one, set OPENAI_API_KEY (or another provider's key), start a local server such as "
    "Ollama, or name a GGUF file in the configuration; `jarvis engines` shows what is ready."
)
NO_MODEL = "No language model answered: the offline engine only runs tools."
NOTICE = f"{NO_MODEL} {HOW_TO_GET_ONE}"
"""What a surface tells its user, in one line, when this engine was used."""
