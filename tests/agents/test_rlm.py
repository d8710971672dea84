import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tools import add
from openjarvis.agents.base import AgentContext, AgentResult
from openjarvis.agents.document import MAX_BYTES
from openjarvis.agents.rlm import LONG_QUESTION, RLMAgent
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.types import Message
from openjarvis.sandbox.isolation import Isolation
from openjarvis.sandbox.session import Sandbox
from openjarvis.testing import RecordedRequest, ScriptedEngine, calls, says

DOCUMENT = "filler " * 1000 + "The password is swordfish." + " filler" * 1000


def code(text: str) -> Any:
    return says(f"```repl\n{text}\n```")


def run(
    script: Sequence[Any],
    question: str = "What is it?",
    document: str | Path = DOCUMENT,
    **options: Any,
) -> tuple[AgentResult, list[RecordedRequest]]:
    engine = ScriptedEngine(script)
    result = RLMAgent(engine, "m", **options).run(question, AgentContext(document=document))
    engine.assert_exhausted()
    return result, engine.requests


def test_the_document_is_a_variable_and_never_in_a_prompt() -> None:
    result, requests = run(
        [
            code("i = context.find('password'); found = context[i:i+25]; print(len(context))"),
            says('FINAL_VAR("found")'),
        ]
    )

    assert result.content == "password is swordfish. fi"
    assert [done.tool_name for done in result.tool_results] == ["rlm_repl", "rlm_repl"]
    assert requests[1].messages[-1].text == f"Output:\n{len(DOCUMENT)}"
    sent = "".join(message.text for message in requests[0].messages)
    assert "filler" not in sent
    assert f"{len(DOCUMENT):,} characters" in sent
    assert "## Available Tools" in sent


def test_state_lives_from_block_to_block() -> None:
    result, _ = run([code("x = 20"), code("def f(): return x + 1"), code("FINAL(f() * 2)")])

    assert result.content == "42"


ENDINGS = {
    "FINAL in the code": [code("FINAL('done')")],
    "FINAL_VAR in the code": [code("v = 'done'\nFINAL_VAR('v')")],
    "FINAL_VAR of a value": [code("v = 'done'\nFINAL_VAR(v)")],
    "the answer dict": [code("answer['content'] = 'done'\nanswer['ready'] = True")],
    "FINAL in words": [says("FINAL(done)")],
    "no FINAL at all": [says("done")],
    "an exception after FINAL": [code("FINAL('done')\n1 / 0")],
    "a variable that is not there": [says("FINAL_VAR(nope)"), says("FINAL(done)")],
    "an answer that is not ready": [code("answer['content'] = 'half'"), says("FINAL(done)")],
}


@pytest.mark.parametrize("script", ENDINGS.values(), ids=ENDINGS)
def test_a_run_ends_with(script: list[Any]) -> None:
    result, _ = run(script)

    assert (result.content, result.turns) == ("done", len(script))
    assert result.metadata["messages"][-1].role == "assistant"


def test_a_sub_model_is_asked_from_inside_and_its_usage_counts() -> None:
    result, requests = run(
        [
            code("print(llm_query('Is ' + context[7000:7012] + ' it?'))"),
            says("Yes."),
            says("FINAL(y)"),
        ],
        sub_model="small",
    )

    assert result.tool_results[0].content == "Yes."
    assert len(result.metadata["spending"].turns) == 3
    assert [request.model for request in requests] == ["m", "small", "m"]
    assert requests[1].messages[-1].text == "Is The password it?"
    assert result.metadata["sub_queries"] == 1
    assert result.metadata["usage"]["total_tokens"] == 6


def test_a_run_that_fails_tells_what_its_sub_models_used() -> None:
    engine = ScriptedEngine(
        [
            code("print(llm_query('?'))"),
            says("sub"),
            LLMError(LLMErrorCode.UNAVAILABLE, "gone", 503),
        ]
    )

    with pytest.raises(LLMError) as caught:
        RLMAgent(engine, "m").run("?", AgentContext(document="text"))

    assert caught.value.response.usage["completion_tokens"] == 2
    assert caught.value.response.metadata["sub_queries"] == 1


