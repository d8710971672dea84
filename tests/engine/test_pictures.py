"""Images of tools' results, as each engine's own server is sent them."""

import json
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anthropic_server
import gemini_server
import ollama_server
import openai_server
import openai_turns
from engine.conformance import WAYS, Scenario, Turn, Way, astream, stream
from openai_server import Answer, Opened
from openjarvis import llm
from openjarvis.config import McpServerConfig
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.anthropic import AnthropicEngine
from openjarvis.engine.gemini import GeminiEngine
from openjarvis.engine.ollama import OllamaEngine
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.engine.openai_tools import web_search
from openjarvis.engine.pictures import MOST_BASE64, MOST_IMAGES, MOST_LINES, in_text, pictured
from openjarvis.mcp.pool import ServerPool
from openjarvis.mcp.servers import Server
from openjarvis.testing import ScriptedEngine, calls, says
from pictures import GIF, PNG, part

DATA = b64encode(PNG).decode()
URL = f"data:image/png;base64,{DATA}"
LINE = llm.Image(PNG).line


@llm.tool
def look() -> list[Any]:
    """Look out of the window. Call it when asked what is there."""
    return ["A dot:", llm.Image(PNG)]


@llm.tool
def film() -> llm.Image:
    """Film the street. Call it when asked what moves."""
    return llm.Image(GIF)


def ask(engine: Any, *, model: str = "m", **more: Any) -> llm.Response:
    request = {"tools": [look, film], "max_steps": 3, "messages": [llm.user("What is there?")]}
    return llm.generate(engine=engine, model=model, **{**request, **more})


def turns(say: Callable[..., Answer], *names: str, is_streamed: bool = False) -> list[Answer]:
    """Return a turn that calls the tools, and one that answers."""
    calling = Turn(calls=tuple((name, "{}") for name in names))
    return [say(turn, is_streamed=is_streamed) for turn in (calling, Turn("Dots."))]


def test_claude_sees_them_in_the_results(opened: Opened) -> None:
    server, engine = opened(AnthropicEngine, *turns(anthropic_server.say, "look", "film"))

    response = ask(engine)

    first, second = server.bodies[1]["messages"][-1]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    assert first["content"] == [
        {"type": "text", "text": f"A dot:\n{LINE}"},
        {"type": "image", "source": source},
    ]
    assert second["content"][1]["source"]["media_type"] == "image/gif"
    # The records and what is told of a call stay small.
    assert response.tool_calls[0].output == f"A dot:\n{LINE}"
    assert DATA not in repr(response.tool_calls)


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro"])
def test_gemini_sees_them_within_or_behind_the_results(opened: Opened, model: str) -> None:
    server, engine = opened(GeminiEngine, *turns(gemini_server.say, "look", "film"))

    ask(engine, model=model)

    parts = gemini_server.camel(server.bodies[1]["contents"][-1]["parts"])
    urlsafe = DATA.replace("/", "_").replace("+", "-")
    inline = {"inlineData": {"mimeType": "image/png", "data": urlsafe}}
    response = parts[0]["functionResponse"]
    assert response["response"] == {"result": f"A dot:\n{LINE}"}
    if model == "gemini-3-pro":
        assert response["parts"] == [inline]
        assert len(parts) == 2
    else:
        assert parts[1] == inline
        assert len(parts) == 3
    told = parts[-1]["functionResponse"]["response"]["result"]
    assert "Not shown" in told
    assert "takes no image/gif" in told


def test_a_chat_completion_has_them_in_a_message_behind_the_results(opened: Opened) -> None:
    server, engine = opened(
        OpenAIEngine,
        *turns(openai_turns.say, "look", "film"),
        openai_server.completion("Yes."),
        path="/v1",
    )

    response = ask(engine)
    ask(engine, messages=[*response.messages, llm.user("Sure?")])

    roles = [message["role"] for message in server.bodies[1]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]
    tool, shown = server.bodies[1]["messages"][2], server.bodies[1]["messages"][-1]
    assert tool["content"] == f"A dot:\n{LINE}"
    assert shown["content"][:2] == [
        {"type": "text", "text": "Shown by look:"},
        {"type": "image_url", "image_url": {"url": URL}},
    ]
    again = server.bodies[2]["messages"]
    assert [message["role"] for message in again][-3:] == ["user", "assistant", "user"]
    assert again[4] == shown


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "m is not a multimodal model"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (400, "messages[3]: unknown variant `image_url`, expected `text`"),
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
    ],
)
def test_a_model_that_takes_none_is_told_of_them_instead(
    opened: Opened, status: int, words: str
) -> None:
    calling, said = turns(openai_turns.say, "look")
    server, engine = opened(
        OpenAIEngine,
        calling,
        openai_server.refusal(status, words),
        said,
        *turns(openai_turns.say, "look"),
        path="/v1",
        max_retries=0,
    )

    assert ask(engine).text == "Dots."
    assert ask(engine).text == "Dots."

    told = "Shown by look:\n[Not shown: an image: this model takes none.]"
    assert server.bodies[2]["messages"][-1] == {"role": "user", "content": told}
    assert server.bodies[4]["messages"][-1] == {"role": "user", "content": told}
    assert len(server.bodies) == 5


