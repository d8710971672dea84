import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from openai_server import OpenAIServer, completion
from openjarvis.core.errors import LLMError
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message, Role
from openjarvis.engine.base import InferenceEngine, Reply
from openjarvis.engine.discovery import (
    EngineStatus,
    engine_keys,
    engine_statuses,
    get_engine,
    nearly_ready,
)
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.engine.scripted import ScriptedEngine
from openjarvis.engine.settings import EngineSettings, LocalServer

ASK = [Message(Role.USER, "Hello")]
SLACK = 0.2
"""Seconds that a busy machine may add."""


class Quiet(InferenceEngine):
    """Stands in for the engine without a model."""

    def generate(self, messages: Sequence[Message], **request: Any) -> Reply:
        return Reply(content="")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OLLAMA_HOST",
    ):
        monkeypatch.delenv(name, raising=False)
    with EngineRegistry.isolated():
        EngineRegistry.clear()
        EngineRegistry.register_value("openai", OpenAIEngine)
        EngineRegistry.register_value("offline", Quiet)
        EngineRegistry.register_value("scripted", ScriptedEngine)
        yield


@pytest.fixture
def nowhere() -> LocalServer:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return LocalServer("ollama", "Ollama", unused.getsockname()[1])


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(completion("Hello."), models=["qwen"]) as server:
        yield server


@pytest.fixture
def settings(nowhere: LocalServer, server: OpenAIServer) -> EngineSettings:
    """Nothing is configured; of the two servers known, the second listens."""
    return EngineSettings(local_servers=(nowhere, LocalServer("vllm", "vLLM", server.port)))


def test_nothing_configured_takes_a_local_server(
    settings: EngineSettings, server: OpenAIServer
) -> None:
    key, engine = get_engine(settings) or pytest.fail("no engine")

    assert key == "vllm"
    assert engine.generate(ASK, model="")["content"] == "Hello."
    assert server.bodies[0]["model"] == "qwen"
    assert server.requests[0].headers["authorization"] == "Bearer none"
    engine.close()


