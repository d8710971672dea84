"""Who decides about a call, what they are shown, and what a refusal leaves behind."""

import asyncio
import io
import os
import select
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.approval import Denied, ToolCallRequest
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.policy import Terminal, policy
from openjarvis.execution.record import CallRecord, Outcome
from openjarvis.execution.trip import Run
from openjarvis.toolkit.function import FunctionTool, tool

Perform = Callable[[ToolExecutor, ToolCall], tuple[ToolResult, CallRecord]]


def sync_driver(executor: ToolExecutor, call: ToolCall) -> tuple[ToolResult, CallRecord]:
    return executor.perform(call, Run(context="me"))


def async_driver(executor: ToolExecutor, call: ToolCall) -> tuple[ToolResult, CallRecord]:
    return asyncio.run(executor.aperform(call, Run(context="me")))


both_drivers = pytest.mark.parametrize("perform", [sync_driver, async_driver])


def refund_tool(ran: list[Any], *, is_async: bool = False, **spec: Any) -> FunctionTool:
    if is_async:

        @tool("refund", "Pay money back.", **spec)
        async def refund(order: str, amount: float = 500.0) -> str:
            ran.append((order, amount))
            return "paid"
    else:

        @tool("refund", "Pay money back.", **spec)
        def refund(order: str, amount: float = 500.0) -> str:
            ran.append((order, amount))
            return "paid"

    return refund


REFUND = ToolCall("c7", "refund", '{"order": "A7", "amount": "20"}')


class AsyncApprover:
    """An object whose call is async."""

    def __init__(self, decision: Any) -> None:
        self._decision = decision

    async def __call__(self, request: ToolCallRequest) -> Any:
        return self._decision


async def allow_async(request: ToolCallRequest) -> bool:
    await asyncio.sleep(0)
    return True


@both_drivers
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "approve",
    [
        lambda request: None,
        lambda request: True,
        allow_async,
        AsyncApprover(None),
        lambda request: allow_async(request),
        policy(),
    ],
)
def test_none_and_true_allow(perform: Perform, is_async: bool, approve: Any) -> None:
    ran: list[Any] = []
    executor = ToolExecutor([refund_tool(ran, is_async=is_async)], approve=approve)

    result, record = perform(executor, REFUND)

    assert ran == [("A7", 20.0)]
    assert record.outcome is Outcome.RAN
    assert result.content == "paid"


def raises(error: BaseException) -> Callable[[ToolCallRequest], Any]:
    def approve(request: ToolCallRequest) -> Any:
        raise error

    return approve


async def deny_async(request: ToolCallRequest) -> Denied:
    return Denied("not today")


async def raise_async(request: ToolCallRequest) -> None:
    raise Denied("not today")


@both_drivers
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("approve", "reason"),
    [
        (lambda request: False, "not approved"),
        (lambda request: Denied("not today"), "not today"),
        (raises(Denied("not today")), "not today"),
        (deny_async, "not today"),
        (raise_async, "not today"),
        (AsyncApprover(False), "not approved"),
        (raises(RuntimeError("db down")), "the approver failed (RuntimeError)"),
        (raises(SystemExit(1)), "the approver failed (SystemExit)"),
        (lambda request: "yes", "the approver gave no decision"),
        (lambda request: 1, "the approver gave no decision"),
        (lambda: True, "the approver failed (TypeError)"),
    ],
)
def test_everything_else_denies_and_the_handler_is_never_called(
    perform: Perform, is_async: bool, approve: Any, reason: str
) -> None:
    ran: list[Any] = []
    executor = ToolExecutor([refund_tool(ran, is_async=is_async)], approve=approve)

    result, record = perform(executor, REFUND)

    assert ran == []
    assert not result.success
    assert result.content == f"The call to refund was denied and did not run: {reason}"
    assert record.outcome is Outcome.DENIED
    assert record.output == result.content
    assert record.arguments == {"order": "A7", "amount": 20}


@both_drivers
def test_code_and_status_of_a_refusal_are_kept(perform: Perform) -> None:
    refusal = Denied("a person must", code="NEEDS_HUMAN", status=403)
    executor = ToolExecutor([refund_tool([])], approve=lambda request: refusal)

    result, _ = perform(executor, REFUND)

    assert result.metadata == {"denied": {"code": "NEEDS_HUMAN", "status": 403}}


