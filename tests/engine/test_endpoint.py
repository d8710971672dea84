import pytest

from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.engine.endpoint import Endpoint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234",
        "127.0.0.1",
        "file:///etc/passwd",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://[::1/v1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://ho st/v1",
        "http://host/v1\r\nX: y",
        "http://host/\x00",
    ],
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(LLMError, match="expected http:// or https://") as failed:
        Endpoint(url)

    assert failed.value.code is LLMErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "url",
    ["http://x y/hunter22", "http://me:hunter22@x y/v1", "host/hunter22", "ftp://host?hunter22"],
)
def test_a_key_in_an_address_that_is_none_is_not_shown(url: str) -> None:
    with pytest.raises(LLMError, match="is no URL") as failed:
        Endpoint(url)

    assert "hunter22" not in str(failed.value)


@pytest.mark.parametrize(
    "url",
    ["http://host/v1?api_key=hunter22", "http://host/v1?", "http://host/v1#hunter22", "http://h?q"],
)
def test_a_query_or_fragment_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(LLMError, match="has a query") as failed:
        Endpoint(url)

    assert failed.value.code is LLMErrorCode.INVALID_REQUEST
    assert "hunter22" not in str(failed.value)


@pytest.mark.parametrize("key", ["clé-123456", "key\nwith a line", "k\x00"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(LLMError, match="cannot be sent") as failed:
        Endpoint("http://host/v1", key)

    assert key not in str(failed.value)


def test_space_around_url_and_key_is_dropped() -> None:
    endpoint = Endpoint(" https://host/v1\n", " key\n")

    assert (endpoint.base_url, endpoint.api_key) == ("https://host/v1", "key")


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://127.1.2.3/v1", True),
        ("http://[::1]:8080/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://localhost.example/v1", False),
    ],
)
def test_this_machine_is_told_from_others(url: str, is_local: bool) -> None:
    assert Endpoint(url).is_local is is_local


def test_neither_credentials_nor_key_are_shown() -> None:
    endpoint = Endpoint("http://user:hunter22@host:81/v1", "the-key")

    assert endpoint.server.name == "host:81"
    assert "the-key" not in repr(endpoint)


def test_a_server_that_wants_no_key_is_sent_a_word_in_its_place() -> None:
    assert Endpoint("http://host/v1").usable_key() == "none"
    assert Endpoint("https://api.openai.com/v1", "k").usable_key() == "k"
    with pytest.raises(LLMError) as failed:
        Endpoint("https://api.openai.com/v1").usable_key()
    assert failed.value.code is LLMErrorCode.UNAUTHORIZED
