"""Servers that others have written and published, from PyPI and npm; each is started once.

Those of npm are there after `npm install --prefix tests/mcp/public`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mcp_servers import OpenPool, run
from mcp_web import free_port
from openjarvis.config import McpServerConfig
from openjarvis.mcp.pool import ServerPool
from openjarvis.mcp.servers import Server
from openjarvis.testing import ScriptedEngine, says

NODE = Path(__file__).with_name("public") / "node_modules" / ".bin"


def of_pypi(open_pool: OpenPool, name: str, *arguments: str) -> ServerPool:
    module = f"mcp_server_{name}"
    pytest.importorskip(module)
    settings = McpServerConfig(command=sys.executable, args=["-m", module, *arguments])
    return open_pool(Server(name, "the test", settings))


def of_npm(name: str) -> str:
    command = NODE / f"mcp-server-{name}"
    if not command.exists():
        pytest.skip("npm install --prefix tests/mcp/public")
    return str(command)


def test_time(open_pool: OpenPool) -> None:
    pool = of_pypi(open_pool, "time")

    now = run(pool, "time__get_current_time", {"timezone": "Asia/Bangkok"})
    wrong = run(pool, "time__get_current_time", {"timezone": "Nowhere/Land"})

    assert json.loads(now.content)["timezone"] == "Asia/Bangkok"
    assert not wrong.success
    assert "Nowhere/Land" in wrong.content


def test_git(open_pool: OpenPool, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "note.txt").write_text("hello")
    pool = of_pypi(open_pool, "git", "--repository", str(tmp_path))
    here = {"repo_path": str(tmp_path)}

    assert "note.txt" in run(pool, "git__git_status", here).content
    assert (
        "denied" in run(pool, "git__git_add", here | {"files": ["note.txt"]}, approve=None).content
    )
    assert run(pool, "git__git_add", here | {"files": ["note.txt"]}).success
    staged = run(pool, "git__git_diff_staged", here)
    assert "+hello" in staged.content
    assert not run(pool, "git__git_status", {"repo_path": "/"}).success


def test_fetch(open_pool: OpenPool) -> None:
    pool = of_pypi(open_pool, "fetch", "--ignore-robots-txt", "--allow-private-ips")

    with page("<h1>Tea</h1><p>There are 7 packs of tea left in the shop.</p>") as url:
        read = run(pool, "fetch__fetch", {"url": url, "raw": True})

    assert read.success
    assert "7 packs of tea" in read.content


@contextmanager
def page(content: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_filesystem(open_pool: OpenPool, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    settings = McpServerConfig(command=of_npm("filesystem"), args=[str(tmp_path)])
    pool = open_pool(Server("files", "the test", settings))

    read = run(pool, "files__read_text_file", {"path": str(tmp_path / "note.txt")}, approve=None)
    outside = run(pool, "files__read_text_file", {"path": "/etc/passwd"})

    assert (read.content, read.metadata["structured_content"]) == ("hello", {"content": "hello"})
    assert not outside.success
    assert "Access denied" in outside.content


def test_memory(open_pool: OpenPool, tmp_path: Path) -> None:
    kept = str(tmp_path / "memory.json")
    settings = McpServerConfig(command=of_npm("memory"), env={"MEMORY_FILE_PATH": kept})
    pool = open_pool(Server("memory", "the test", settings))
    ann = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}

    assert run(pool, "memory__create_entities", {"entities": [ann]}).success
    found = run(pool, "memory__search_nodes", {"query": "tea"})

    assert json.loads(found.content)["entities"][0]["name"] == "Ann"


@contextmanager
def everything(transport: str) -> Iterator[McpServerConfig]:
    """Give the settings of the server that has every feature, over one transport."""
    command = of_npm("everything")
    if transport == "stdio":
        yield McpServerConfig(command=command, args=["stdio"])
        return
    port = free_port()
    process = subprocess.Popen(
        [command, transport],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        while str(port) not in (line := process.stderr.readline()):
            assert line, "the server ended before it served"
        url = f"http://127.0.0.1:{port}"
        if transport == "sse":
            yield McpServerConfig(url=f"{url}/sse", transport="sse")
        else:
            yield McpServerConfig(url=f"{url}/mcp")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("transport", ["stdio", "streamableHttp", "sse"])
def test_everything(open_pool: OpenPool, transport: str) -> None:
    with everything(transport) as settings:
        settings.elicitation = settings.sampling = True
        pool = open_pool(
            Server("all", "the test", settings),
            engine=ScriptedEngine([says("hi there")]),
            model="scripted",
        )
        heard: list[str] = []
        steps = {"duration": 0.3, "steps": 3}
        done = run(
            pool,
            "all__trigger-long-running-operation",
            steps,
            hear=lambda _, text: heard.append(text),
        )
        image = run(pool, "all__get-tiny-image")
        structured = run(pool, "all__get-structured-content", {"location": "Chicago"})
        resource = run(pool, "all__get-resource-reference", {"resourceType": "Text"})
        links = run(pool, "all__get-resource-links", {"count": 2})
        sampled = run(pool, "all__trigger-sampling-request", {"prompt": "Say hi"})
        asked = run(pool, "all__trigger-elicitation-request")
        problems = pool.statuses()[0].problems
        pool.close()

    assert (done.success, heard) == (True, ["1/3", "2/3", "3/3"])
    assert image.metadata["parts"][0]["mimeType"] == "image/png"
    assert "conditions" in structured.metadata["structured_content"]
    assert "[resource demo://resource/dynamic/text/1]\nResource 1" in resource.content
    assert links.content.count("[link ") == 2
    assert "hi there" in sampled.content
    assert "declined" in asked.content  # its form asks for more than a yes can fill in
    assert problems == []