SEEING = {
    "anthropic": (AnthropicEngine, anthropic_server.say, anthropic_server.refusal, ""),
    "gemini": (GeminiEngine, gemini_server.say, gemini_server.refusal, ""),
    "openai": (OpenAIEngine, openai_turns.say, openai_server.refusal, "/v1"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", SEEING)
def test_an_image_that_the_provider_refuses_does_not_end_the_run(
    opened: Opened, key: str, way: Way
) -> None:
    kind, say, refusal, path = SEEING[key]
    is_streamed = way in (stream, astream)
    calling, said = turns(say, "look", is_streamed=is_streamed)
    server, engine = opened(kind, calling, refusal(400, "Could not process image"), said, path=path)
    scenario = Scenario((), "", options={"tools": [look]})

    heard, response = way(engine, scenario)

    assert heard == response.text == "Dots."
    assert DATA[:40] not in json.dumps(server.bodies[2])
    assert "the provider refused it" in json.dumps(server.bodies[2])
    assert len(server.bodies) == 3


@pytest.mark.parametrize("key", SEEING)
def test_other_refusals_reach_the_caller(opened: Opened, key: str) -> None:
    kind, say, refusal, path = SEEING[key]
    calling, _ = turns(say, "look")
    server, engine = opened(kind, calling, refusal(400, "no credit left"), path=path)

    with pytest.raises(llm.LLMError, match="no credit left"):
        ask(engine)

    assert len(server.bodies) == 2


def test_the_responses_interface_has_them_in_the_results(opened: Opened) -> None:
    history = [
        llm.user("What is there?"),
        llm.assistant("", [ToolCall("c1", "look", "{}")]),
        Message(Role.TOOL, "A dot", "look", None, "c1", {"parts": [part(PNG)]}),
    ]
    whole = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Dot"}]}]}
    server, engine = opened(OpenAIEngine, openai_server.answer(whole), path="/v1", responses=True)

    assert ask(engine, messages=history, tools=[look, web_search()]).text == "Dot"

    assert server.bodies[0]["input"][-1] == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [
            {"type": "input_text", "text": "A dot"},
            {"type": "input_image", "image_url": URL},
        ],
    }


@pytest.mark.parametrize("abilities", [("tools", "vision"), ("tools",), ("vision",)])
def test_ollama_sees_them_where_its_model_does(
    opened: Opened, abilities: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    shown = ollama_server.shown(*abilities, context=8192)
    printed = ollama_server.piece(
        '<tool_call>{"name": "look", "arguments": {}}</tool_call>', done="stop"
    )
    calling, said = turns(ollama_server.say, "look")
    calling = calling if "tools" in abilities else openai_server.answer(printed)
    server, engine = opened(OllamaEngine, shown, calling, said)

    assert ask(engine).text == "Dots."

    result = server.bodies[2]["messages"][-1]
    if abilities == ("tools", "vision"):
        assert result["images"] == [DATA]
        assert result["content"] == f"A dot:\n{LINE}"
    else:
        assert "images" not in result
        assert f"[Not shown: {LINE}: this model takes text only.]" in result["content"]
    assert server.bodies[2]["options"]["num_ctx"] == 4096
    assert caplog.records == []


def result(*parts: Any, text: str = "Seen.") -> Message:
    return Message(Role.TOOL, text, "look", None, "c1", {"parts": list(parts)})


def test_a_model_in_this_process_is_told_of_them_in_text() -> None:
    history = [llm.user("?"), result(part(PNG))]

    told = in_text(history)

    assert told[0] is history[0]
    assert told[1].text == f"Seen.\n[Not shown: {LINE}: this engine takes text only.]"
    assert history[1].text == "Seen."
    assert told[1].metadata == {}
    assert history[1].metadata == {"parts": [part(PNG)]}


def test_the_oldest_are_left_out_where_there_are_too_many() -> None:
    history = [result(part(PNG)) for _ in range(MOST_IMAGES + 2)]

    seen = pictured(history)

    assert [len(images) for _, images in seen] == [0, 0] + [1] * MOST_IMAGES
    assert "more images than a request may hold" in seen[0].message.text


def test_images_that_are_too_large_together_are_left_out() -> None:
    large = part(PNG + b"\0" * 3_000_000)

    seen = pictured([result(large) for _ in range(5)])

    assert [len(images) for _, images in seen] == [0, 0, 1, 1, 1]
    assert sum(len(one.base64) for _, images in seen for one in images) <= MOST_BASE64


def test_what_is_said_of_images_that_are_none_is_short() -> None:
    [(message, images)] = pictured([result(*[part(b"<svg/>")] * 100_000)])

    assert images == []
    lines = message.text.splitlines()
    assert lines[1] == "[Not shown: an image: it is no PNG, JPEG, GIF or WebP image.]"
    assert lines[-1] == "[90 more images.]"
    assert len(lines) == MOST_LINES + 2


def test_parts_of_other_messages_are_no_images_of_results() -> None:
    user = Message(Role.USER, "?", metadata={"parts": [part(PNG)]})

    assert pictured([user])[0].images == ()


def test_an_image_of_an_mcp_server_reaches_the_model(opened: Opened, tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "picture_server.py"
    config = McpServerConfig(command=sys.executable, args=[str(script)])
    pool = ServerPool({"eyes": Server("eyes", "the test", config)}, tmp_path / "mcp")
    server, engine = opened(AnthropicEngine, *turns(anthropic_server.say, "eyes__look"))

    tools = pool.tools(["eyes__look"])
    response = ask(engine, tools=tools, approve=lambda request: True)
    pool.close()

    content = server.bodies[1]["messages"][-1]["content"][0]["content"]
    assert content[0] == {"type": "text", "text": f"A dot:\n{LINE}"}
    assert content[1]["source"]["data"] == DATA
    assert response.tool_calls[0].output == f"A dot:\n{LINE}"


def test_a_script_is_given_them_too() -> None:
    engine = ScriptedEngine([calls("look"), says("A dot.")])

    ask(engine)

    assert engine.requests[-1].messages[-1].metadata == {"parts": [part(PNG)]}
