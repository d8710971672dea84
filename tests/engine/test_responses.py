import json
from collections.abc import Callable
from typing import Any

import pytest

from openai_server import Answer, OpenAIServer, answer, streamed
from openjarvis import llm
from openjarvis.engine import openai_tools
from openjarvis.engine.openai import OpenAIEngine

Serve = Callable[..., tuple[OpenAIServer, OpenAIEngine]]
ASK = [llm.user("Rain?")]
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque=="}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {
        "type": "search",
        "query": "rain oslo",
        "sources": [{"type": "url", "url": "https://met.no"}],
    },
}
CODE = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "code": "print(6*7)",
    "outputs": [{"type": "logs", "logs": "42\n"}],
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "now", "arguments": "{}"}


@llm.tool
def now() -> str:
    """Tell the time. Call it when the user asks for it."""
    return "noon"


def spoken(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": "m_1", "role": "assistant", "content": [part]}


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-test",
        "status": "completed",
        "output": list(output),
        "usage": {
            "input_tokens": 7,
            "output_tokens": 3,
            "total_tokens": 10,
            "input_tokens_details": {"cached_tokens": 2},
        },
        **more,
    }


def said(*output: dict[str, Any], is_streamed: bool, **more: Any) -> Answer:
    whole = response(*output, **more)
    if not is_streamed:
        return answer(whole)
    text = "".join(
        part["text"] for item in output for part in item.get("content", ()) if "text" in part
    )
    events = [{"type": "response.created", "response": {"status": "in_progress"}}]
    events += [{"type": "response.output_text.delta", "delta": letter} for letter in text]
    events.append({"type": f"response.{whole['status']}", "response": whole})
    lines = (
        f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in events
    )
    return streamed("".join(lines).encode(), piece=11)


def run(engine: OpenAIEngine, *, is_streamed: bool, **more: Any) -> llm.Response:
    request = {"engine": engine, "model": "m", "messages": ASK, "max_steps": 3, **more}
    if not is_streamed:
        return llm.generate(**request)
    with llm.stream(**request) as stream:
        heard = "".join(stream)
    assert heard.endswith(stream.response.text)
    return stream.response


@pytest.mark.parametrize("is_streamed", [False, True])
def test_search_calls_sources_and_reasoning(serve: Serve, is_streamed: bool) -> None:
    citation = {"type": "url_citation", "url": "https://yr.no", "title": "Yr"}
    server, engine = serve(
        said(REASONING, SEARCH, CALL, is_streamed=is_streamed),
        said(CODE, spoken("Dry at noon.", citation), is_streamed=is_streamed),
        responses=True,
    )
    tools = [now, openai_tools.web_search(context_size="low"), openai_tools.code_execution()]

    got = run(engine, is_streamed=is_streamed, tools=tools)

    assert got.text == "Dry at noon."
    assert [(one.name, one.output) for one in got.tool_calls] == [
        ("provider:web_search", ""),
        ("now", "noon"),
        ("provider:code_execution", "42\n"),
    ]
    assert json.loads(got.tool_calls[0].input)["query"] == "rain oslo"
    assert got.sources == [
        llm.Source("https://met.no", "https://met.no"),
        llm.Source("Yr", "https://yr.no"),
    ]
    assert got.usage["cached_tokens"] == 4
    first, second = server.bodies
    assert server.requests[0].path == "/v1/responses"
    assert first["store"] is False
    assert [tool["type"] for tool in first["tools"]] == [
        "function",
        "web_search",
        "code_interpreter",
    ]
    assert second["input"][1:] == [
        REASONING,
        SEARCH,
        {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "noon"},
    ]


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    ("reason", "expected"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter")],
)
def test_what_is_incomplete_says_why(
    serve: Serve, reason: str, expected: str, is_streamed: bool
) -> None:
    more = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    _, engine = serve(said(spoken("No ra"), is_streamed=is_streamed, **more), responses=True)

    got = run(engine, is_streamed=is_streamed, tools=[openai_tools.web_search()])

    assert got.finish_reason == expected
    assert got.text == "No ra"


@pytest.mark.parametrize("is_streamed", [False, True])
def test_what_failed_is_an_error(serve: Serve, is_streamed: bool) -> None:
    more = {"status": "failed", "error": {"code": "server_error", "message": "it broke"}}
    _, engine = serve(said(is_streamed=is_streamed, **more), responses=True, max_retries=0)

    with pytest.raises(llm.LLMError, match="it broke") as failed:
        run(engine, is_streamed=is_streamed, tools=[openai_tools.web_search()])

    assert failed.value.code == "LLM_UNAVAILABLE"


def test_other_servers_are_not_believed_to_run_tools(serve: Serve) -> None:
    server, engine = serve()

    with pytest.raises(llm.LLMError, match=r"'openai\.web_search'; it knows none") as failed:
        run(engine, is_streamed=False, tools=[openai_tools.web_search()])

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert server.requests == []


def test_openai_itself_runs_them() -> None:
    engine = OpenAIEngine("https://api.openai.com/v1", "k" * 10)

    assert "openai.web_search" in engine.provider_types
