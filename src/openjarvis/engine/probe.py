"""Looking for model servers on this machine: all at once, and soon done.

Probes speak HTTP by themselves; importing a client library takes longer than the probe.
"""

import json
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from openjarvis.core import workers
from openjarvis.engine.settings import LocalServer

PROBE_SECONDS = 0.25
MAX_ANSWER = 1_000_000
"""Bytes of an answer that are read."""

LONGEST_NAME = 300
"""Characters of a model's name; what is longer is none."""

_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})\r", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """What a probe found: a model server with these models, or the reason why not."""

    ready: bool
    reason: str
    models: tuple[str, ...] = ()


def probe_all(servers: Sequence[LocalServer]) -> list[Found]:
    """Return what listens where each of `servers` would, within `PROBE_SECONDS` in all."""
    deadline = monotonic() + PROBE_SECONDS
    jobs = [workers.start(partial(_probe, server, deadline)) for server in servers]
    return [
        job.result() if job.wait(deadline - monotonic()) else _silent(server)
        for job, server in zip(jobs, servers, strict=True)
    ]


def is_listening(server: LocalServer) -> bool:
    """Tell whether something listens where `server` would; on this machine it shows at once."""
    try:
        with socket.create_connection((server.host, server.port), timeout=PROBE_SECONDS):
            return True
    except OSError:
        return False


def _probe(server: LocalServer, deadline: float) -> Found:
    try:
        answer = _get_models(server, deadline)
    except TimeoutError:
        return _silent(server)
    except OSError:
        return Found(False, f"{server.title} does not listen on {server.place}")
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head[9:12]
    if status in (b"401", b"403"):
        reason = f"{server.place} wants an API key: configure it as an openai base URL"
        return Found(False, reason)
    models = _listed(body) if status == b"200" else None
    if models is None:
        return Found(False, f"what listens on {server.place} lists no models")
    if not models:
        return Found(False, f"{server.title} on {server.place} has no model; load one")
    return Found(True, f"{server.title} listens on {server.place}", models)


def _get_models(server: LocalServer, deadline: float) -> bytes:
    """Return the answer to a request for the list of models, head and body."""
    with _connected(server, deadline) as connection:
        # HTTP/1.0, so that the body comes in one piece and ends with the connection.
        connection.sendall(
            f"GET /v1/models HTTP/1.0\r\nHost: {server.place}\r\nAccept: application/json\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        answer = bytearray()
        while len(answer) < MAX_ANSWER and not _is_whole(answer):
            connection.settimeout(_left(deadline))
            piece = connection.recv(65_536)
            if not piece:
                break
            answer += piece
        return bytes(answer)


def _connected(server: LocalServer, deadline: float) -> socket.socket:
    connection = socket.create_connection((server.host, server.port), timeout=_left(deadline))
    if not server.is_secure:
        return connection
    import ssl  # takes longer to import than most probes

    try:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=server.host)
    except BaseException:
        connection.close()
        raise


def _is_whole(answer: bytearray) -> bool:
    head_end = answer.find(b"\r\n\r\n")
    length = _CONTENT_LENGTH.search(answer, 0, head_end + 1) if head_end >= 0 else None
    return length is not None and len(answer) >= head_end + 4 + int(length[1])


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _listed(body: bytes) -> tuple[str, ...] | None:
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        return None
    names = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return tuple(name for name in names if isinstance(name, str) and len(name) <= LONGEST_NAME)


def _silent(server: LocalServer) -> Found:
    return Found(False, f"{server.place} did not answer within {PROBE_SECONDS:g} s")
