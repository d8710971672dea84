import pytest

from openjarvis.core.errors import LLMError, LLMErrorCode, invalid_request, nearest


def test_the_codes_are_the_words_that_callers_match_on() -> None:
    assert {str(code) for code in LLMErrorCode} == {
        "LLM_INVALID_REQUEST",
        "LLM_REQUEST_REJECTED",
        "LLM_UNAUTHORIZED",
        "LLM_RATE_LIMITED",
        "LLM_UNAVAILABLE",
    }


def test_an_error_carries_what_a_caller_acts_on() -> None:
    error = LLMError("LLM_RATE_LIMITED", "Slow down.", 429, True, retry_after=2.5)

    assert error.code is LLMErrorCode.RATE_LIMITED
    assert (error.message, error.status, error.retryable) == ("Slow down.", 429, True)
    assert error.retry_after == 2.5
    assert error.response is None


def test_an_error_reads_as_its_code_and_its_message() -> None:
    assert str(LLMError(LLMErrorCode.UNAVAILABLE, "No route.")) == "LLM_UNAVAILABLE: No route."


def test_an_error_is_not_retryable_unless_said() -> None:
    error = LLMError(LLMErrorCode.UNAVAILABLE, "No route.")

    assert (error.retryable, error.retry_after) == (False, None)


def test_a_code_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="LLM_ODD"):
        LLMError("LLM_ODD", "?")


def test_a_request_that_we_refuse_ourselves_is_a_400_and_final() -> None:
    error = invalid_request("max_steps must be at least 1.")

    assert (error.code, error.status, error.retryable) == ("LLM_INVALID_REQUEST", 400, False)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("calculater", "calculator"),
        ("CALCULATOR", "calculator"),
        ("web-search", "Web_Search"),
        ("xyzzy", None),
        ("", None),
        ("calculator" * 2_000, None),
    ],
)
def test_the_nearest_name_is_the_one_that_was_probably_meant(name: str, near: str | None) -> None:
    assert nearest(name, ["calculator", "Web_Search", "think"]) == near


@pytest.mark.parametrize(
    ("name", "known", "is_near"),
    [
        ("calculatr", "calculator", True),
        ("ofline", "offline", True),
        ("cty", "city", True),
        ("simpel", "simple", True),
        ("aks", "ask", True),
        ("nope", "openai", False),
        ("all", "llm", False),
    ],
)
def test_only_a_slip_of_the_pen_is_near(name: str, known: str, is_near: bool) -> None:
    assert (nearest(name, [known]) == known) is is_near


def test_nothing_is_near_where_nothing_is_known() -> None:
    assert nearest("calculator", []) is None
