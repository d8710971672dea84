import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openai_server import Exchange, OpenAIServer
from openjarvis.cli.main import cli
from openjarvis.core.errors import LLMError
from openjarvis.engine import model_files
from openjarvis.engine.model_files import local_models

NAME = "owner/repo/small.gguf"
BYTES = b"GGUF" + bytes(range(256)) * 5000


def pull(name: str, folder: Path, *, hub: str, **options: Any) -> Path:
    """Fetch from a hub on this machine, which must be allowed by name."""
    return model_files.pull(name, folder, hub=hub, allowed=[hub.removeprefix("http://")], **options)


class Hub:
    """Serves one file the way the hub does: a redirect with the checksum, then ranges."""

    def __init__(self, *, breaks_after: int | None = None, checksum: str | None = None) -> None:
        self.breaks_after = breaks_after
        self.checksum = checksum or hashlib.sha256(BYTES).hexdigest()

    def __call__(self, exchange: Exchange) -> None:
        if "/resolve/main/" in exchange.path:
            where = {"Location": "/storage", "X-Linked-Etag": f'"{self.checksum}"'}
            exchange.reply(b"", status=302, headers=where)
            return
        start = int(exchange.headers.get("Range", "bytes=0-")[6:-1])
        rest = BYTES[start:]
        exchange.start(206 if start else 200, {"Accept-Ranges": "bytes"}, len(rest))
        exchange.wfile.write(rest if self.breaks_after is None else rest[: self.breaks_after])
        exchange.close_connection = self.breaks_after is not None


Serve = Callable[[Any], str]


@pytest.fixture
def served() -> Any:
    with OpenAIServer() as server:
        yield server


def at(server: OpenAIServer, hub: Any) -> str:
    server.models_answer = hub
    return server.base_url.removesuffix("/v1")


def test_a_model_is_fetched_checked_and_found(served: OpenAIServer, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []

    path = pull(NAME, tmp_path, hub=at(served, Hub()), progress=lambda *here: heard.append(here))

    assert path.read_bytes() == BYTES
    assert heard[-1] == (len(BYTES), len(BYTES))
    assert [(one.name, one.size) for one in local_models(tmp_path)] == [(NAME, len(BYTES))]
    assert not list(tmp_path.rglob("*.part"))


def test_a_model_that_is_here_is_not_fetched_again(served: OpenAIServer, tmp_path: Path) -> None:
    hub = at(served, Hub())
    pull(NAME, tmp_path, hub=hub)
    asked = len(served.listings)

    pull(NAME, tmp_path, hub=hub)

    assert len(served.listings) == asked


def test_a_broken_download_is_continued(served: OpenAIServer, tmp_path: Path) -> None:
    with pytest.raises(LLMError) as failed:
        pull(NAME, tmp_path, hub=at(served, Hub(breaks_after=1000)))

    path = pull(NAME, tmp_path, hub=at(served, Hub()))

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert path.read_bytes() == BYTES
    assert served.listings[-1].headers["range"] == "bytes=1000-"


def test_wrong_bytes_are_thrown_away(served: OpenAIServer, tmp_path: Path) -> None:
    with pytest.raises(LLMError, match="checksum") as failed:
        pull(NAME, tmp_path, hub=at(served, Hub(checksum="0" * 64)))

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_that_is_not_there_is_rejected(served: OpenAIServer, tmp_path: Path) -> None:
    def missing(exchange: Exchange) -> None:
        exchange.reply(b"", status=404)

    with pytest.raises(LLMError, match="no such file") as failed:
        pull(NAME, tmp_path, hub=at(served, missing))

    assert (failed.value.code, failed.value.status) == ("LLM_REQUEST_REJECTED", 404)


def test_redirects_come_to_an_end(served: OpenAIServer, tmp_path: Path) -> None:
    def around(exchange: Exchange) -> None:
        exchange.reply(b"", status=302, headers={"Location": "/again"})

    with pytest.raises(LLMError, match="without end"):
        pull(NAME, tmp_path, hub=at(served, around))


@pytest.mark.parametrize(
    "name",
    ["", "model.gguf", "owner/repo", "owner/repo/file.bin", "../x/y.gguf", "o/r/../../y.gguf",
     "o/r/a b.gguf", "https://x/y/z.gguf", "o/r/f.gguf\n"],
)  # fmt: skip
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LLMError, match="OWNER/REPO/FILE") as failed:
        pull(name, tmp_path, hub="http://127.0.0.1:9")

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert list(tmp_path.iterdir()) == []


def test_the_command_lists_what_is_here(
    served: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    hub = at(served, Hub())
    monkeypatch.setattr(
        "openjarvis.cli.models.pull",
        lambda name, folder, **options: pull(name, folder, hub=hub, **options),
    )

    pulled = CliRunner().invoke(cli, ["models", "pull", NAME, "--json"])
    listed = CliRunner().invoke(cli, ["models", "list", "--json"])

    path = str(tmp_path / "models" / NAME)
    assert json.loads(pulled.stdout) == {"path": path}
    assert json.loads(listed.stdout) == [{"name": NAME, "path": path, "bytes": len(BYTES)}]


def test_the_command_refuses_a_wrong_name_in_a_sentence() -> None:
    done = CliRunner().invoke(cli, ["models", "pull", "nonsense"])

    assert done.exit_code == 2
    assert "OWNER/REPO/FILE.gguf" in done.stderr


def test_a_hub_may_not_lead_to_this_machine(served: OpenAIServer, tmp_path: Path) -> None:
    def inward(exchange: Exchange) -> None:
        exchange.reply(b"", status=302, headers={"Location": "http://127.0.0.1:9/secret"})

    with pytest.raises(LLMError, match="nobody may go") as failed:
        pull(NAME, tmp_path, hub=at(served, inward))

    assert failed.value.code == "LLM_UNAVAILABLE"


def test_a_hub_on_this_machine_must_be_allowed(served: OpenAIServer, tmp_path: Path) -> None:
    with pytest.raises(LLMError, match="nobody may go"):
        model_files.pull(NAME, tmp_path, hub=at(served, Hub()))

    assert served.listings == []
