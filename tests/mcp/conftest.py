from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_servers import OpenPool
from openjarvis.mcp.connection import Backoff
from openjarvis.mcp.pool import ServerPool
from openjarvis.mcp.servers import Server


@pytest.fixture
def open_pool(tmp_path: Path) -> Iterator[OpenPool]:
    opened: list[ServerPool] = []

    def make(*servers: Server, **options: Any) -> ServerPool:
        options.setdefault("backoff", Backoff(first=0.05, most=0.2))
        pool = ServerPool({one.name: one for one in servers}, tmp_path / "mcp", **options)
        opened.append(pool)
        return pool

    yield make
    for pool in opened:
        pool.close()
