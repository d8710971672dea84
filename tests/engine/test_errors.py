import json
from datetime import UTC, datetime
from typing import Any

import pytest

from openjarvis.core.errors import LLMErrorCode
from openjarvis.engine.errors import (
    MAX_MESSAGE,
    Server,
    provider_message,
    reported_error,
    seconds_to_wait,
    status_error,
)

SERVER = Server("models.example", "the-key-12345678")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, LLMErrorCode.REQUEST_REJECTED, False),
        (401, LLMErrorCode.UNAUTHORIZED, False),
        (403, LLMErrorCode.UNAUTHORIZED, False),
        (418, LLMErrorCode.REQUEST_REJECTED, False),
        (429, LLMErrorCode.RATE_LIMITED, True),
        (500, LLMErrorCode.UNAVAILABLE, True),
        (529, LLMErrorCode.UNAVAILABLE, True),
        (304, LLMErrorCode.UNAVAILABLE, True),
    ],
)
def test_a_status_tells_the_code(status: int, code: LLMErrorCode, retryable: bool) -> None:
    error = status_error(status, "because", SERVER)

    assert error.code is code
    assert error.retryable is retryable
    assert error.status == status
    assert error.message.startswith("models.example ")
    assert error.message.endswith(f"(HTTP {status}): because")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "m"}, "m"),
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"detail": "m"}, "m"),
        (
            {"detail": [{"loc": ["body", "stream_options"]}]},
            "[{'loc': ['body', 'stream_options']}]",
        ),
        ({"message": "", "error": {"message": {"error": "m"}}}, "m"),
        ("m", "m"),
        (None, ""),
        ([], ""),
        ({}, ""),
        ({"message": 5}, "5"),
    ],
)
def test_the_providers_message_is_found(body: Any, said: str) -> None:
    assert provider_message(body) == said


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 99 Jan 2026 99:00:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-5"}, None),
    ],
)
def test_the_wait_is_read_where_it_is_usable(headers: dict[str, str], seconds: Any) -> None:
    assert seconds_to_wait(headers, now=NOON) == seconds


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"message": "m", "code": 429}, LLMErrorCode.RATE_LIMITED),
        ({"message": "m", "code": 400}, LLMErrorCode.REQUEST_REJECTED),
        ({"message": "m", "code": "429"}, LLMErrorCode.UNAVAILABLE),
        ({"message": "m", "code": 7}, LLMErrorCode.UNAVAILABLE),
        ("m", LLMErrorCode.UNAVAILABLE),
        ({}, LLMErrorCode.UNAVAILABLE),
    ],
)
def test_an_error_inside_a_success_is_read(body: Any, code: LLMErrorCode) -> None:
    assert reported_error(body, SERVER).code is code


def test_what_is_quoted_is_short_masked_and_of_one_line() -> None:
    said = "a\n\tb the-key-12345678 password=hunter22 " + "x" * 100_000

    quoted = SERVER.quote(said)

    assert quoted.startswith("a b [secret] password=[secret] xxx")
    assert len(quoted) == MAX_MESSAGE + 1
    assert "the-key" not in quoted


def test_a_key_on_the_edge_of_what_is_quoted_is_masked_too() -> None:
    for lead in range(1900, 2100):
        assert "the-key-1" not in SERVER.quote(" " * lead + "the-key-12345678 is wrong")


def test_a_short_key_hides_no_words() -> None:
    assert Server("s", "none").quote("none of them") == "none of them"


def test_the_key_is_not_shown_with_the_server() -> None:
    assert "the-key" not in repr(SERVER)
    assert json.dumps(SERVER.name) == '"models.example"'
