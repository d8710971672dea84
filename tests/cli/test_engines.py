import json
from pathlib import Path

import pytest

from cli_words import Jarvis


def test_each_is_ready_or_says_why_not(jarvis: Jarvis) -> None:
    rows = [line.split("\t") for line in jarvis("engines").stdout.splitlines()]

    by_key = {key: (ready, why) for key, ready, why, _ in rows}
    assert by_key["offline"] == ("yes", "always there")
    assert by_key["openai"][0] == "no"
    assert "OPENAI_API_KEY" in by_key["openai"][1]
    assert "scripted" not in by_key


def test_json_has_the_same(jarvis: Jarvis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnop123456")

    done = jarvis("engines", "--json")

    first = json.loads(done.stdout)[0]
    assert (first["key"], first["ready"], first["reason"]) == ("openai", True, "an API key is set")
    assert "abcdefghijklmnop" not in done.stdout


def test_a_configured_engine_that_there_is_not_is_exit_code_2(
    jarvis: Jarvis, tmp_path: Path
) -> None:
    config = tmp_path / "openjarvis-home" / "config.toml"
    config.write_text('[engine]\ndefault = "opnai"\n')

    done = jarvis("ask", "hello")

    assert done.exit_code == 2
    assert "Unknown engine 'opnai'. Did you mean 'openai'? There are " in done.stderr
