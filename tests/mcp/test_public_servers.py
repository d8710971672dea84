import json
import sys
from pathlib import Path

import pytest

from mcp_servers import OpenPool, run
from openjarvis.config import McpServerConfig
from openjarvis.mcp.servers import Server

pytest.importorskip("mcp_server_time")


def test_the_public_time_server_is_listed_and_called(open_pool: OpenPool, tmp_path: Path) -> None:
    settings = McpServerConfig(command=sys.executable, args=["-m", "mcp_server_time"])
    pool = open_pool(Server("time", "the test", settings))

    now = run(pool, "time__get_current_time", {"timezone": "Asia/Bangkok"})
    wrong = run(pool, "time__get_current_time", {"timezone": "Nowhere/Land"})

    assert json.loads(now.content)["timezone"] == "Asia/Bangkok"
    assert not wrong.success
    assert "Nowhere/Land" in wrong.content
