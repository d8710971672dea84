import dataclasses
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from openjarvis.config import (
    AgentConfig,
    ConfigError,
    JarvisConfig,
    config_path,
    home,
    load_config,
)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str | bytes) -> Path:
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refusal(path: Path) -> str:
    """Return what is wrong with a configuration, without the path of its file."""
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:")
    return text.removeprefix(f"{path}:")


class TestWhere:
    def test_without_a_file_the_defaults_are_used(self) -> None:
        config = load_config()

        assert config == JarvisConfig()
        assert config.path is None
        assert not home().exists()

    def test_it_is_looked_for_in_the_home(self) -> None:
        home().mkdir()
        (home() / "config.toml").write_text("[agent]\nmax_turns = 3\n")

        assert load_config().agent.max_turns == 3
        assert load_config().path == home() / "config.toml"

    def test_a_named_file_comes_first(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        home().mkdir()
        (home() / "config.toml").write_text("[agent]\nmax_turns = 3\n")
        (tmp_path / "other.toml").write_text("[agent]\nmax_turns = 4\n")
        monkeypatch.setenv("OPENJARVIS_CONFIG", str(tmp_path / "other.toml"))

        assert load_config().agent.max_turns == 4

    def test_without_any_setting_it_is_in_the_users_home(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("OPENJARVIS_HOME", "")
        monkeypatch.setenv("OPENJARVIS_CONFIG", "")
        monkeypatch.setenv("HOME", str(tmp_path))

        assert config_path() == tmp_path / ".openjarvis" / "config.toml"

    def test_a_named_file_must_be_there(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("OPENJARVIS_CONFIG", str(tmp_path / "nope.toml"))

        with pytest.raises(ConfigError, match=r"nope\.toml: there is no such configuration file"):
            load_config()
        with pytest.raises(ConfigError, match="there is no such configuration file"):
            load_config(tmp_path / "neither.toml")

    def test_what_cannot_be_read_is_told(self, tmp_path: Path, write: Any) -> None:
        with pytest.raises(ConfigError, match=r"cannot be read: .*directory"):
            load_config(tmp_path)
        assert "cannot be read: 'utf-8' codec" in refusal(write(b"[agent]\n# \xff\n"))

    @pytest.mark.skipif(
        os.name != "posix", reason="there are no pipes and devices in the file tree"
    )
    def test_only_a_regular_file_is_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")

        for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
            assert "must be a regular file" in refusal(path)

    def test_a_file_of_any_size_is_not_read(self, write: Any) -> None:
        assert "larger than 1,000,000 bytes" in refusal(write("#" * 1_000_001))
        assert load_config(write("#" * 1_000_000)) is not None


class TestValues:
    def test_all_of_them_are_read(self, write: Any) -> None:
        path = write(
            "[engine]\ndefault = 'openai'\nmodel = 'm'\ntimeout_seconds = 5\n"
            "[agent]\nmax_turns = 3\ntemperature = 0\n"
            "[tools]\ndirectories = ['a', 'b']\nmask_errors = true\n"
            "[audit]\nenabled = false\n"
        )

        config = load_config(path)

        assert (config.engine.default, config.engine.model) == ("openai", "m")
        assert (config.engine.timeout_seconds, config.agent.temperature) == (5.0, 0.0)
        assert type(config.engine.timeout_seconds) is float
        assert config.tools.directories == ["a", "b"]
        assert (config.tools.mask_errors, config.audit.enabled) == (True, False)
        assert config.agent.max_tokens == AgentConfig().max_tokens

    def test_the_section_of_a_tool_may_hold_anything(self, write: Any) -> None:
        path = write("[tools.weather]\nenabled = false\n[tools]\nsections = {x = 1}\n")

        config = load_config(path)

        assert config.tools.sections == {"weather": {"enabled": False}, "sections": {"x": 1}}
        assert config.raw["tools"]["weather"] == {"enabled": False}

    def test_the_mark_that_some_editors_put_in_front_is_passed_over(self, write: Any) -> None:
        assert load_config(write("\ufeff[agent]\r\nmax_turns = 3\r\n")).agent.max_turns == 3

    def test_an_empty_file_is_the_defaults(self, write: Any) -> None:
        config = load_config(write(""))

        assert dataclasses.replace(config, path=None) == JarvisConfig()

    def test_keys_do_not_show_where_a_configuration_is_printed(self, write: Any) -> None:
        config = load_config(
            write(
                "[engine]\nopenai_api_key = 'sk-secret-value'\n"
                "[tools.web_search]\ntavily_api_key = 'a secret'\n"
                "[channels.hook]\nlisten = '127.0.0.1:1'\nsecret = 'a secret of 16 signs'\n"
                "[channels.mail]\nurl = 'mailto://me:secret@example.org'\n"
            )
        )

        assert config.engine.openai_api_key == "sk-secret-value"
        assert "secret" not in repr(config)

    def test_variables_are_filled_in_from_the_environment(
        self, write: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", "sk-secret-value")
        path = write(
            "[engine]\nopenai_api_key = '${MY_KEY}'\nopenai_base_url = 'http://${HOST:-h}/v1'\n"
            "[tools]\ndirectories = ['${MY_KEY}/tools']\n"
            "[tools.weather]\nkeys = [{key = '${MY_KEY}'}]\n"
        )

        config = load_config(path)

        assert config.engine.openai_api_key == "sk-secret-value"
        assert config.engine.openai_base_url == "http://h/v1"
        assert config.tools.directories == ["sk-secret-value/tools"]
        assert config.tools.sections["weather"] == {"keys": [{"key": "sk-secret-value"}]}

    def test_tools_are_given_the_variables_of_their_own_sections_alone(
        self, write: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", "sk-secret-value")

        config = load_config(
            write("[engine]\nopenai_api_key = '${MY_KEY}'\n[tools.weather]\nkey = '${MY_KEY}'\n")
        )

        assert config.raw == {
            "engine": {"openai_api_key": "${MY_KEY}"},
            "tools": {"weather": {"key": "sk-secret-value"}},
        }
        assert "sk-secret" not in repr(config)

    def test_variables_stay_in_prose_and_where_they_are_filled_in_when_they_are_used(
        self, write: Any
    ) -> None:
        config = load_config(
            write(
                "[agent]\nsystem_prompt = 'Explain ${UNSET}.'\n[channels.ops]\nurl = '${UNSET}'\n"
                "[mcp.servers.shop]\ncommand = '${UNSET}'\n"
            )
        )

        assert config.agent.system_prompt == "Explain ${UNSET}."
        assert config.channels["ops"].url == config.mcp.servers["shop"].command == "${UNSET}"

    def test_two_configurations_share_nothing(self) -> None:
        JarvisConfig().tools.directories.append("x")

        assert JarvisConfig().tools.directories == []

    def test_every_default_is_documented(self) -> None:
        page = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text("utf-8")
        found = re.search(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        assert found
        documented = tomllib.loads(found[1])

        settings = dataclasses.asdict(JarvisConfig())
        del settings["raw"], settings["path"], settings["tools"]["sections"]

        assert documented == settings


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("[engine]\nmodle = 'x'\n", "2: engine.modle: unknown key; did you mean 'model'?"),
            ("[engin]\nmodel = 'x'\n", "1: engin: unknown key; did you mean 'engine'?"),
            ("zzz = 'x'\n", "1: zzz: unknown key; known here: agent, "),
            ("raw = 1\n", "1: raw: unknown key; "),
            ("path = 'x'\n", "1: path: unknown key; "),
            (
                "[audit]\nzzz = 1\n",
                "2: audit.zzz: unknown key; known here: enabled, path.",
            ),
            (
                "[tools]\ndirectorys = ['x']\n",
                "2: tools.directorys: unknown key; did you mean 'directories'?",
            ),
            ("\n\n[agent]\n\n# x\nmax_turn = 1\n", "6: agent.max_turn: unknown key"),
            ("agent.max_turn = 1\n", "1: agent.max_turn: unknown key"),
            ("[agent]\n'max_turn' = 1\n", "2: agent.max_turn: unknown key"),
            ("[ agent ]\nmax_turn = 1\n", "2: agent.max_turn: unknown key"),
            ("agent = {max_turn = 1}\n", "1: agent.max_turn: unknown key"),
            (
                "[agent]\nmax_turns = '3'\n",
                "2: agent.max_turns: expected a whole number, got text.",
            ),
            ("[agent]\nmax_turns = 3.0\n", "expected a whole number, got a number."),
            ("[agent]\nmax_turns = true\n", "expected a whole number, got true or false."),
            ("[agent]\ntemperature = true\n", "expected a number, got true or false."),
            ("[agent]\nsystem_prompt = 1\n", "expected text, got a whole number."),
            ("[agent]\nsystem_prompt = 2026-01-01\n", "expected text, got date."),
            ("[audit]\nenabled = 1\n", "expected true or false, got a whole number."),
            ("[tools]\ndirectories = 'x'\n", "2: tools.directories: expected a list of texts"),
            ("[tools]\ndirectories = ['x', 1]\n", "expected a list of texts, got a list."),
            ("[tools.directories]\nx = 1\n", "1: tools.directories: expected a list of texts"),
            ("[[agent]]\nmax_turns = 1\n", "1: agent: expected a table, got a list."),
            ("engine = 'openai'\n", "1: engine: expected a table, got text."),
        ],
    )
    def test_an_unknown_or_mistyped_key_is_named_with_its_line(
        self, write: Any, text: str, told: str
    ) -> None:
        assert told in refusal(write(text))

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("[agent]\nmax_turns = 0\n", "2: agent.max_turns: expected at least 1, got 0."),
            ("[agent]\nmax_tokens = -5\n", "expected at least 1, got -5."),
            ("[agent]\ntemperature = 2.5\n", "2: agent.temperature: expected 0 to 2, got 2.5."),
            ("[agent]\ntemperature = nan\n", "expected 0 to 2, got nan."),
            ("[engine]\ntimeout_seconds = inf\n", "expected 0.001 to 86400, got inf."),
            ("[tools]\ndefault_timeout_seconds = 0\n", "expected 0.001 to 86400, got 0.0."),
            ("[tools]\nmax_result_chars = 0\n", "expected at least 100, got 0."),
        ],
    )
    def test_a_number_out_of_bounds_is_named_with_its_line(
        self, write: Any, text: str, told: str
    ) -> None:
        assert told in refusal(write(text))

    def test_the_line_is_not_that_of_a_like_named_key_elsewhere(self, write: Any) -> None:
        text = "[tools.agent]\nmax_turns = 'x'\n[agent]\nmax_turns = 'x'\n"

        assert refusal(write(text)).startswith("4: agent.max_turns")

    @pytest.mark.parametrize("quotes", ["'''", '"""'])
    def test_a_text_of_several_lines_has_no_keys(self, write: Any, quotes: str) -> None:
        text = (
            f"[agent]\nsystem_prompt = {quotes}\n[engine]\nmax_turn = 2\n{quotes}\nmax_turn = 1\n"
        )

        assert refusal(write(text)).startswith("6: agent.max_turn: unknown key")

    @pytest.mark.parametrize(
        "value",
        ["[" * 100_000, "9" * 5_000],
        ids=["deep", "long"],
    )
    def test_what_is_too_deep_or_too_long_is_told(self, write: Any, value: str) -> None:
        assert "this is not TOML: " in refusal(write(f"[agent]\nmax_turns = {value}\n"))

    def test_a_variable_that_is_not_set_is_named_with_its_key_and_line(self, write: Any) -> None:
        path = write("[engine]\nmodel = 'm'\nopenai_api_key = '${UNSET_KEY}'\n")

        told = "3: engine.openai_api_key needs ${UNSET_KEY}, which is not set in the environment"
        assert refusal(path) == told

    def test_what_is_no_toml_is_told_with_its_place(self, write: Any) -> None:
        assert "this is not TOML: " in refusal(write("[agent\n"))
        assert "(at line 2, " in refusal(write("[agent]\nmax_turns\n"))

    def test_a_value_that_may_be_a_secret_is_not_repeated(self, write: Any) -> None:
        told = refusal(write("[engine]\nopenai_api_key = ['sk-secret-value']\n"))

        assert "secret" not in told

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
    def test_a_file_without_permission_is_told(self, write: Any) -> None:
        path = write("")
        path.chmod(0)

        assert "cannot be read" in refusal(path)
