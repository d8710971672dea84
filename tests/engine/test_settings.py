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
