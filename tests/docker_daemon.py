"""A daemon on a unix socket that speaks as much of Docker's interface as running code needs.

Its "containers" are plain child processes: enough to see what is asked for and what comes back.
"""

import json
import socketserver
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Daemon:
    """What was asked: the configuration of each container, and which are still `made`."""

    path: Path
    created: list[dict[str, Any]] = field(default_factory=list)
    containers: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    has_image: bool = True
    breaks_at: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    daemon: Daemon

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        path, query = self._route()
        match path.split("/"):
            case ["_ping"]:
                self._json(200, "OK")
            case ["version"]:
                self._json(200, {"ApiVersion": "1.47", "Version": "27.0", "MinAPIVersion": "1.24"})
            case ["containers", name, "json"]:
                known = next((one for one in self.daemon.made.items() if name in one), (name, name))
                answer = {"Id": known[0], "Name": known[1], "Config": {"Tty": False}, "Image": "i"}
                self._json(200, answer)
            case ["containers", name, "logs"]:
                self._logs(name, query)
            case _:
                self._json(404, {"message": "no such thing"})

    def do_POST(self) -> None:
        path, query = self._route()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path == self.daemon.breaks_at:
            self._json(500, {"message": "secret-host:2375 is on fire"})
            return
        match path.split("/"):
            case ["containers", "create"] if not self.daemon.has_image:
                self._json(404, {"message": "No such image: python:3.12-slim"})
            case ["containers", "create"]:
                self.daemon.created.append(json.loads(body))
                name = f"c{len(self.daemon.created)}"
                self.daemon.made[name] = query["name"][0]
                self._json(201, {"Id": name, "Warnings": []})
            case ["containers", name, "start"]:
                command = self.daemon.created[int(name[1:]) - 1]["Cmd"]
                self.daemon.containers[name] = subprocess.Popen(
                    [sys.executable, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
                self._json(204, None)
            case ["containers", name, "wait"]:
                code = self.daemon.containers[name].wait()
                self._json(200, {"StatusCode": code if code >= 0 else 128 - code})
            case ["containers", name, "kill"]:
                self.daemon.killed.append(name)
                self.daemon.containers[name].kill()
                self._json(204, None)
            case _:
                self._json(404, {"message": "no such image"})

    def do_DELETE(self) -> None:
        name = self._route()[0].split("/")[1]
        if self.daemon.made.pop(name, None) is None:
            self._json(404, {"message": f"No such container: {name}"})
            return
        process = self.daemon.containers.pop(name, None)
        if process is not None:
            process.kill()
            process.communicate()
        self._json(204, None)

    def _route(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        path = parts.path.strip("/")
        if path.startswith("v1."):
            path = path.partition("/")[2]
        return path, parse_qs(parts.query)

    def _logs(self, name: str, query: dict[str, list[str]]) -> None:
        wants_stdout = query["stdout"] == ["1"]
        process = self.daemon.containers.get(name)
        if process is None:
            self._json(404, {"message": f"No such container: {name}"})
            return
        pipe = process.stdout if wants_stdout else process.stderr
        assert pipe is not None
        text = pipe.read()
        frame = struct.pack(">BxxxL", 1 if wants_stdout else 2, len(text)) + text if text else b""
        self._send(200, frame, "application/vnd.docker.multiplexed-stream")

    def _json(self, status: int, answer: object) -> None:
        self._send(status, json.dumps(answer).encode() if status != 204 else b"")

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self) -> tuple[Any, Any]:
        connection, _ = super().get_request()
        return connection, ("local", 0)

    def handle_error(self, *_: object) -> None: ...


@contextmanager
def docker_daemon(path: Path) -> Iterator[Daemon]:
    """Serve a daemon at `path` for as long as the block lasts."""
    daemon = Daemon(path)
    server = _Server(str(path), type("Handler", (_Handler,), {"daemon": daemon}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield daemon
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        for process in daemon.containers.values():
            process.kill()
            process.communicate()
