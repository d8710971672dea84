import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from channel_server import ServiceServer
from openjarvis.cli import cli


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServiceServer:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    return ServiceServer()


def configure(folder: Path, service: ServiceServer) -> None:
    (folder / "config.toml").write_text(
        f'[channels.ops]\nurl = "json://127.0.0.1:{service.port}/secret-path-123"\nattempts = 1\n'
    )


def jarvis(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_channels_are_listed_checked_and_sent_to(service: ServiceServer, tmp_path: Path) -> None:
    with service:
        configure(tmp_path, service)
        listed, checked = jarvis("channels", "list"), jarvis("channels", "status", "--json")
        sent = jarvis("channels", "send", "ops", "the", "build", "is", "green")

    assert listed.stdout == "ops\n"
    assert json.loads(checked.stdout)["ops"]["status"] == "connected"
    assert (sent.exit_code, sent.stdout) == (0, "Sent to ops.\n")
    assert service.received[-1].body["message"] == "the build is green"


def test_what_fails_is_told_with_an_exit_code_and_without_secrets(
    service: ServiceServer, tmp_path: Path
) -> None:
    with service:
        configure(tmp_path, service)
    away, sent = jarvis("channels", "status"), jarvis("channels", "send", "ops", "hi")
    unknown = jarvis("channels", "send", "opps", "hi")

    assert (away.exit_code, sent.exit_code, unknown.exit_code) == (1, 1, 1)
    assert "ops\tdisconnected" in away.stdout
    assert "Failed to send to 'ops'" in sent.stderr
    assert "Did you mean 'ops'" in unknown.stderr
    assert "secret-path-123" not in away.output + sent.output


def test_without_channels_list_says_how_to_add_one(service: ServiceServer) -> None:
    shown = jarvis("channels", "list")

    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "[channels.NAME]" in shown.stderr


def test_a_text_is_read_from_standard_input(service: ServiceServer, tmp_path: Path) -> None:
    with service:
        configure(tmp_path, service)
        sent = CliRunner().invoke(
            cli, ["channels", "send", "ops", "--subject", "Build"], input="it is green\n"
        )

    assert (sent.exit_code, sent.stdout) == (0, "Sent to ops.\n")
    body = service.received[-1].body
    assert (body["title"], body["message"]) == ("Build", "it is green")


def test_nothing_to_send_is_a_wrong_usage(service: ServiceServer) -> None:
    sent = CliRunner().invoke(cli, ["channels", "send", "ops"], input=" \n")

    assert sent.exit_code == 2
    assert "CONTENT" in sent.stderr


def test_a_channel_that_only_receives_is_shown_as_such(
    service: ServiceServer, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(
        '[channels.hook]\nlisten = "127.0.0.1:0"\nsecret = "a secret of 16 characters"\n'
    )

    listed, sent = jarvis("channels", "list"), jarvis("channels", "send", "hook", "hi")

    assert listed.stdout == "hook\tonly receives\n"
    assert json.loads(jarvis("channels", "list", "--json").stdout) == ["hook"]
    assert sent.exit_code == 1
    assert "'hook' only receives" in sent.stderr