@both_drivers
@pytest.mark.parametrize("is_async", [False, True])
def test_an_approver_that_hangs_denies(perform: Perform, is_async: bool) -> None:
    release = threading.Event()
    ran: list[Any] = []

    def hang(request: ToolCallRequest) -> bool:
        release.wait(60)
        return True

    executor = ToolExecutor(
        [refund_tool(ran, is_async=is_async)], approve=hang, approve_timeout=0.05
    )

    result, record = perform(executor, REFUND)
    release.set()

    assert "no decision came within 0.05 s" in result.content
    assert record.outcome is Outcome.DENIED


def test_a_decision_that_comes_too_late_starts_nothing() -> None:
    release, started = threading.Event(), threading.Event()

    @tool("refund", "")
    def refund(order: str, amount: float) -> None:
        started.set()

    def late(request: ToolCallRequest) -> bool:
        return release.wait(60)

    executor = ToolExecutor([refund], approve=late, approve_timeout=0.05)
    run = Run()

    executor.perform(REFUND, run)
    release.set()

    assert not started.wait(0.2)
    assert [record.outcome for record in run.records] == [Outcome.DENIED]


@both_drivers
def test_an_async_approver_that_hangs_denies(perform: Perform) -> None:
    async def hang(request: ToolCallRequest) -> None:
        await asyncio.sleep(60)

    executor = ToolExecutor([refund_tool([])], approve=hang, approve_timeout=0.05)

    assert "no decision came within 0.05 s" in perform(executor, REFUND)[0].content


@both_drivers
def test_the_time_a_person_takes_is_not_the_tools(perform: Perform) -> None:
    asked = threading.Event()

    def slow(request: ToolCallRequest) -> bool:
        asked.wait(0.3)
        return True

    executor = ToolExecutor([refund_tool([], timeout_seconds=0.1)], approve=slow)

    assert perform(executor, REFUND)[0].content == "paid"


@both_drivers
def test_the_approver_is_shown_exactly_what_will_run(perform: Perform) -> None:
    seen: list[ToolCallRequest] = []
    executor = ToolExecutor([refund_tool([])], approve=lambda request: seen.append(request))

    perform(executor, REFUND)

    (request,) = seen
    assert (request.call_id, request.name, request.step) == ("c7", "refund", 1)
    assert request.arguments == {"order": "A7", "amount": 20}
    assert request.raw == REFUND.arguments
    assert request.context == "me"
    assert request.spec.name == "refund"


@both_drivers
def test_what_the_approver_changes_does_not_run(perform: Perform) -> None:
    got: list[Any] = []

    @tool
    def pay(orders: list[dict[str, int]]) -> str:
        got.append(orders)
        return "paid"

    def meddle(request: ToolCallRequest) -> None:
        request.arguments["orders"][0]["amount"] = 10**6
        request.arguments["orders"].append({"amount": 1})

    perform(
        ToolExecutor([pay], approve=meddle), ToolCall("1", "pay", '{"orders": [{"amount": 5}]}')
    )

    assert got == [[{"amount": 5}]]


@both_drivers
@pytest.mark.parametrize("call", [ToolCall("1", "x", "{}"), ToolCall("1", "refund", "{")])
def test_nobody_is_asked_about_a_call_that_could_not_run(perform: Perform, call: ToolCall) -> None:
    asked: list[Any] = []

    perform(ToolExecutor([refund_tool([])], approve=lambda request: asked.append(request)), call)

    assert asked == []


def test_a_value_that_is_of_no_use_is_refused_before_anybody_is_asked() -> None:
    import datetime

    asked: list[Any] = []

    @tool
    def book(day: datetime.date) -> str:
        return day.isoformat()

    executor = ToolExecutor([book], approve=lambda request: asked.append(request))

    result = executor.execute(ToolCall("1", "book", '{"day": "the day after"}'))

    assert "'day'" in result.content
    assert asked == []


# Tools that need a confirmation.


@both_drivers
def test_without_an_approver_a_tool_that_needs_a_confirmation_is_denied(perform: Perform) -> None:
    ran: list[Any] = []
    executor = ToolExecutor([refund_tool(ran, requires_confirmation=True)])

    result, record = perform(executor, REFUND)

    assert ran == []
    assert "needs an approval, and nobody is there to give it" in result.content
    assert record.outcome is Outcome.DENIED


@both_drivers
@pytest.mark.parametrize(
    ("answer", "outcome"), [(True, "ran"), (False, "denied"), (None, "denied")]
)
def test_a_confirm_callback_is_asked_when_interactive(
    perform: Perform, answer: Any, outcome: str
) -> None:
    questions: list[str] = []

    def confirm(question: str) -> Any:
        questions.append(question)
        return answer

    executor = ToolExecutor(
        [refund_tool([], requires_confirmation=True)], interactive=True, confirm_callback=confirm
    )

    assert perform(executor, REFUND)[1].outcome == outcome
    assert "refund" in questions[0]
    assert "A7" in questions[0]


