"""The log line of a call, and what is kept out of it."""

import logging

import pytest

from openjarvis.core.errors import ToolError
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.toolkit.function import tool
from spellings import typed_function

CALL = ToolCall("1", "work", '{"number": 3}')


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "openjarvis.tools"]


def failing(text: str) -> ToolExecutor:
    def body(number: int) -> None:
        raise RuntimeError(text)

    return ToolExecutor([typed_function(body)])


@pytest.mark.parametrize(
    ("executor", "call", "message", "level"),
    [
        (ToolExecutor([typed_function(str)]), CALL, "llm tool ran work", logging.DEBUG),
        (
            ToolExecutor([typed_function(str)], approve=lambda request: False),
            CALL,
            "llm tool denied work",
            logging.WARNING,
        ),
        (failing("x"), CALL, "llm tool failed work", logging.WARNING),
        (
            ToolExecutor([]),
            ToolCall("1", "nope", "{}"),
            "llm tool unknown_tool nope",
            logging.WARNING,
        ),
    ],
)
def test_one_line_a_call(
    executor: ToolExecutor,
    call: ToolCall,
    message: str,
    level: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    executor.execute(call)

    (line,) = lines(caplog)
    assert line.getMessage().startswith(message)
    assert line.levelno == level
    assert f"tool={call.name} outcome={message.split()[2]}" in line.getMessage()
    assert "input=" not in line.getMessage()
    assert "output=" not in line.getMessage()


def test_what_the_model_wrote_and_got_is_logged_only_on_demand(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    executor = ToolExecutor([typed_function(lambda number: "row of a database")])

    monkeypatch.setenv("AI_LOG_PROMPT", "1")
    executor.execute(CALL)
    monkeypatch.delenv("AI_LOG_PROMPT")
    monkeypatch.setenv("AI_LOG_COMPLETION", "1")
    executor.execute(CALL)

    first, second = (line.getMessage() for line in lines(caplog))
    assert 'input={"number": 3}' in first
    assert "output=" not in first
    assert "output=row of a database" in second
    assert "input=" not in second


def test_a_name_with_control_characters_cannot_forge_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ToolExecutor([]).execute(ToolCall("1", "x\nllm tool ran pay\x1b[2J", "{}"))

    (line,) = lines(caplog)
    assert "\n" not in line.getMessage()
    assert "\x1b" not in line.getMessage()


SECRETS = [
    "postgresql://admin:hunter22@db/x",
    "password=hunter22",
    "Authorization: Bearer hunter22hunter22",
    "key sk-hunter22hunter22hunter22",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_in_an_exception_reach_neither_model_nor_log(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    result = failing(f"cannot connect: {text}").execute(CALL)

    assert result.content.startswith("RuntimeError: cannot connect: ")
    assert "hunter22" not in result.content
    assert "hunter22" not in caplog.text


def test_no_exception_steers_the_terminal_that_shows_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    failing("\x1b[2J gone \x9b2J").execute(CALL)

    assert "\\x1b[2J gone \\x9b2J" in caplog.text
    assert not set("\x1b\x9b") & set(caplog.text)


def test_the_value_of_a_secret_variable_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAYMENT_API_KEY", "opensesame99")

    result = failing("401 for opensesame99").execute(CALL)

    assert result.content == "RuntimeError: 401 for [secret]"


def test_masked_errors_leave_the_type_and_a_reference_that_the_log_knows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def body(number: int) -> None:
        raise RuntimeError("inner detail")

    executor = ToolExecutor([typed_function(body)], mask_errors=True)

    content = executor.execute(CALL).content

    assert content.startswith("RuntimeError (reference ")
    reference = content.split()[-1].strip(")")
    assert "inner detail" not in content
    assert any(
        reference in line.getMessage() and "inner detail" in line.getMessage()
        for line in caplog.records
    )


def test_a_tool_errors_words_are_for_the_model_even_then() -> None:
    @tool
    def work(number: int) -> None:
        raise ToolError("The order 3 does not exist.")

    executor = ToolExecutor([work], mask_errors=True)

    assert executor.execute(CALL).content == "The order 3 does not exist."
