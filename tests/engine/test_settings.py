import pytest

from openjarvis.engine.settings import LOCAL_SERVERS, EngineSettings


def test_what_is_configured_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "env-key")

    assert EngineSettings().base_url == "http://env/v1"
    assert EngineSettings().api_key == "env-key"
    configured = EngineSettings(openai_base_url="http://file/v1", openai_api_key="file-key")
    assert (configured.base_url, configured.api_key) == ("http://file/v1", "file-key")


def test_the_key_is_not_shown() -> None:
    assert "the-key" not in repr(EngineSettings(openai_api_key="the-key"))


def test_local_servers_are_asked_on_their_usual_ports() -> None:
    assert [(server.key, server.base_url) for server in LOCAL_SERVERS] == [
        ("ollama", "http://127.0.0.1:11434/v1"),
        ("lmstudio", "http://127.0.0.1:1234/v1"),
        ("llama-server", "http://127.0.0.1:8080/v1"),
        ("vllm", "http://127.0.0.1:8000/v1"),
    ]


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("http://gpu:9000", "http://gpu:9000/v1"),
        ("https://models.example.org", "https://models.example.org:443/v1"),
        ("http://[::1]:11434", "http://[::1]:11434/v1"),
        ("http://gpu", "http://gpu:80/v1"),
        ("no url", "http://127.0.0.1:11434/v1"),
        ("http://gpu:port", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollama_is_where_its_url_says(url: str, base_url: str) -> None:
    ollama, *others = EngineSettings(ollama_base_url=url).servers

    assert ollama.base_url == base_url
    assert tuple(others) == LOCAL_SERVERS[1:]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu", "http://gpu:11434"),
        ("gpu:9000", "http://gpu:9000"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("https://gpu", "https://gpu"),
        ("", ""),
    ],
)
def test_the_environment_says_where_ollama_is(
    monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)

    assert EngineSettings().ollama_url == url
