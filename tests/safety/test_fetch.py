import gzip
import socket
import ssl
import time
import zlib
from collections.abc import Iterator

import httpcore2
import pytest

from loopback import Loopback, answer, redirect, serving
from openjarvis.core.errors import ToolError
from openjarvis.safety.fetch import MAX_BODY_BYTES, Fetcher
from openjarvis.safety.network import dial

PUBLIC = "93.184.215.14"
BOMB = gzip.compress(b"\0" * (100 << 20))


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b".")
        time.sleep(0.02)


def drip_the_head(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(1000):
        connection.sendall(f"X-{number}: y\r\n".encode())
        time.sleep(0.02)


def without_end(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def gzipped(body: bytes, *, layers: int = 1, encoding: str = "gzip") -> bytes:
    for _ in range(layers):
        body = gzip.compress(body)
    return answer(body, headers={"Content-Encoding": encoding})


@pytest.fixture
def web() -> Iterator[Loopback]:
    with serving(
        {
            "/": answer(b"hello", headers={"Content-Type": "text/plain; charset=utf-8"}),
            "/latin": answer(
                "é".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"}
            ),
            "/odd-charset": answer(
                "é".encode(), headers={"Content-Type": "text/plain; charset=klingon"}
            ),
            "/gzip": gzipped(b"packed"),
            "/deflate": answer(zlib.compress(b"packed"), headers={"Content-Encoding": "deflate"}),
            "/bomb": answer(BOMB, headers={"Content-Encoding": "gzip"}),
            "/twice": gzipped(b"packed", layers=2, encoding="gzip, gzip"),
            "/brotli": answer(b"?", headers={"Content-Encoding": "br"}),
            "/damaged": answer(b"not gzip at all", headers={"Content-Encoding": "gzip"}),
            "/big": answer(b"x" * (3 * MAX_BODY_BYTES)),
            "/endless": without_end,
            "/drip": drip,
            "/drip-head": drip_the_head,
            "/silent": lambda connection: connection.recv(1),
            "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
            "/nonsense": b"what?\r\n\r\n",
            "/home": redirect("/"),
            "/home307": redirect("/", "307 Temporary Redirect"),
            "/home303": redirect("/", "303 See Other"),
            "/loop": redirect("/loop"),
            "/nowhere": answer(status="302 Found"),
        }
    ) as server:
        yield server


@pytest.fixture
def fetcher(web: Loopback) -> Fetcher:
    return Fetcher(allowed=[web.place])


def test_a_page_comes_with_its_status_and_headers(web: Loopback, fetcher: Fetcher) -> None:
    fetched = fetcher.fetch(web.url("/"))

    assert (fetched.status, fetched.reason, fetched.text) == (200, "OK", "hello")
    assert fetched.content_type == "text/plain; charset=utf-8"
    assert not fetched.is_cut


@pytest.mark.parametrize(
    ("path", "text"),
    [("/latin", "é"), ("/odd-charset", "é"), ("/gzip", "packed"), ("/deflate", "packed")],
)
def test_encodings_are_undone(web: Loopback, fetcher: Fetcher, path: str, text: str) -> None:
    assert fetcher.fetch(web.url(path)).text == text


@pytest.mark.parametrize("path", ["/bomb", "/big", "/endless"])
def test_a_body_stops_at_one_megabyte_after_decompression(
    web: Loopback, fetcher: Fetcher, path: str
) -> None:
    fetched = fetcher.fetch(web.url(path))

    assert fetched.is_cut
    assert len(fetched.body) == MAX_BODY_BYTES


@pytest.mark.parametrize("path", ["/twice", "/brotli", "/damaged", "/cut", "/nonsense", "/loop"])
def test_an_answer_that_cannot_be_used_is_a_sentence(
    web: Loopback, fetcher: Fetcher, path: str
) -> None:
    with pytest.raises(ToolError, match=r"[A-Z].*\.$"):
        fetcher.fetch(web.url(path))


@pytest.mark.parametrize("path", ["/drip", "/drip-head", "/silent"])
def test_one_deadline_ends_the_whole_call_however_the_bytes_drip(
    web: Loopback, fetcher: Fetcher, path: str
) -> None:
    started = time.monotonic()

    with pytest.raises(ToolError, match="in time"):
        fetcher.fetch(web.url(path), seconds=0.3)

    assert time.monotonic() - started < 2


def test_a_resolver_that_hangs_is_left_at_the_deadline() -> None:
    def hang(_host: str, _port: int) -> list[str]:
        time.sleep(1)
        return [PUBLIC]

    with pytest.raises(ToolError, match="in time"):
        Fetcher(resolve=hang).fetch("http://slow.example.com/", seconds=0.2)


def test_a_redirect_is_followed_and_counted(web: Loopback, fetcher: Fetcher) -> None:
    assert fetcher.fetch(web.url("/home")).text == "hello"
    assert fetcher.fetch(web.url("/home")).redirects == 1
    assert fetcher.fetch(web.url("/nowhere")).status == 302


@pytest.mark.parametrize(
    ("path", "method", "body"),
    [("/home", b"GET", b""), ("/home303", b"GET", b""), ("/home307", b"POST", b"form")],
)
def test_a_redirected_post_keeps_its_body_only_where_the_status_says_so(
    web: Loopback, fetcher: Fetcher, path: str, method: bytes, body: bytes
) -> None:
    fetcher.fetch(web.url(path), method="POST", body=b"form", headers={"X-Kept": "yes"})

    last = web.requests[-1]
    assert last.startswith(method + b" / ")
    assert last.endswith(b"\r\n\r\n" + body)
    assert b"X-Kept: yes" in last


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
        "//10.0.0.1/",
        "http://[::1]/",
        "http://2130706433/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://user@example.com/",
        "http://[broken/",
        "gopher://127.0.0.1:25/_HELO",
    ],
)
def test_every_hop_of_a_redirect_is_checked(web: Loopback, fetcher: Fetcher, target: str) -> None:
    web.answers["/hop1"] = redirect("/hop2")
    web.answers["/hop2"] = redirect(target)

    with pytest.raises(ToolError, match=r"^SSRF protection blocked redirect"):
        fetcher.fetch(web.url("/hop1"))


