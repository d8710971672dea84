"""What engines are told from outside: which one, which model, where it is and with which key."""

import os
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
GEMINI_URL = "https://generativelanguage.googleapis.com"
OLLAMA_URL = "http://127.0.0.1:11434"


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A kind of model server that may listen on this machine, and the key that asks for it.

    `host` is another one only where the user said so; `is_secure` tells whether it speaks TLS.
    """

    key: str
    title: str
    port: int
    host: str = "127.0.0.1"
    is_secure: bool = False

    @property
    def place(self) -> str:
        """Its host and port, as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def base_url(self) -> str:
        """Where its OpenAI-compatible interface is."""
        return f"{'https' if self.is_secure else 'http'}://{self.place}/v1"

    def moved(self, url: str) -> "LocalServer":
        """Return the same server at `url`; where that is no URL, the same."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return self
        if not parts.hostname or parts.scheme not in ("http", "https"):
            return self
        is_secure = parts.scheme == "https"
        port = port or (443 if is_secure else 80)
        return replace(self, host=parts.hostname, port=port, is_secure=is_secure)


LOCAL_SERVERS = (
    LocalServer("ollama", "Ollama", 11434),
    LocalServer("lmstudio", "LM Studio", 1234),
    LocalServer("llama-server", "llama.cpp server", 8080),
    LocalServer("vllm", "vLLM", 8000),
)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The configured engine; what is empty was not configured.

    `default` is the key of the engine to use, `model` the model to ask for. `openai_base_url` and
    `openai_api_key` fall back on the environment's `OPENAI_BASE_URL` and `OPENAI_API_KEY`, and the
    others' on theirs. `gguf_path` is a model file that is run in this process; `context_length` the
    most tokens that a local model is asked to hold, 0 for what it can.
    """

    default: str = ""
    model: str = ""
    openai_base_url: str = ""
    openai_api_key: str = field(default="", repr=False)
    anthropic_base_url: str = ""
    anthropic_api_key: str = field(default="", repr=False)
    gemini_base_url: str = ""
    gemini_api_key: str = field(default="", repr=False)
    ollama_base_url: str = ""
    gguf_path: str = ""
    context_length: int = 0
    timeout_seconds: float = 120.0
    max_retries: int = 2
    local_servers: tuple[LocalServer, ...] = LOCAL_SERVERS

    @property
    def key_of_anthropic(self) -> str:
        """The configured key, else the environment's, else ""."""
        return self.anthropic_api_key or environment("ANTHROPIC_API_KEY")

    @property
    def key_of_gemini(self) -> str:
        """The configured key, else the environment's, else ""."""
        return self.gemini_api_key or environment("GEMINI_API_KEY", "GOOGLE_API_KEY")

    @property
    def ollama_url(self) -> str:
        """The configured URL of Ollama, else the environment's `OLLAMA_HOST`, else ""."""
        return self.ollama_base_url or environment_ollama_url()

    @property
    def servers(self) -> tuple[LocalServer, ...]:
        """The local servers, each where it is looked for."""
        url = self.ollama_url
        return tuple(
            server.moved(url) if server.key == "ollama" and url else server
            for server in self.local_servers
        )

    @property
    def base_url(self) -> str:
        """The configured URL, else the environment's, else ""."""
        return self.openai_base_url or environment_base_url()

    @property
    def api_key(self) -> str:
        """The configured key, else the environment's, else ""."""
        return self.openai_api_key or environment_api_key()


def environment(*names: str) -> str:
    """Return the first of these variables that is set, or ""."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def environment_ollama_url() -> str:
    """Return `OLLAMA_HOST` as a URL; it may be a bare host, or the address to listen on."""
    host = environment("OLLAMA_HOST")
    if host and "://" not in host:
        host = f"http://{host}" if ":" in host else f"http://{host}:11434"
    return host.replace("//0.0.0.0", "//127.0.0.1")


def environment_base_url() -> str:
    """Return `OPENAI_BASE_URL`, or "" when it is not set."""
    return environment("OPENAI_BASE_URL")


def environment_api_key() -> str:
    """Return `OPENAI_API_KEY`, or "" when it is not set."""
    return environment("OPENAI_API_KEY")