def test_a_confirm_callback_counts_only_when_interactive() -> None:
    executor = ToolExecutor(
        [refund_tool([], requires_confirmation=True)], confirm_callback=lambda question: True
    )

    assert not executor.execute(REFUND).success


def test_interactive_without_a_terminal_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    executor = ToolExecutor([refund_tool([], requires_confirmation=True)], interactive=True)

    assert "there is no terminal to ask on" in executor.execute(REFUND).content


# Policies.


@pytest.mark.parametrize(
    ("rules", "spec", "outcome"),
    [
        ({}, {}, "ran"),
        ({"deny": ["refund"]}, {}, "denied"),
        ({"deny": ["ref*"]}, {}, "denied"),
        ({"deny": ["delete_*"]}, {}, "ran"),
        ({"allow": ["refund"]}, {}, "ran"),
        ({"allow": ["status"]}, {}, "denied"),
        ({"allow": ["*"], "deny": ["refund"]}, {}, "denied"),
        ({"allow_read_only": True}, {"read_only": True}, "ran"),
        ({"allow_read_only": True}, {}, "denied"),
        ({"allow_read_only": True, "otherwise": "allow"}, {}, "ran"),
        ({"limits": {"refund.amount": 20}}, {}, "ran"),
        ({"limits": {"refund.amount": 19.99}}, {}, "denied"),
        ({"limits": {"*.amount": 5}}, {}, "denied"),
        ({"limits": {"refund.order": lambda order: order.startswith("A")}}, {}, "ran"),
        ({"limits": {"refund.order": lambda order: 1 / 0}}, {}, "denied"),
        ({"limits": {"refund.order": 5}}, {}, "denied"),
        ({"limits": {"refund.amount": 5}, "allow": ["refund"]}, {}, "denied"),
        ({"otherwise": "deny", "only_confirmations": True}, {}, "ran"),
        ({}, {"requires_confirmation": True}, "denied"),
        ({"deny": ["other"]}, {"requires_confirmation": True}, "denied"),
        ({"limits": {"refund.amount": 100}}, {"requires_confirmation": True}, "denied"),
        ({"allow": ["refund"]}, {"requires_confirmation": True}, "ran"),
        ({"otherwise": "allow"}, {"requires_confirmation": True}, "ran"),
        ({"limits": {"refund.amout": 100}}, {}, "denied"),
        ({"limits": {"*.weight": 100}}, {}, "ran"),
        (
            {"otherwise": "deny", "only_confirmations": True},
            {"requires_confirmation": True},
            "denied",
        ),
    ],
)
@both_drivers
def test_a_policy_decides_by_its_rules(
    perform: Perform, rules: dict[str, Any], spec: dict[str, Any], outcome: str
) -> None:
    executor = ToolExecutor([refund_tool([], **spec)], approve=policy(**rules))

    assert perform(executor, REFUND)[1].outcome == outcome


