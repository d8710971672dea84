import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

import openai_server as served
from openai_server import OpenAIServer
from openjarvis.engine.probe import Found, is_listening, probe_all
from openjarvis.engine.settings import LocalServer

Listen = Callable[[Callable[[socket.socket], None]], LocalServer]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Give a function that starts a bare server with one way to treat every connection."""
    with ExitStack() as stack:

        def start(treat: Callable[[socket.socket], None]) -> LocalServer:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def serve() -> None:
                connection, _ = listening.accept()
                with connection:
                    treat(connection)

            Thread(target=serve, daemon=True).start()
            return local(listening.getsockname()[1])

        yield start


def local(port: int) -> LocalServer:
    return LocalServer("vllm", "vLLM", port)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port: int = unused.getsockname()[1]
        return port


def probe(server: LocalServer) -> Found:
    [found] = probe_all([server])
    return found


def test_a_model_server_is_found_with_its_models() -> None:
    with OpenAIServer(models=["qwen", "llama"]) as server:
        found = probe(local(server.port))

    assert found == Found(True, f"vLLM listens on 127.0.0.1:{server.port}", ("qwen", "llama"))


def test_a_name_that_no_model_has_is_left_out() -> None:
    with OpenAIServer(models=["x" * 900_000, "llama"]) as server:
        assert probe(local(server.port)).models == ("llama",)


def test_nobody_listens() -> None:
    found = probe(local(free_port()))

    assert not found.ready
    assert "does not listen" in found.reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (served.raw(b"<html>", content_type="text/html"), "lists no models"),
        (served.raw(b"[" * 100_000), "lists no models"),
        (served.answer({"data": {}}), "lists no models"),
        (served.answer([]), "lists no models"),
        (served.refusal(404, "not here"), "lists no models"),
        (served.refusal(401, "who are you"), "wants an API key"),
        (served.answer({"data": []}), "has no model"),
        (served.answer({"data": [{"id": 5}, None]}), "has no model"),
    ],
)
def test_what_listens_and_is_no_ready_model_server_is_told(answer: Any, reason: str) -> None:
    with OpenAIServer() as server:
        server.models_answer = answer

        found = probe(local(server.port))

    assert not found.ready
    assert reason in found.reason


def test_a_connection_that_stays_open_does_not_hold_up_an_answer_that_is_whole(
    listen: Listen,
) -> None:
    body = json.dumps({"data": [{"id": "qwen"}]}).encode()
    done = Event()

    def keep_open(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        done.wait()

    found = probe(listen(keep_open))
    done.set()

    assert found.models == ("qwen",)


def test_silent_servers_cost_the_time_of_one_probe(listen: Listen) -> None:
    done = Event()
    servers = [listen(lambda connection: done.wait() and None) for _ in range(5)]

    began = monotonic()
    found = probe_all(servers)
    took = monotonic() - began
    done.set()

    assert all("did not answer" in entry.reason for entry in found)
    assert took < 0.5


def test_a_server_that_answers_for_ever_is_left(listen: Listen) -> None:
    done = Event()

    def pour(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while not done.is_set():
                connection.sendall(b"x" * 65_536)
        except OSError:
            done.set()

    found = probe(listen(pour))

    assert not found.ready
    assert done.wait(5)


def test_garbage_is_no_model_server(listen: Listen) -> None:
    def babble(connection: socket.socket) -> None:
        connection.sendall(b"\x00\xffSSH-2.0\r\n")

    assert not probe(listen(babble)).ready


def test_listening_is_told_at_once() -> None:
    with OpenAIServer() as server:
        assert is_listening(local(server.port))

    assert not is_listening(local(free_port()))