def test_several_sub_models_are_asked_at_the_same_time_and_answer_in_order() -> None:
    all_there = threading.Barrier(5)

    class Engine:
        def generate(self, messages: Sequence[Message], **_: Any) -> dict[str, Any]:
            text = messages[-1].text
            if re.fullmatch(r"p\d", text):
                all_there.wait(10)
                return {"content": text.upper()}
            block = "FINAL(' '.join(llm_query_batched([f'p{n}' for n in range(5)])))"
            return {"content": f"```repl\n{block}\n```"}

    result = RLMAgent(Engine(), "m").run("x", AgentContext(document="d"))

    assert result.content == "P0 P1 P2 P3 P4"


def test_sub_models_may_use_the_tools_that_the_prompt_promises() -> None:
    result, requests = run(
        [code("FINAL(llm_query('1+2?'))"), calls("add", a=1, b=2), says("three")], tools=[add]
    )

    assert result.content == "three"
    assert "### add" in requests[0].messages[0].text
    assert requests[0].tools is None
    assert [tool["function"]["name"] for tool in requests[1].tools or ()] == ["add"]
    assert [record.output for record in result.metadata["sub_calls"]] == ["3"]


def test_calls_of_sub_models_are_approved_as_any_other() -> None:
    result, _ = run(
        [code("FINAL(llm_query('1+2?'))"), calls("add", a=1, b=2), says("no")],
        tools=[add],
        approve=lambda request: request.name == "rlm_repl",
    )

    assert [record.outcome for record in result.metadata["sub_calls"]] == ["denied"]


def test_the_questions_have_a_budget() -> None:
    result, _ = run(
        [
            code("print(llm_query('a'))\nprint(llm_query_batched(['b', 'c', 'd']))"),
            says("A"),
            code("print(llm_query_batched(['b']))"),
            says("B"),
            says("FINAL(x)"),
        ],
        max_queries=2,
    )

    first, second = result.tool_results
    assert first.content.startswith("A\n")
    assert "RuntimeError: 3 questions to sub-models are more than the 1 that are left of 2" in (
        first.content
    )
    assert second.content == "['B']"


def test_a_sub_model_that_fails_says_so_and_loses_no_sibling() -> None:
    gone = LLMError("LLM_UNAVAILABLE", "gone")
    result, _ = run(
        [
            code("try:\n    llm_query('a')\nexcept RuntimeError as error:\n    print(error)"),
            gone,
            says("FINAL(x)"),
        ]
    )

    assert result.tool_results[0].content == "[llm_query failed: LLM_UNAVAILABLE: gone]"


def test_below_the_first_depth_a_sub_model_has_a_session_of_its_own() -> None:
    result, requests = run(
        [
            code("FINAL(llm_query('Count the letters of: ' + 'x' * 40))"),
            code("FINAL(context.count('x'))"),
        ],
        max_depth=2,
    )

    assert result.content == "40"
    assert "xxxx" not in "".join(message.text for message in requests[1].messages)


def test_depth_ends_where_it_is_set() -> None:
    result, _ = run(
        [code("FINAL(llm_query('a'))"), code("FINAL(llm_query('b'))"), says("plain")], max_depth=2
    )

    assert result.content == "plain"
    assert result.metadata["sub_queries"] == 1


def test_a_session_that_dies_is_told_and_the_run_goes_on() -> None:
    result, requests = run([code("import os; os._exit(3)"), code("1"), says("FINAL(sorry)")])

    assert result.content == "sorry"
    assert "`context` with it" in requests[1].messages[-1].text


