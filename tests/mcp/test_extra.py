import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = "import sys; sys.modules['mcp'] = sys.modules['apprise'] = None; "


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["mcp", "list"], "mcp"),
        (["mcp", "serve"], "mcp"),
        (["tools", "run", "a__x"], "mcp"),
        (["channels", "send", "ops", "hi"], "channels"),
    ],
)
def test_what_is_not_installed_is_named(tmp_path: Path, arguments: list[str], extra: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[mcp.servers.a]\ncommand = "x"\n[channels.ops]\nurl = "discord://111111111/abcdefghijkl"\n'
    )
    command = f"from openjarvis.cli import main; sys.argv = ['jarvis', *{arguments!r}]; main()"

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + command],
        env={"OPENJARVIS_CONFIG": str(config), "OPENJARVIS_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode in (1, 2)
    assert f"pip install '.[{extra}]' in the checkout" in done.stderr
    assert "Traceback" not in done.stderr


def test_neither_package_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys\nfrom openjarvis import Jarvis, llm\nimport openjarvis.cli.main\n"
        "from openjarvis.tools.mcp_adapter import MCPToolAdapter\n"
        "from openjarvis.tools.channel_tools import ChannelSendTool\n"
        "print({'mcp', 'apprise', 'httpx2', 'uvicorn'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