def test_a_limit_holds_for_an_argument_that_was_left_to_its_default() -> None:
    executor = ToolExecutor([refund_tool([])], approve=policy(limits={"refund.amount": 100}))

    result = executor.execute(ToolCall("1", "refund", '{"order": "A7"}'))

    assert "amount=500.0 is over the limit of 100" in result.content


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"otherwise": "maybe"}, "'allow', 'deny' or 'ask'"),
        ({"limits": {"amount": 1}}, "amount"),
        ({"limits": {"refund.amount": "1"}}, "a number or a function"),
        ({"limits": {"refund.amount": True}}, "a number or a function"),
        ({"deny": "refund"}, "a list of names"),
        ({"allow": "*"}, "a list of names"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(rules: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        policy(**rules)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def request(name: str = "refund") -> ToolCallRequest:
    spec = refund_tool([]).spec
    return ToolCallRequest("1", name, {"order": "A7\x1b[2J"}, "{}", spec)


@pytest.mark.parametrize(
    ("typed", "refusal"),
    [
        ("y\n", None),
        ("yes\n", None),
        ("n\n", "the user said no"),
        ("no, too much\n", "too much"),
        ("n too much money\n", "too much money"),
        ("\n\n\n", "the user gave no answer"),
        ("\ny\n", None),
        ("yes, if it is cheap\n", "the user gave no answer"),
        ("", "the user gave no answer"),
        ("y", "the user gave no answer"),
        ("maybe\nperhaps\nwell\ny\n", "the user gave no answer"),
    ],
)
def test_a_person_at_the_terminal_decides(typed: str, refusal: str | None) -> None:
    shown = io.StringIO()

    decision = Terminal(FakeTerminal(typed), shown).ask(request())

    assert (str(decision) if decision is not None else None) == refusal
    assert "refund wants to run" in shown.getvalue()
    assert "\x1b" not in shown.getvalue()


def test_the_end_of_input_is_not_asked_again() -> None:
    shown = io.StringIO()

    Terminal(FakeTerminal(""), shown).ask(request())

    assert shown.getvalue().count("Allow?") == 1


@pytest.mark.parametrize(
    "hidden",
    ["\U000e0148\U000e0149", "a\ufe0f", "\u2764\ufe0f\ufe0f", "\u034f", "\u17b5", "\u200b"],
)
def test_a_person_sees_what_shows_as_nothing(hidden: str) -> None:
    shown = io.StringIO()
    call = ToolCallRequest("1", "refund", {"order": f"A7{hidden}"}, "{}", refund_tool([]).spec)

    Terminal(FakeTerminal("y\n"), shown).ask(call)

    assert hidden[-1].encode("unicode_escape").decode() in shown.getvalue()


def test_a_person_sees_emoji_and_letters_as_they_are() -> None:
    shown, text = io.StringIO(), "\u2764\ufe0f \u0e19\u0e49\u0e33 \u8449"
    call = ToolCallRequest("1", "refund", {"order": text}, "{}", refund_tool([]).spec)

    Terminal(FakeTerminal("y\n"), shown).ask(call)

    assert text in shown.getvalue()


def test_arguments_cannot_push_anything_out_of_sight() -> None:
    shown, hidden = io.StringIO(), {"order": "A7" + " " * 3000 + "\u3164" * 40 + "\u2800all"}

    Terminal(FakeTerminal("n\n"), shown).ask(request()._replace(arguments=hidden))

    assert "A7[3000 blanks]\\u3164" in shown.getvalue()
    assert "\\u2800all" in shown.getvalue()


class Asked(io.StringIO):
    """What is shown; once the first question is, the person types."""

    def __init__(self, typed: bytes, keyboard: int) -> None:
        super().__init__()
        self._typed = typed
        self._keyboard = keyboard

    def flush(self) -> None:
        typed, self._typed = self._typed, b""
        os.write(self._keyboard, typed)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("before", [b"y\n", b"a\n", b"some text\nyes\n"])
def test_what_was_typed_before_the_question_answers_nothing(before: bytes) -> None:
    keyboard, screen = os.openpty()
    with os.fdopen(screen, encoding="utf-8") as source:
        os.write(keyboard, before)
        assert select.select([source], [], [], 10)[0]

        decision = Terminal(source, Asked(b"no, not yet\n", keyboard)).ask(request())

    os.close(keyboard)
    assert isinstance(decision, Denied)
    assert str(decision) == "not yet"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_paste_longer_than_the_terminal_holds_answers_nothing() -> None:
    keyboard, screen = os.openpty()
    paste = threading.Thread(target=lambda: os.write(keyboard, b"y\n" * 50_000), daemon=True)
    with os.fdopen(screen, encoding="utf-8") as source:
        paste.start()
        assert select.select([source], [], [], 10)[0]

        decision = Terminal(source, Asked(b"no, not yet\n", keyboard)).ask(request())

    os.close(keyboard)
    assert str(decision) == "not yet"


def test_a_person_sees_all_that_would_run_or_is_not_asked() -> None:
    shown = io.StringIO()
    spec = refund_tool([]).spec
    long = ToolCallRequest("1", "refund", {"order": "a" * 4_000 + "; rm -rf /"}, "{}", spec)
    longer = ToolCallRequest("1", "refund", {"order": "a" * 9_000}, "{}", spec)

    allowed = Terminal(FakeTerminal("y\n"), shown).ask(long)
    denied = Terminal(FakeTerminal("y\n"), shown).ask(longer)

    assert allowed is None
    assert "; rm -rf /" in shown.getvalue()
    assert "more than a person is asked about" in str(denied)


def test_an_approver_that_cannot_be_called_is_refused_at_the_start() -> None:
    with pytest.raises(TypeError, match="approve='auto': expected a callable"):
        ToolExecutor([refund_tool([])], approve="auto")  # type: ignore[arg-type]


def test_always_holds_for_that_tool_alone() -> None:
    terminal = Terminal(FakeTerminal("a\nn\n"), io.StringIO())

    decisions = [terminal.ask(request()), terminal.ask(request()), terminal.ask(request("other"))]

    assert decisions[:2] == [None, None]
    assert isinstance(decisions[2], Denied)
