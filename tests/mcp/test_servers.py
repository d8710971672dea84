import json
from pathlib import Path
from typing import Any

import pytest

from openjarvis.config import McpConfig, McpServerConfig, load_config
from openjarvis.core.errors import ConfigError
from openjarvis.mcp.servers import Server, configured_servers


def test_the_configuration_is_read_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[mcp.servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\nenv = { TZ = "UTC" }\n'
        '[mcp.servers.docs]\nurl = "https://docs.example/mcp"\nheaders = { X = "y" }\n'
    )

    servers = configured_servers(load_config(path).mcp)

    assert {name: one.kind for name, one in servers.items()} == {"time": "stdio", "docs": "http"}
    assert servers["time"].settings.env == {"TZ": "UTC"}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ('[mcp.servers.time]\ncomand = "x"', "did you mean 'command'"),
        ("[mcp.servers.time]\ncommand = 5", "expected text, got a whole number"),
        ('[mcp.servers.time]\ncommand = "x"\nenv = { A = 5 }', "mcp.servers.time.env.A"),
        ("[mcp]\nservers = 5", "expected a table"),
        ("[mcp.servers.time]\ntimeout_seconds = -1", "expected 0.001 to 86400, got -1"),
        ("[channels.ops]\nattempts = 0", "expected 1 to 10, got 0"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_line(tmp_path: Path, lines: str, reason: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(lines)

    with pytest.raises(ConfigError, match=r"config\.toml:[12]") as raised:
        load_config(path)

    assert reason in str(raised.value)


def test_a_file_of_another_host_is_read_and_what_only_that_host_knows_passed_over(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        "\ufeff"  # as editors of Windows write it
        + json.dumps(
            {
                "mcpServers": {
                    "git": {"command": "uvx", "args": ["mcp-server-git"], "autoApprove": ["x"]},
                    "web": {"type": "streamable-http", "url": "https://a.example/mcp"},
                    "old": {"type": "sse", "url": "https://a.example/sse"},
                    "off": {"command": "x", "disabled": True},
                }
            }
        )
    )

    servers = configured_servers(McpConfig(files=[str(path)]))

    assert {name: one.kind for name, one in servers.items()} == {
        "git": "stdio",
        "web": "http",
        "old": "sse",
    }
    assert servers["git"].origin == str(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"mcpServers": []}',
        '{"mcpServers": {"a": 5}}',
        '{"mcpServers": {"a": {"command": "x", "disabled": "true"}}}',
    ],
)
def test_a_file_that_holds_no_servers_is_an_error_that_names_it(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content)

    with pytest.raises(ConfigError, match=r"mcp\.json"):
        configured_servers(McpConfig(files=[str(path)]))


def test_two_servers_of_one_name_are_refused_naming_both_origins(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"git": {"command": "x"}}}')
    config = McpConfig(servers={"git": McpServerConfig(command="y")}, files=[str(path)])

    with pytest.raises(ConfigError, match=r"\[mcp\.servers\].*mcp\.json"):
        configured_servers(config)


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("a__b", McpServerConfig(command="x"), "without '__'"),
        ("a b", McpServerConfig(command="x"), "its name must be"),
        ("x" * 33, McpServerConfig(command="x"), "its name must be"),
        ("a_", McpServerConfig(command="x"), "its name must be"),
        ("a", McpServerConfig(), "no `command`"),
        ("a", McpServerConfig(command="x", url="https://a.example"), "one of them is too much"),
        ("a", McpServerConfig(transport="sse", command="x"), "needs a `url`"),
        ("a", McpServerConfig(transport="carrier pigeon", url="x"), "unknown transport"),
    ],
)
def test_what_cannot_be_a_server_is_refused(
    name: str, settings: McpServerConfig, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        configured_servers(McpConfig(servers={name: settings}))


def test_a_server_is_known_by_what_is_started_or_called_as_it_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def configured(**settings: Any) -> str:
        return Server("a", "the test", McpServerConfig(**settings)).configured

    first = configured(command="run", args=["${KEY_OF_TEST}"], env={"A": "1"})
    monkeypatch.setenv("KEY_OF_TEST", "x")

    assert configured(command="run", args=["${KEY_OF_TEST}"], timeout_seconds=5) == first
    others = [
        configured(command="run"),
        configured(command="walk", args=["${KEY_OF_TEST}"]),
        configured(command="run", args=["${KEY_OF_TEST}"], cwd="/elsewhere"),
        configured(url="https://a.example/mcp"),
        configured(url="https://b.example/mcp", headers={"A": "1"}),
    ]
    assert len({first, *others}) == 6
    assert configured(url="https://b.example/mcp") == others[-1]


def test_variables_are_filled_in_and_a_missing_one_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    monkeypatch.delenv("MISSING", raising=False)
    settings = McpServerConfig(
        url="https://a.example/${PLACE:-mcp}", headers={"Authorization": "Bearer ${SECRET_TOKEN}"}
    )
    server = configured_servers(McpConfig(servers={"a": settings}))["a"]

    assert server.expanded().url == "https://a.example/mcp"
    assert server.expanded().headers == {"Authorization": "Bearer s3cret"}
    assert "s3cret" not in repr(server.expanded())
    missing = McpConfig(servers={"a": McpServerConfig(url="${MISSING}")})
    with pytest.raises(ConfigError, match=r"'a'.*\$\{MISSING\}"):
        configured_servers(missing)["a"].expanded()