@pytest.mark.parametrize("told", ["environment", "configuration"])
def test_ollama_is_looked_for_where_the_user_says_it_is(
    nowhere: LocalServer, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    settings = EngineSettings(local_servers=(nowhere,))
    if told == "environment":
        monkeypatch.setenv("OLLAMA_HOST", f"0.0.0.0:{server.port}")
    else:
        settings = replace(settings, ollama_base_url=f"http://localhost:{server.port}")
    host = "127.0.0.1" if told == "environment" else "localhost"

    key, engine = get_engine(settings) or pytest.fail("no engine")

    assert key == "ollama"
    assert engine.generate(ASK, model="")["content"] == "Hello."
    first = next(status for status in engine_statuses(settings) if status.key == "ollama")
    assert first.ready
    assert first.reason.startswith(f"Ollama listens on {host}:{server.port}")
    assert [named for named, _ in [get_engine(settings, "ollama") or ("", None)]] == ["ollama"]
    engine.close()


def test_a_key_in_the_environment_comes_before_local_servers(
    settings: EngineSettings, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    key, engine = get_engine(settings) or pytest.fail("no engine")

    assert key == "openai"
    assert isinstance(engine, OpenAIEngine)
    assert server.listings == []


def test_a_configured_url_needs_no_key(settings: EngineSettings, server: OpenAIServer) -> None:
    configured = replace(settings, openai_base_url=server.base_url, model="chosen")

    key, engine = get_engine(configured) or pytest.fail("no engine")
    engine.generate(ASK, model="")

    assert key == "openai"
    assert server.bodies[0]["model"] == "chosen"
    engine.close()


def test_nothing_ready_is_offline(nowhere: LocalServer) -> None:
    key, engine = get_engine(EngineSettings(local_servers=(nowhere,))) or pytest.fail("no engine")

    assert key == "offline"
    assert isinstance(engine, Quiet)


@pytest.mark.parametrize("named", ["by key", "by default"])
def test_a_named_engine_is_taken_without_a_look_at_others(
    settings: EngineSettings, server: OpenAIServer, named: str
) -> None:
    if named == "by key":
        chosen = get_engine(settings, "offline")
    else:
        chosen = get_engine(replace(settings, default="offline"))

    assert chosen is not None
    assert chosen[0] == "offline"
    assert server.listings == []


def test_a_named_local_server_is_not_asked_for_its_models(
    settings: EngineSettings, server: OpenAIServer
) -> None:
    key, engine = get_engine(settings, "vllm", model="chosen") or pytest.fail("no engine")
    engine.generate(ASK, model="")

    assert key == "vllm"
    assert server.bodies[0]["model"] == "chosen"
    assert server.listings == []
    engine.close()


def test_the_environments_key_is_not_sent_to_a_local_server(
    settings: EngineSettings, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-key-of-another")

    _, engine = get_engine(settings, "vllm", model="chosen") or pytest.fail("no engine")
    engine.generate(ASK, model="")

    assert server.requests[0].headers["authorization"] == "Bearer none"
    engine.close()


@pytest.mark.parametrize("key", ["ollama", "openai", "nobody", "Offline", "x" * 10_000])
def test_a_named_engine_that_is_not_there_is_none(settings: EngineSettings, key: str) -> None:
    assert get_engine(settings, key) is None


def test_a_named_scripted_engine_is_there(settings: EngineSettings) -> None:
    key, engine = get_engine(settings, "scripted") or pytest.fail("no engine")

    assert key == "scripted"
    assert isinstance(engine, ScriptedEngine)


def test_a_registered_engine_takes_the_place_of_the_local_servers_own(
    settings: EngineSettings,
) -> None:
    class Native(Quiet):
        @classmethod
        def from_settings(cls, settings: EngineSettings) -> "Native":
            native = cls()
            native.engine_id = settings.model
            return native

    EngineRegistry.register_value("vllm", Native)

    _, engine = get_engine(settings, model="chosen") or pytest.fail("no engine")

    assert isinstance(engine, Native)
    assert engine.engine_id == "chosen"


def test_a_mistyped_url_is_told(settings: EngineSettings) -> None:
    with pytest.raises(LLMError, match="expected http:// or https://"):
        get_engine(replace(settings, openai_base_url="localhost:1234"), "openai")


def test_statuses_say_what_is_ready_and_why(
    settings: EngineSettings, server: OpenAIServer, nowhere: LocalServer
) -> None:
    EngineRegistry.register_value("mine", Quiet)

    assert engine_statuses(settings) == [
        EngineStatus(
            "openai",
            False,
            "no API key; set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without one",
        ),
        EngineStatus("ollama", False, f"Ollama does not listen on 127.0.0.1:{nowhere.port}"),
        EngineStatus("vllm", True, f"vLLM listens on 127.0.0.1:{server.port}", "qwen"),
        EngineStatus("mine", True, "registered"),
        EngineStatus("offline", True, "always there", "no language model: it only picks tools"),
    ]


def test_many_models_are_shown_in_part(settings: EngineSettings, server: OpenAIServer) -> None:
    server.models = [f"m{number}" for number in range(9)]

    status = next(entry for entry in engine_statuses(settings) if entry.key == "vllm")

    assert status.detail == "m0, m1, m2, m3, m4, 4 more"


def test_the_status_of_openai_shows_neither_key_nor_password(settings: EngineSettings) -> None:
    configured = replace(
        settings, openai_base_url="https://me:hunter2222@host/v1", openai_api_key="the-key-12345"
    )

    status = engine_statuses(configured)[0]

    assert status.ready
    assert status.detail == "https://[secret]@host/v1"
    assert "the-key" not in f"{status} {configured}"


def test_every_key_is_known_once(settings: EngineSettings) -> None:
    EngineRegistry.register_value("vllm", Quiet)

    # "scripted" is for programs.
    assert engine_keys(settings) == ("openai", "ollama", "vllm", "offline")


def test_looking_for_engines_imports_no_client_library(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from openjarvis.engine.discovery import engine_statuses\n"
        "from openjarvis.engine.settings import EngineSettings\n"
        "engine_statuses(EngineSettings())\n"
        "sys.exit('openai' in sys.modules or 'http.client' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


@pytest.fixture
def every_engine(settings: EngineSettings) -> EngineSettings:
    for key in ("anthropic", "gemini", "ollama", "llamacpp"):
        EngineRegistry.register_value(key, Quiet)
    return settings


def test_a_key_in_the_environment_comes_before_a_local_server(
    every_engine: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "the-key-12345")

    key, _ = get_engine(every_engine) or pytest.fail("no engine")

    assert key == "gemini"


def test_a_configured_key_is_as_good(every_engine: EngineSettings) -> None:
    key, _ = get_engine(replace(every_engine, anthropic_api_key="k")) or pytest.fail("no engine")

    assert key == "anthropic"


def test_a_model_file_comes_last_before_offline(
    every_engine: EngineSettings, nowhere: LocalServer, tmp_path: Path
) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(b"GGUF")
    configured = replace(every_engine, gguf_path=str(model), local_servers=(nowhere,))

    assert (get_engine(configured) or pytest.fail("none"))[0] == "llamacpp"
    model.unlink()
    assert (get_engine(configured) or pytest.fail("none"))[0] == "offline"
    assert get_engine(configured, "llamacpp") is None


def test_every_engine_says_what_it_lacks(every_engine: EngineSettings) -> None:
    reasons = {one.key: one.reason for one in engine_statuses(every_engine)}

    assert reasons["anthropic"] == "no API key; set ANTHROPIC_API_KEY"
    assert reasons["gemini"] == "no API key; set GEMINI_API_KEY"
    assert reasons["llamacpp"] == "no model file: set gguf_path in [engine]"


def test_a_missing_package_is_named_with_its_extra(
    every_engine: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openjarvis.engine.discovery.is_installed", lambda module: False)
    configured = replace(every_engine, gemini_api_key="k")

    status = next(one for one in engine_statuses(configured) if one.key == "gemini")

    assert not status.ready
    assert "pip install '.[gemini]'" in status.reason
    assert get_engine(configured, "gemini") is None


def test_an_engine_that_was_set_up_and_lacks_something_is_nearly_ready(
    every_engine: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openjarvis.engine.discovery.is_installed", lambda module: False)

    near = nearly_ready(replace(every_engine, gguf_path="/nowhere/m.gguf"))

    assert nearly_ready(every_engine) is None
    assert near is not None
    assert (near.key, near.reason) == ("llamacpp", "gguf_path is no file: /nowhere/m.gguf")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert getattr(nearly_ready(every_engine), "key", "") == "anthropic"


@pytest.mark.parametrize("content", [b"{}", b"GG", b""])
def test_a_file_that_is_no_model_is_not_ready(
    every_engine: EngineSettings, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    settings = replace(every_engine, gguf_path=str(path))

    status = next(one for one in engine_statuses(settings) if one.key == "llamacpp")

    assert (status.ready, status.reason) == (False, f"gguf_path is no GGUF model: {path}")
    home = replace(every_engine, gguf_path="~nobody-of-this-name/m.gguf")
    status = next(one for one in engine_statuses(home) if one.key == "llamacpp")
    assert status.reason.startswith("gguf_path is no file")


def test_a_server_that_was_named_and_does_not_listen_is_nearly_ready(
    settings: EngineSettings, nowhere: LocalServer
) -> None:
    there = replace(settings, ollama_base_url=nowhere.base_url)

    near = nearly_ready(there)

    assert (near or pytest.fail("none")).key == "ollama"


def test_ollama_is_spoken_to_by_its_own_interface_where_its_library_is(
    every_engine: EngineSettings, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = (LocalServer("ollama", "Ollama", server.port),)
    configured = replace(every_engine, local_servers=local)

    native = (get_engine(configured) or pytest.fail("none"))[1]
    monkeypatch.setattr("openjarvis.engine.discovery.is_installed", lambda module: False)
    compatible = (get_engine(configured) or pytest.fail("none"))[1]
    status = next(one for one in engine_statuses(configured) if one.key == "ollama")

    assert isinstance(native, Quiet)
    assert isinstance(compatible, OpenAIEngine)
    assert "OpenAI-compatible" in status.reason
    compatible.close()


BLACKHOLE = "http://10.255.255.1:11434"
"""Where nothing answers, not even that nobody is there."""


def test_looking_for_all_engines_ends_soon_whoever_is_silent(nowhere: LocalServer) -> None:
    dead = [replace(nowhere, key=f"dead-{number}") for number in range(5)]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mute = LocalServer("vllm", "vLLM", silent.getsockname()[1])
        settings = EngineSettings(
            local_servers=(nowhere, mute, *dead),
            ollama_base_url=BLACKHOLE,
            openai_base_url=f"{BLACKHOLE}/v1",
        )

        began = monotonic()
        statuses = {one.key: one for one in engine_statuses(settings)}
        took = monotonic() - began

    assert took < 0.3 + SLACK
    assert not statuses["ollama"].ready
    assert "did not answer" in statuses["vllm"].reason
    assert statuses["openai"].ready


def test_a_configured_engine_is_given_without_looking_for_any(nowhere: LocalServer) -> None:
    settings = EngineSettings("ollama", ollama_base_url=BLACKHOLE, local_servers=(nowhere,))

    began = monotonic()
    key, engine = get_engine(settings) or pytest.fail("no engine")
    took = monotonic() - began

    assert (key, engine._server.name) == ("ollama", "10.255.255.1:11434")
    assert took < 0.1 + SLACK
