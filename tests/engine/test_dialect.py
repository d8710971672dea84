import logging

import pytest

from openjarvis.engine.dialect import Dialect

BODY = {"model": "m", "messages": [], "max_tokens": 5, "temperature": 0.7, "stream_options": {}}


@pytest.mark.parametrize(
    ("refusal", "adapted"),
    [
        ("stream_options: extra fields not permitted", {"max_tokens": 5, "temperature": 0.7}),
        ("Unknown field include_usage", {"max_tokens": 5, "temperature": 0.7}),
        (
            "'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            {"max_completion_tokens": 5, "temperature": 0.7, "stream_options": {}},
        ),
        (
            "'temperature' does not support 0.7 with this model",
            {"max_tokens": 5, "stream_options": {}},
        ),
        ("Unsupported parameter: temperature", {"max_tokens": 5, "stream_options": {}}),
    ],
)
def test_a_named_field_is_left_out_for_that_model(
    refusal: str, adapted: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    dialect = Dialect()
    caplog.set_level(logging.INFO, logger="openjarvis.engine")

    assert dialect.learns_from(refusal, BODY)

    assert dialect.adapted(BODY) == {"model": "m", "messages": [], **adapted}
    assert dialect.adapted({**BODY, "model": "other"}) == {**BODY, "model": "other"}
    assert "left out" in caplog.text


@pytest.mark.parametrize(
    "refusal",
    [
        "",
        "the tools need a schema",
        "max_tokens is too large: at most 4096",
        "temperature must be between 0 and 2",
        "reasoning_content is not allowed",
    ],
)
def test_another_refusal_teaches_nothing(refusal: str) -> None:
    dialect = Dialect()

    assert not dialect.learns_from(refusal, BODY)
    assert dialect.adapted(BODY) == BODY


def test_refused_reasoning_is_left_out_of_the_messages() -> None:
    dialect = Dialect()
    spoken = {"role": "assistant", "content": "Hm."}
    body = {"model": "m", "messages": [{**spoken, "reasoning_content": "…"}]}

    assert dialect.learns_from("reasoning_content is not allowed", body)

    assert dialect.adapted(body) == {"model": "m", "messages": [spoken]}
    assert body["messages"][0]["reasoning_content"] == "…"


def test_a_field_is_learned_from_once() -> None:
    dialect = Dialect()
    refusal = "stream_options is unknown"

    assert dialect.learns_from(refusal, BODY)
    assert dialect.learns_from(refusal, BODY)  # another thread's request, sent before
    assert not dialect.learns_from(refusal, dialect.adapted(BODY))
