import hashlib
import json
import os
import subprocess
import sys
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
        part = {"Content-Range": f"bytes {start}-{len(BYTES) - 1}/{len(BYTES)}"} if start else {}
        exchange.start(206 if start else 200, {"Accept-Ranges": "bytes", **part}, len(rest))
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


SHA = hashlib.sha256(BYTES).hexdigest()
PART = Path(f"owner/repo/small.gguf.{SHA[:12]}.part")


def straight(body: bytes = BYTES, *, status: int = 200, length: bool = True, **headers: str) -> Any:
    """Answer each request with the same, and no redirect; the checksum is told unless it is ""."""
    told = {
        "X-Linked-Etag": f'"{SHA}"',
        **{name.replace("_", "-"): headers[name] for name in headers},
    }

    def answer(exchange: Exchange) -> None:
        exchange.send_response(status)
        for name, value in told.items():
            if value:
                exchange.send_header(name, value)
        if length:
            exchange.send_header("Content-Length", str(len(body)))
        exchange.end_headers()
        exchange.wfile.write(body)
        exchange.close_connection = True

    return answer


def nothing_more(exchange: Exchange) -> None:
    """Say that the file ends before the bytes that are asked for."""
    straight(b"", status=416 if "Range" in exchange.headers else 200)(exchange)


@pytest.mark.parametrize("etag", [f'W/"{SHA}"', SHA.upper(), f'"{SHA}"'])
def test_a_checksum_is_read_in_every_spelling(
    served: OpenAIServer, tmp_path: Path, etag: str
) -> None:
    path = pull(NAME, tmp_path, hub=at(served, straight(X_Linked_Etag=etag)))

    assert path.read_bytes() == BYTES


@pytest.mark.parametrize("etag", ["", "nothing", '"0123"'])
def test_what_cannot_be_checked_is_not_fetched(
    served: OpenAIServer, tmp_path: Path, etag: str
) -> None:
    hub = at(served, straight(X_Linked_Etag=etag))

    with pytest.raises(LLMError, match="tells no checksum of owner/repo/small") as failed:
        pull(NAME, tmp_path, hub=hub)

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert pull(NAME, tmp_path, hub=hub, sha256=SHA.upper()).read_bytes() == BYTES


def test_a_checksum_of_the_users_own_is_kept_to(served: OpenAIServer, tmp_path: Path) -> None:
    hub = at(served, straight())

    with pytest.raises(LLMError, match="holds another owner/repo/small"):
        pull(NAME, tmp_path, hub=hub, sha256="0" * 64)
    with pytest.raises(LLMError, match="is no SHA-256"):
        pull(NAME, tmp_path, hub=hub, sha256="abc")

    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (straight(BYTES[:1000], length=False), "does not say how long"),
        (straight(length=False, X_Linked_Size="7"), "sent more than the 7 bytes"),
        (straight(BYTES[:1000], length=False, X_Linked_Size=str(len(BYTES))), "broke off after"),
        (straight(X_Linked_Size="7"), "contradicts itself about how long"),
        (straight(BYTES[500:], status=206, Content_Range="bytes 500-9/10"), "another part"),
        (straight(status=206), "another part"),
        (straight(Content_Encoding="gzip"), "compressed the file"),
        (straight(b"", status=302), "redirects to no address"),
        (straight(b"", status=302, Location="http://[::1"), "redirects to no address"),
        (straight(b"", status=302, Location="ftp://x.example/y"), "nobody may go"),
        (straight(b"", status=416), "HTTP 416"),
    ],
)
def test_an_answer_that_is_not_the_file_is_refused(
    served: OpenAIServer, tmp_path: Path, reply: Any, said: str
) -> None:
    with pytest.raises(LLMError, match=said):
        pull(NAME, tmp_path, hub=at(served, reply))

    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (straight(status=206, Content_Range=f"bytes 0-{len(BYTES) - 1}/{len(BYTES)}"), "another"),
        (straight(BYTES[1000:], status=206, Content_Range="bytes 1000-1999/2000"), "contradicts"),
        (straight(b"B" * 2000, status=206, Content_Range="bytes 1000-2999/3000"), "wrong"),
        (nothing_more, "wrong"),
    ],
)
def test_what_does_not_continue_the_file_is_refused(
    served: OpenAIServer, tmp_path: Path, reply: Any, said: str
) -> None:
    (tmp_path / PART).parent.mkdir(parents=True)
    (tmp_path / PART).write_bytes(BYTES[:1000])

    with pytest.raises(LLMError, match=said):
        pull(NAME, tmp_path, hub=at(served, reply))

    assert not (tmp_path / NAME).exists()
    assert served.listings[-1].headers["range"] == "bytes=1000-"
    assert served.listings[-1].headers["accept-encoding"] == "identity"


def test_another_version_of_the_file_is_not_continued(served: OpenAIServer, tmp_path: Path) -> None:
    (tmp_path / PART).parent.mkdir(parents=True)
    (tmp_path / PART).with_name("small.gguf.0123456789ab.part").write_bytes(b"older" * 100)

    path = pull(NAME, tmp_path, hub=at(served, Hub()))

    assert path.read_bytes() == BYTES
    assert all("range" not in request.headers for request in served.listings)