def test_time_of_sub_models_is_not_the_codes() -> None:
    class Engine:
        def generate(self, messages: Sequence[Message], **_: Any) -> dict[str, Any]:
            if messages[-1].text == "slow":
                threading.Event().wait(1.5)
                return {"content": "at last"}
            return {"content": "```repl\nFINAL(llm_query('slow'))\n```"}

    result = RLMAgent(Engine(), "m", code_seconds=1).run("x", AgentContext(document="d"))

    assert result.content == "at last"


def test_the_document_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text(DOCUMENT, "utf-8")

    result, _ = run([code("FINAL(len(context))")], document=path)

    assert result.content == str(len(DOCUMENT))


def test_without_a_document_what_the_memory_found_is_one() -> None:
    engine = ScriptedEngine([code("FINAL(context)")])
    found = [SimpleNamespace(content="one", source="a"), SimpleNamespace(content="two", source="b")]

    result = RLMAgent(engine, "m").run("x", AgentContext(memory_results=found))

    assert result.content == "one\n\ntwo"
    assert "one" not in engine.requests[0].messages[0].text.split("Available Tools")[1]


def test_a_question_too_long_to_be_shown_is_the_document() -> None:
    question = "Count the words of this. " + "word " * LONG_QUESTION

    result, requests = run([code("FINAL(len(context))")], question, "")

    assert result.content == str(len(question))
    assert all(len(message.text) < LONG_QUESTION for message in requests[0].messages)


def test_fifty_megabytes_are_taken() -> None:
    result, _ = run([code("FINAL((len(context), context[-3:]))")], document="é" * (MAX_BYTES // 2))

    assert result.content == f"({MAX_BYTES // 2}, 'ééé')"


BAD_DOCUMENTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "too long": (lambda folder: "x" * (MAX_BYTES + 1), "longer than 50 MB"),
    "not there": (lambda folder: folder / "nope", "cannot be read"),
    "a folder": (lambda folder: folder, "no regular file"),
    "binary": (lambda folder: written(folder / "b", b"\xff\x00"), "not UTF-8"),
    "too long a file": (lambda folder: written(folder / "l", b"x" * (MAX_BYTES + 1)), "50 MB"),
    "half a surrogate": (lambda folder: "\ud800", "half of a surrogate pair"),
}


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("make", "says_why"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS)
def test_a_bad_document_is_refused_before_a_token_is_spent(
    make: Callable[[Path], Any], says_why: str, tmp_path: Path
) -> None:
    engine = ScriptedEngine()

    with pytest.raises(LLMError, match=says_why):
        RLMAgent(engine, "m").run("x", AgentContext(document=make(tmp_path)))

    assert engine.requests == []


def test_without_walls_no_code_runs() -> None:
    agent = RLMAgent(ScriptedEngine(), "m", sandbox=Sandbox(isolation=Isolation()))

    with pytest.raises(LLMError, match="allow_unsandboxed"):
        agent.run("x", AgentContext(document="d"))


HOSTILE = {
    "not JSON": "_ask_parent('x')",
    "a number": "_ask_parent('1')",
    "prompts of another type": "_ask_parent('{\"prompts\": [1]}')",
    "a final of another type": "_ask_parent('{\"final\": 1}')",
    "deeply nested": "_ask_parent('[' * 100000)",
    "no prompts": "print(llm_query_batched([]))",
    "broken helpers": "_report = FINAL = llm_query = None",
    "broken answer": "answer = None",
    "broken json": "_json.dumps = None",
    "a surrogate": "_ask_parent('\\ud800')",
}


@pytest.mark.parametrize("block", HOSTILE.values(), ids=HOSTILE)
def test_nothing_that_the_code_asks_breaks_the_run(block: str) -> None:
    result, _ = run([code(block), says("FINAL(still here)")])

    assert result.content == "still here"
    assert "sub_queries" in result.metadata


def test_a_question_that_is_too_long_ends_the_session_only() -> None:
    result, _ = run([code("_ask_parent('x' * (17 << 20))"), says("FINAL(still here)")])

    assert result.content == "still here"
    assert not result.tool_results[0].success
