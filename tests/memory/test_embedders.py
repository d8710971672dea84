import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from openjarvis.memory import MemoryFailed
from openjarvis.memory.embedders import ollama_embedder, openai_embedder


class EmbeddingServer(ThreadingHTTPServer):
    """Answers `/v1/embeddings` with each text's length, in any order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, asked))
        entries = [
            {"object": "embedding", "index": index, "embedding": [len(text), 1.0]}
            for index, text in enumerate(asked["input"])
        ]
        answer = {"object": "list", "model": "m", "data": entries[::-1], "usage": {}}
        body = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_vectors_come_in_the_order_of_the_texts(server: EmbeddingServer) -> None:
    embed = openai_embedder("m", base_url=f"{server.url}/v1", api_key="k")

    assert embed(["a", "bb", ""]) == [[1, 1], [2, 1], [1, 1]]
    assert server.requests[0][1]["model"] == "m"


def test_many_texts_are_asked_for_in_portions(server: EmbeddingServer) -> None:
    embed = openai_embedder("m", base_url=f"{server.url}/v1", api_key="k")

    assert len(embed(["text"] * 150)) == 150
    assert [len(asked["input"]) for _, asked in server.requests] == [64, 64, 22]


def test_ollama_is_asked_by_its_own_address_without_a_key(server: EmbeddingServer) -> None:
    assert ollama_embedder("nomic", host=f"{server.url}/")(["abc"]) == [[3, 1]]
    assert server.requests[0][0] == "/v1/embeddings"


def test_a_refusal_is_told_with_its_status(server: EmbeddingServer) -> None:
    server.status = 404

    with pytest.raises(MemoryFailed, match="'m' refused: status 404"):
        openai_embedder("m", base_url=f"{server.url}/v1", api_key="k")(["a"])