def test_a_server_that_begins_anew_is_taken_from_the_beginning(
    served: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / PART).parent.mkdir(parents=True)
    (tmp_path / PART).write_bytes(b"x" * (len(BYTES) + 5))

    assert pull(NAME, tmp_path, hub=at(served, straight())).read_bytes() == BYTES


def test_two_at_once_do_not_mix(served: OpenAIServer, tmp_path: Path) -> None:
    hub, refused = at(served, Hub()), []

    def again(here: int, total: int) -> None:
        if not refused:
            with pytest.raises(LLMError, match="is being fetched already") as failed:
                pull(NAME, tmp_path, hub=hub)
            refused.append(failed.value)

    path = pull(NAME, tmp_path, hub=hub, progress=again)

    assert path.read_bytes() == BYTES
    assert refused[0].retryable


def test_no_link_is_written_through(served: OpenAIServer, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / PART).parent.mkdir(parents=True)
    (tmp_path / PART).symlink_to(victim)

    with pytest.raises(LLMError, match="cannot be written") as failed:
        pull(NAME, tmp_path, hub=at(served, Hub()))

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert victim.read_text() == "precious"


def _folder_as_target(folder: Path) -> None:
    (folder / NAME).mkdir(parents=True)


def _file_as_parent(folder: Path) -> None:
    (folder / "owner").write_text("a file")


def _fifo_as_part(folder: Path) -> None:
    (folder / PART).parent.mkdir(parents=True)
    os.mkfifo(folder / PART)


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs")
@pytest.mark.parametrize("prepare", [_folder_as_target, _file_as_parent, _fifo_as_part])
def test_what_stands_in_the_way_is_told(
    served: OpenAIServer, tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    prepare(tmp_path)

    with pytest.raises(LLMError, match=r"cannot be written|is no regular file") as failed:
        pull(NAME, tmp_path, hub=at(served, Hub()))

    assert failed.value.code == "LLM_INVALID_REQUEST"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_not_called_the_connection(served: OpenAIServer, tmp_path: Path) -> None:
    code = f"""
import resource
from pathlib import Path
from openjarvis.core.errors import LLMError
from openjarvis.engine.model_files import pull
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
hub = {at(served, Hub())!r}
try:
    pull({NAME!r}, Path({str(tmp_path)!r}), hub=hub, allowed=[hub.removeprefix("http://")])
except LLMError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert (tmp_path / PART).read_bytes() == BYTES[:100_000]
    assert "LLM_INVALID_REQUEST" in done.stdout
    assert "cannot be written: File too large" in done.stdout
    assert pull(NAME, tmp_path, hub=at(served, Hub())).read_bytes() == BYTES


@pytest.mark.parametrize("name", ["o/./f.gguf", "././f.gguf", "o/r/./f.gguf", "./r/f.gguf"])
def test_no_name_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(LLMError, match="OWNER/REPO/FILE"):
        pull(name, tmp_path, hub="http://127.0.0.1:9")


def test_a_mirror_and_its_token_stand_in_the_environment(
    served: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, str | None]] = []
    hub = Hub()

    def listening(exchange: Exchange) -> None:
        heard.append((exchange.path, exchange.headers.get("Authorization")))
        hub(exchange)

    monkeypatch.setenv("HF_ENDPOINT", at(served, listening) + "/")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")

    done = CliRunner().invoke(cli, ["models", "pull", NAME])

    assert done.exit_code == 0, done.output
    assert heard[0] == ("/owner/repo/resolve/main/small.gguf", "Bearer hf_secret")
    assert "hf_secret" not in done.output


def test_the_token_of_a_hub_goes_to_no_other_place(served: OpenAIServer, tmp_path: Path) -> None:
    tokens: list[str | None] = []
    with OpenAIServer() as storage:
        content = Hub()

        def elsewhere(exchange: Exchange) -> None:
            tokens.append(exchange.headers.get("Authorization"))
            content(exchange)

        storage.models_answer = elsewhere
        place = storage.base_url.removesuffix("/v1")

        def leading(exchange: Exchange) -> None:
            where = {"Location": f"{place}/file", "X-Linked-Etag": f'"{content.checksum}"'}
            exchange.reply(b"", status=302, headers=where)

        hub = at(served, leading)
        allowed = [hub.removeprefix("http://"), place.removeprefix("http://")]
        path = model_files.pull(NAME, tmp_path, hub=hub, token="hf_secret", allowed=allowed)

    assert path.read_bytes() == BYTES
    assert tokens == [None] * len(tokens)
    assert tokens


@pytest.mark.parametrize("hub", ["hf-mirror.com", "ftp://hub", "http://"])
def test_a_hub_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub)

    with pytest.raises(LLMError, match="base URL") as failed:
        model_files.pull(NAME, tmp_path)

    assert failed.value.code == "LLM_INVALID_REQUEST"