def test_a_redirect_to_a_name_that_leads_inside_is_blocked(web: Loopback) -> None:
    web.answers["/out"] = redirect("http://inside.example.com/")

    def resolve(host: str, _port: int) -> list[str]:
        return ["10.0.0.7"] if host == "inside.example.com" else ["127.0.0.1"]

    with pytest.raises(ToolError, match=r"^SSRF protection blocked redirect"):
        Fetcher(allowed=[web.place], resolve=resolve).fetch(web.url("/out"))


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fe80::1%eth0"],
        [PUBLIC, "127.0.0.1"],
        ["2606:4700::1111", "fd00::1"],
    ],
)
def test_a_name_with_one_address_inside_is_not_fetched(addresses: list[str]) -> None:
    def never(*_: object) -> httpcore2.NetworkStream:
        raise AssertionError("it connected")

    with pytest.raises(ToolError, match=r"^SSRF protection: "):
        Fetcher(resolve=lambda *_: addresses, dial=never).fetch("http://rebind.example.com/")


def test_the_connection_goes_to_the_address_that_was_checked(web: Loopback) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    dialled: list[tuple[str, int]] = []

    def to_the_server(address: str, port: int, seconds: float) -> httpcore2.NetworkStream:
        dialled.append((address, port))
        return dial("127.0.0.1", web.port, seconds)

    fetcher = Fetcher(resolve=lambda *_: next(answers), dial=to_the_server)
    fetched = fetcher.fetch("http://rebind.example.com/")

    assert fetched.text == "hello"
    assert dialled == [(PUBLIC, 80)]
    assert b"\r\nHost: rebind.example.com\r\n" in web.requests[-1]


def test_connecting_may_take_no_longer_than_the_call() -> None:
    given: list[float] = []

    def slow(_address: str, _port: int, seconds: float) -> httpcore2.NetworkStream:
        given.append(seconds)
        raise httpcore2.ConnectTimeout

    with pytest.raises(ToolError, match="in time"):
        Fetcher(resolve=lambda *_: [PUBLIC] * 9, dial=slow).fetch("http://a.example/", seconds=2)

    assert len(given) == 3
    assert all(0 < seconds <= 2 for seconds in given)


def test_tls_is_asked_for_by_the_name_and_not_the_address() -> None:
    seen: list[str] = []

    class Stream(httpcore2.NetworkStream):
        def start_tls(
            self,
            ssl_context: ssl.SSLContext,
            server_hostname: str | None = None,
            timeout: float | None = None,
        ) -> httpcore2.NetworkStream:
            assert ssl_context.check_hostname
            assert ssl_context.verify_mode is ssl.CERT_REQUIRED
            seen.append(server_hostname or "")
            raise httpcore2.ConnectError

        def close(self) -> None: ...

    with pytest.raises(ToolError, match="no connection; the server is down"):
        Fetcher(resolve=lambda *_: [PUBLIC], dial=lambda *_: Stream()).fetch("https://example.com/")

    assert seen == ["example.com"]


def test_credentials_do_not_travel_to_another_place(web: Loopback) -> None:
    with serving({"/": answer(b"other")}) as other:
        web.answers["/away"] = redirect(other.url("/"))
        fetcher = Fetcher(allowed=[web.place, other.place])

        fetcher.fetch(
            web.url("/away"),
            headers={
                "Authorization": "Bearer s3cret",
                "X-Api-Key": "s3cret",
                "Cookie": "a=s3cret",
                "Accept": "text/html",
            },
        )

        assert b"s3cret" in web.requests[-1]
        assert b"s3cret" not in other.requests[-1]
        assert b"Accept: text/html" in other.requests[-1]


def test_nothing_is_taken_from_the_environment(
    web: Loopback, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", "/dev/null")

    fetched = fetcher.fetch(web.url("/"), headers={"X-Key": "$HOME ${HOME}"})

    assert fetched.text == "hello"
    assert b"X-Key: $HOME ${HOME}" in web.requests[-1]


def test_cookies_are_neither_kept_nor_sent(web: Loopback, fetcher: Fetcher) -> None:
    web.answers["/set"] = answer(status="302 Found", headers={"Location": "/", "Set-Cookie": "a=b"})

    fetcher.fetch(web.url("/set"))
    fetcher.fetch(web.url("/"))

    assert all(b"Cookie" not in request for request in web.requests)


def test_a_name_that_nobody_knows_is_told_with_what_may_be_wrong() -> None:
    def unknown(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(ToolError) as raised:
        Fetcher(resolve=unknown).fetch("http://exmaple.example/")

    assert str(raised.value) == (
        "The host 'exmaple.example' could not be resolved: a wrong name, or no network."
    )
