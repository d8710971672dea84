"""The loop: what the model is sent, what runs, what comes back, and where it ends."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from openjarvis import llm
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.execution.record import Detail
from openjarvis.llm import FinishReason, LLMError, LLMErrorCode, Outcome
from openjarvis.testing import ScriptedEngine, calls, calls_raw, says

Generate = Callable[..., llm.Response]


def generate(**request: Any) -> llm.Response:
    return llm.generate(**request)


def agenerate(**request: Any) -> llm.Response:
    return asyncio.run(llm.agenerate(**request))


def stream(**request: Any) -> llm.Response:
    with llm.stream(**request) as running:
        for _ in running:
            pass
        return running.response


def astream(**request: Any) -> llm.Response:
    async def read() -> llm.Response:
        async with llm.astream(**request) as running:
            async for _ in running:
                pass
            return running.response

    return asyncio.run(read())


every_driver = pytest.mark.parametrize("run", [generate, agenerate, stream, astream])


@llm.tool("get_order_status", "Show where an order is.")
def get_order_status(order_id: str) -> str:
    return f"{order_id} is on its way"


@every_driver
def test_a_model_calls_a_tool_and_answers(run: Generate) -> None:
    engine = ScriptedEngine([calls("get_order_status", order_id="TH-1042"), says("On its way.")])

    response = run(
        system="Be brief.",
        messages=[llm.user("Where is TH-1042?")],
        tools=[get_order_status],
        max_steps=5,
        engine=engine,
        model="m1",
    )

    engine.assert_exhausted()
    assert response.text == "On its way."
    assert response.steps == 2
    assert response.finish_reason is FinishReason.STOP
    assert [
        (record.name, record.outcome, record.output, record.step) for record in response.tool_calls
    ] == [("get_order_status", Outcome.RAN, "TH-1042 is on its way", 1)]
    assert response.usage == {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}
    first, second = engine.requests
    assert first.model == "m1"
    assert [(message.role, message.text) for message in first.messages] == [
        (Role.SYSTEM, "Be brief."),
        (Role.USER, "Where is TH-1042?"),
    ]
    assert first.tools == [get_order_status.to_openai_function()]
    assert [message.role for message in second.messages[2:]] == [Role.ASSISTANT, Role.TOOL]
    assert second.messages[3].text == "TH-1042 is on its way"
    assert second.messages[3].tool_call_id == second.messages[2].tool_calls[0].id  # type: ignore[index]


@every_driver
def test_without_tools_the_engine_gets_no_tools_at_all(run: Generate) -> None:
    engine = ScriptedEngine([says("Hi.")])

    run(messages=[llm.user("Hello")], engine=engine)

    assert engine.requests[0].tools is None
    assert "tools" not in engine.requests[0].options


# Never a loop without a ceiling.


@every_driver
def test_without_max_steps_there_is_no_loop(run: Generate) -> None:
    ran: list[str] = []

    @llm.tool
    def act(what: str) -> str:
        ran.append(what)
        return "done"

    engine = ScriptedEngine([[says("I will."), calls("act", what="a"), calls("act", what="b")]])

    response = run(messages=[llm.user("Go")], tools=[act], engine=engine)

    assert ran == []
    assert response.finish_reason is FinishReason.TOOL_USE
    assert [record.outcome for record in response.tool_calls] == [Outcome.NOT_RUN] * 2
    assert [record.input for record in response.tool_calls] == ['{"what": "a"}', '{"what": "b"}']
    assert response.steps == 1


@every_driver
def test_when_the_steps_are_used_up_the_last_calls_have_not_run(run: Generate) -> None:
    engine = ScriptedEngine([calls("get_order_status", order_id=str(n)) for n in range(3)])

    response = run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=3, engine=engine)

    engine.assert_exhausted()
    assert response.finish_reason is FinishReason.TOOL_USE
    assert response.steps == 3
    assert [record.outcome for record in response.tool_calls] == [
        Outcome.RAN,
        Outcome.RAN,
        Outcome.NOT_RUN,
    ]


@every_driver
def test_a_refused_call_never_runs_and_the_model_learns_why(run: Generate) -> None:
    refunds: list[str] = []

    @llm.tool
    def refund(order: str) -> str:
        refunds.append(order)
        return "paid"

    engine = ScriptedEngine([calls("refund", order="A7"), says("A person must do that.")])

    response = run(
        messages=[llm.user("Refund A7")],
        engine=engine,
        tools=[refund],
        max_steps=2,
        approve=lambda request: llm.Denied("needs a person", code="NEEDS_HUMAN"),
    )

    assert refunds == []
    assert [record.outcome for record in response.tool_calls] == [Outcome.DENIED]
    assert "needs a person" in response.tool_calls[0].output
    assert engine.requests[1].messages[-1].text == response.tool_calls[0].output
    assert response.text == "A person must do that."


@every_driver
@pytest.mark.parametrize(
    ("turn", "outcome"),
    [
        (calls("nope"), Outcome.UNKNOWN_TOOL),
        (calls_raw("get_order_status", '{"order_id": "TH'), Outcome.FAILED),
        (calls("get_order_status", order=1), Outcome.FAILED),
        (calls_raw("", "{}"), Outcome.UNKNOWN_TOOL),
        (calls_raw("x" * 10_000, "{}"), Outcome.UNKNOWN_TOOL),
    ],
)
def test_a_call_that_cannot_run_is_answered_and_the_run_goes_on(
    run: Generate, turn: Any, outcome: Outcome
) -> None:
    engine = ScriptedEngine([turn, says("Sorry.")])

    response = run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=2, engine=engine)

    assert response.text == "Sorry."
    assert [record.outcome for record in response.tool_calls] == [outcome]


@every_driver
def test_calls_of_one_step_run_in_parallel_and_answer_in_the_providers_order(run: Generate) -> None:
    everyone = threading.Barrier(3, timeout=30)

    @llm.tool
    def meet(name: str) -> str:
        everyone.wait()
        if name == "b":
            raise ValueError("no")
        return name

    engine = ScriptedEngine([[calls("meet", name=name) for name in "abc"], says("ok")])

    response = run(messages=[llm.user("Go")], tools=[meet], max_steps=2, engine=engine)

    assert [record.output for record in response.tool_calls] == ["a", "ValueError: no", "c"]
    assert [message.text for message in engine.requests[1].messages[-3:]] == [
        "a",
        "ValueError: no",
        "c",
    ]


@every_driver
def test_the_context_object_reaches_tools_and_the_approver(run: Generate) -> None:
    user, seen = object(), []

    @llm.tool
    def who(context: llm.ToolContext) -> str:
        seen.append(context.context)
        return "ok"

    def approve(request: llm.ToolCallRequest) -> None:
        seen.append(request.context)

    run(
        messages=[llm.user("Go")],
        tools=[who],
        max_steps=2,
        engine=ScriptedEngine([calls("who"), says("ok")]),
        approve=approve,
        context=user,
    )

    assert seen == [user, user]


@every_driver
def test_the_step_of_each_call_is_told(run: Generate) -> None:
    steps: list[int] = []
    engine = ScriptedEngine(
        [calls("get_order_status", order_id=str(n)) for n in range(2)] + [says("")]
    )

    response = run(
        messages=[llm.user("Go")],
        tools=[get_order_status],
        max_steps=5,
        engine=engine,
        approve=lambda request: steps.append(request.step),
    )

    assert steps == [1, 2]
    assert [record.step for record in response.tool_calls] == [1, 2]


@every_driver
def test_a_model_that_repeats_itself_is_told_so(run: Generate) -> None:
    engine = ScriptedEngine([calls("get_order_status", order_id="A")] * 4 + [says("stuck")])

    response = run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=9, engine=engine)

    assert [record.detail for record in response.tool_calls] == [None, None, None, "repeated"]


@every_driver
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("banana", FinishReason.STOP),
    ],
)
def test_how_the_model_stopped_is_told(run: Generate, said: str, reason: FinishReason) -> None:
    engine = ScriptedEngine([says("half an ans", finish_reason=said)])

    response = run(messages=[llm.user("Go")], engine=engine)

    assert (response.text, response.finish_reason) == ("half an ans", reason)


@every_driver
def test_what_a_filter_stopped_does_not_run(run: Generate) -> None:
    turn = [says("", finish_reason="content_filter"), calls("get_order_status", order_id="A")]
    engine = ScriptedEngine([turn])

    response = run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=5, engine=engine)

    assert response.finish_reason is FinishReason.CONTENT_FILTER
    assert [record.outcome for record in response.tool_calls] == [Outcome.NOT_RUN]


# Before a token is spent.


class Unused(ScriptedEngine):
    def generate(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a token was spent")


@llm.tool("get_order_status", "The same name.")
def twin(order_id: str) -> str:
    return ""


@every_driver
@pytest.mark.parametrize(
    ("request_part", "words"),
    [
        ({"max_steps": 0}, "max_steps=0"),
        ({"max_steps": -1}, "max_steps=-1"),
        ({"max_steps": True}, "max_steps=True"),
        ({"max_steps": 2.0}, "max_steps=2.0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"temperature": 3}, "temperature=3"),
        ({"temperature": "hot"}, "temperature='hot'"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [llm.system("only this")]}, "messages is empty"),
        ({"messages": ["hello"]}, "messages[0] is str"),
        ({"messages": [{"role": "user"}]}, "messages[0] is dict"),
        ({"messages": [llm.user("x"), llm.tool_result("c9", "y")]}, "c9"),
        ({"tools": [get_order_status, twin]}, "Two tools are named 'get_order_status'"),
        ({"tools": [42]}, "is no tool"),
        ({"approve": "auto"}, "approve='auto': expected a callable"),
        ({"engine": "offline"}, "engine='offline' is no engine"),
        ({"tools": 42}, "tools must be a list"),
        ({"tools": [llm.FunctionTool]}, "is a class; give an instance"),
        (
            {"tools": [llm.ProviderTool("search", "google.google_search")]},
            "'scripted' does not know the provider tool 'google.google_search'",
        ),
    ],
)
def test_a_request_that_is_wrong_is_refused_before_a_token_is_spent(
    run: Generate, request_part: dict[str, Any], words: str
) -> None:
    with pytest.raises(LLMError) as caught:
        run(**{"messages": [llm.user("Go")], "engine": Unused(), **request_part})

    assert caught.value.code is LLMErrorCode.INVALID_REQUEST
    assert caught.value.code == "LLM_INVALID_REQUEST"
    assert (caught.value.status, caught.value.retryable) == (400, False)
    assert words in caught.value.message


def test_a_misspelt_keyword_is_no_option_of_the_engines() -> None:
    with pytest.raises(TypeError, match="max_step"):
        llm.generate(messages=[llm.user("Go")], engine=Unused(), max_step=3)  # type: ignore[call-arg]


def test_a_known_provider_tool_is_handed_to_the_engine() -> None:
    search = llm.ProviderTool("search", "google.google_search")
    engine = ScriptedEngine([says("ok")], provider_types=["google.google_search"])

    llm.generate(messages=[llm.user("Go")], tools=[search], engine=engine)

    assert engine.requests[0].options["provider_tools"] == [search]
    assert engine.requests[0].tools is None


def test_giving_a_provider_tool_a_function_says_that_the_provider_runs_it() -> None:
    with pytest.raises(LLMError, match="The provider runs the tool 'search'") as caught:
        llm.ProviderTool("search", "google.google_search", execute=lambda: None)

    assert caught.value.code is LLMErrorCode.INVALID_REQUEST


# Errors and interruptions keep what was gathered.


@every_driver
def test_an_engine_that_fails_later_loses_no_call_that_ran(run: Generate) -> None:
    failure = LLMError(LLMErrorCode.UNAVAILABLE, "gone", 503, retryable=True)
    engine = ScriptedEngine([calls("get_order_status", order_id="A"), failure, says("Back.")])

    with pytest.raises(LLMError) as caught:
        run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=5, engine=engine)

    gathered = caught.value.response
    assert [record.outcome for record in gathered.tool_calls] == [Outcome.RAN]
    response = run(messages=gathered.messages, tools=[get_order_status], engine=engine)
    assert response.text == "Back."


def test_ctrl_c_in_a_tool_leaves_a_history_that_can_be_sent_again() -> None:
    import _thread

    @llm.tool
    def stop() -> None:
        _thread.interrupt_main()
        threading.Event().wait(0.5)

    engine = ScriptedEngine([[calls("stop"), calls("get_order_status", order_id="A")], says("ok")])

    with pytest.raises(KeyboardInterrupt) as caught:
        llm.generate(
            messages=[llm.user("Go")], tools=[stop, get_order_status], max_steps=5, engine=engine
        )

    gathered = caught.value.response  # type: ignore[attr-defined]
    assert len(gathered.tool_calls) == 2
    assert_sendable(gathered.messages)
    assert llm.generate(messages=gathered.messages, engine=engine).text == "ok"


def test_a_cancelled_run_leaves_a_history_that_can_be_sent_again() -> None:
    async def scenario() -> llm.Response:
        started = asyncio.Event()

        @llm.tool
        async def slow() -> None:
            started.set()
            await asyncio.sleep(60)

        engine = ScriptedEngine([calls("slow")])
        task = asyncio.create_task(
            llm.agenerate(messages=[llm.user("Go")], tools=[slow], max_steps=2, engine=engine)
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        response: llm.Response = caught.value.response  # type: ignore[attr-defined]
        return response

    response = asyncio.run(scenario())

    assert [record.detail for record in response.tool_calls] == ["interrupted"]
    assert_sendable(response.messages)


def assert_sendable(messages: list[Message]) -> None:
    open_calls: list[str] = []
    for message in messages:
        if message.role is Role.TOOL:
            assert message.tool_call_id == open_calls.pop(0)
            continue
        assert open_calls == []
        open_calls = [call.id for call in message.tool_calls or ()]
    assert open_calls == []


# History.


@every_driver
def test_the_messages_of_a_response_are_ready_for_the_next_turn(run: Generate) -> None:
    engine = ScriptedEngine([calls("get_order_status", order_id="A"), says("There."), says("Bye.")])
    options: dict[str, Any] = {"tools": [get_order_status], "max_steps": 3, "engine": engine}

    first = run(messages=[llm.user("Where?")], system="S", **options)
    second = run(messages=[*first.messages, llm.user("Thanks")], system="S", **options)

    assert second.text == "Bye."
    assert [message.role for message in engine.requests[2].messages] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
        Role.USER,
    ]


@every_driver
@pytest.mark.parametrize("max_steps", [None, 1])
def test_calls_that_have_not_run_leave_no_orphans(run: Generate, max_steps: int | None) -> None:
    engine = ScriptedEngine([[calls("get_order_status", order_id="A")] * 2, says("ok")])

    response = run(
        messages=[llm.user("Go")], tools=[get_order_status], max_steps=max_steps, engine=engine
    )

    assert_sendable(response.messages)
    assert run(messages=response.messages, engine=engine).text == "ok"


def test_a_call_that_was_not_run_can_be_run_by_hand_and_answered() -> None:
    engine = ScriptedEngine([calls("get_order_status", order_id="A"), says("ok")])
    response = llm.generate(messages=[llm.user("Go")], tools=[get_order_status], engine=engine)
    wanted = response.tool_calls[0]

    llm.generate(
        messages=[*response.messages, llm.tool_result(wanted.call_id, "by hand")],
        tools=[get_order_status],
        engine=engine,
    )

    sent = engine.requests[1].messages
    assert_sendable(sent)
    assert sent[-1].text == "by hand"


def test_an_open_call_of_a_history_from_elsewhere_is_answered() -> None:
    engine = ScriptedEngine([says("ok")])
    asked = llm.assistant("", [ToolCall("c1", "x", "{}"), ToolCall("c2", "y", "{}")])

    llm.generate(
        messages=[llm.user("a"), asked, llm.tool_result("c2", "two"), llm.user("b")],
        tools=[get_order_status],
        engine=engine,
    )

    assert_sendable(engine.requests[0].messages)
    assert [message.text for message in engine.requests[0].messages] == [
        "a",
        "",
        "Not run.",
        "two",
        "b",
    ]


@every_driver
def test_calls_without_an_id_or_with_one_twice_get_one_of_their_own(run: Generate) -> None:
    turn = [
        calls_raw("get_order_status", f'{{"order_id": "{n}"}}', call_id=call_id)
        for n, call_id in enumerate(["", "", "same", "same"])
    ]
    engine = ScriptedEngine([turn, turn, says("ok")])

    response = run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=3, engine=engine)

    ids = [record.call_id for record in response.tool_calls]
    assert len(set(ids)) == 8
    assert "same" in ids
    assert_sendable(response.messages)


def test_the_callers_own_list_is_not_changed() -> None:
    messages = [llm.user("Go")]

    llm.generate(messages=messages, engine=ScriptedEngine([says("ok")]))

    assert messages == [llm.user("Go")]


# Engines that answer nonsense.


class Nonsense:
    engine_id = "nonsense"

    def __init__(self, *replies: Any) -> None:
        self._replies = list(replies)

    def generate(self, messages: Any, **request: Any) -> Any:
        return self._replies.pop(0)


@every_driver
@pytest.mark.parametrize("reply", [None, "text", 5, [], ["x"]])
def test_a_reply_that_is_none_is_an_error_in_words(run: Generate, reply: Any) -> None:
    with pytest.raises(LLMError, match="expected a dict") as caught:
        run(messages=[llm.user("Go")], engine=Nonsense(reply), model="m")

    assert caught.value.code is LLMErrorCode.UNAVAILABLE


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def nested(levels: int) -> list[Any]:
    nest: list[Any] = []
    for _ in range(levels):
        nest = [nest]
    return nest


@every_driver
@pytest.mark.parametrize(
    "reply",
    [
        {"content": Hostile()},
        {"content": "x", "model": Hostile()},
        {"content": "x", "cost_usd": 10**400},
        {"content": "x", "tool_calls": [ToolCall(Hostile(), "add", "{}")]},  # type: ignore[arg-type]
        {"content": "x", "finish_reason": 10**6000, "model": 10**6000},
    ],
)
def test_a_reply_that_cannot_be_read_is_an_error_in_words(run: Generate, reply: Any) -> None:
    with pytest.raises(LLMError, match="cannot be read") as caught:
        run(messages=[llm.user("Go")], engine=Nonsense(reply), model="m")

    assert caught.value.code is LLMErrorCode.UNAVAILABLE


@every_driver
@pytest.mark.parametrize("arguments", [nested(100_000), {"a": 10**6000}, Hostile()])
@pytest.mark.parametrize("shape", [dict, ToolCall])
def test_arguments_that_cannot_be_written_are_answered_as_invalid(
    run: Generate, arguments: Any, shape: Callable[..., Any]
) -> None:
    wanted = shape(id=[1], name="get_order_status", arguments=arguments)
    engine = Nonsense({"content": "", "tool_calls": [wanted]}, {"content": "Sorry."})

    response = run(
        messages=[llm.user("Go")], engine=engine, model="m", tools=[get_order_status], max_steps=2
    )

    (record,) = response.tool_calls
    assert (record.outcome, record.detail) == (Outcome.FAILED, Detail.INVALID_ARGUMENTS)
    assert response.text == "Sorry."


@every_driver
@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"content": None},
        {"content": "", "tool_calls": None, "usage": None, "finish_reason": None},
        {"content": "", "usage": {"total_tokens": "many"}, "finish_reason": 7, "model": None},
        {"content": "", "sources": [None, {}, {"url": ""}], "metadata": []},
    ],
)
def test_a_reply_with_nothing_in_it_is_an_empty_answer(run: Generate, reply: Any) -> None:
    response = run(messages=[llm.user("Go")], engine=Nonsense(reply), model="m")

    assert (response.text, response.finish_reason) == ("", FinishReason.STOP)


@every_driver
@pytest.mark.parametrize(
    "wanted",
    [
        {"id": "1", "function": {"name": "get_order_status", "arguments": '{"order_id": "A"}'}},
        {"name": "get_order_status", "arguments": {"order_id": "A"}},
        ToolCall("", "get_order_status", '{"order_id": "A"}'),
    ],
)
def test_calls_in_other_shapes_are_understood(run: Generate, wanted: Any) -> None:
    engine = Nonsense({"content": None, "tool_calls": [wanted]}, {"content": "ok"})

    response = run(
        messages=[llm.user("Go")], tools=[get_order_status], max_steps=2, engine=engine, model="m"
    )

    assert [record.output for record in response.tool_calls] == ["A is on its way"]
    assert response.text == "ok"


@every_driver
@pytest.mark.parametrize("wanted", [None, 5, "x", {}, {"name": None}, {"arguments": "{}"}])
def test_a_call_without_a_name_is_answered_as_unknown(run: Generate, wanted: Any) -> None:
    engine = Nonsense({"tool_calls": [wanted]}, {"content": "ok"})

    response = run(
        messages=[llm.user("Go")], tools=[get_order_status], max_steps=2, engine=engine, model="m"
    )

    assert [record.outcome for record in response.tool_calls] == [Outcome.UNKNOWN_TOOL]
    assert response.text == "ok"


def test_sources_are_gathered_once_each() -> None:
    engine = Nonsense(
        {"content": "ok", "sources": [{"title": "T", "url": "u"}, {"url": "u"}, {"url": "v"}]}
    )

    response = llm.generate(messages=[llm.user("Go")], engine=engine, model="m")

    assert response.sources == [llm.Source("T", "u"), llm.Source("v", "v")]


def test_opaque_parts_go_back_unchanged() -> None:
    signature = {"signature": "abc=="}
    engine = Nonsense(
        {"tool_calls": [{"name": "get_order_status", "arguments": "{}"}], "metadata": signature},
        {"content": "ok"},
    )

    response = llm.generate(
        messages=[llm.user("Go")], tools=[get_order_status], max_steps=2, engine=engine, model="m"
    )

    assert response.messages[1].metadata == signature


# Events and logs.


@every_driver
def test_the_bus_hears_of_inference_and_calls(run: Generate) -> None:
    bus = EventBus(record_history=True)
    engine = ScriptedEngine([calls("get_order_status", order_id="A"), says("ok")])

    run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=2, engine=engine, bus=bus)

    inference = [EventType.INFERENCE_START, EventType.INFERENCE_END]
    call = [EventType.TOOL_CALL_START, EventType.TOOL_CALL_END]
    assert [event.event_type for event in bus.history] == [*inference, *call, *inference]


@every_driver
def test_each_call_writes_one_log_line(run: Generate, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "openjarvis.tools")
    engine = ScriptedEngine([[calls("get_order_status", order_id="A"), calls("x")], says("ok")])

    run(messages=[llm.user("Go")], tools=[get_order_status], max_steps=2, engine=engine)

    assert sorted(line.getMessage().split(" tool=")[0] for line in caplog.records) == [
        "llm tool ran get_order_status",
        "llm tool unknown_tool x",
    ]
