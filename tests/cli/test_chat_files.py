import json
from pathlib import Path

import pytest

from openjarvis import llm
from openjarvis.cli.chat_files import load, save
from openjarvis.cli.lazy import Failure
from openjarvis.core.types import Message, ToolCall

CALL = ToolCall("call_1", "stock", '{"product": "茶"}')
TALK = [
    llm.user("How much tea?"),
    llm.assistant("", [CALL]),
    llm.tool_result(CALL, "no such shelf"),
    llm.assistant("I cannot tell."),
]
TALK[2].metadata["success"] = False


def test_a_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    save(TALK, tmp_path / "talk.json")

    assert load(tmp_path / "talk.json") == TALK


def test_what_a_provider_wanted_back_is_left_behind(tmp_path: Path) -> None:
    said = llm.assistant("Hello.")
    said.metadata["anthropic"] = {"blocks": [{"type": "thinking", "signature": "s"}]}
    save([said], tmp_path / "talk.json")

    assert load(tmp_path / "talk.json") == [llm.assistant("Hello.")]


def test_as_markdown_it_is_for_people(tmp_path: Path) -> None:
    save(TALK, tmp_path / "talk.md")

    text = (tmp_path / "talk.md").read_text("utf-8")
    assert '## Assistant\n\n> `stock` {"product": "茶"}\n\n> `stock` answered:' in text
    with pytest.raises(Failure, match=r"talk\.md holds no conversation that was saved as \.js"):
        load(tmp_path / "talk.md")


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    save(TALK, tmp_path / "talk.json")

    with pytest.raises(Failure, match="is there already; choose another name"):
        save([], tmp_path / "talk.json")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no conversation"),
        ("[]", "holds no conversation"),
        ("{}", "holds no conversation"),
        ("[" * 100_000, "holds no conversation"),
        ('{"messages": 3}', "messages.: Input should be a valid list."),
        ('{"messages": [{"role": "boss"}]}', "messages.0.role: Input should be 'system', 'user'"),
        ('{"messages": [{"role": "user", "content": 3}]}', "messages.0.content: "),
    ],
)
def test_what_is_no_conversation_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "talk.json").write_text(text)

    with pytest.raises(Failure, match=r"talk\.json") as refused:
        load(tmp_path / "talk.json")

    assert told in str(refused.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"gone\.json cannot be read: No such file"):
        load(tmp_path / "gone.json")


def test_messages_of_another_program_need_role_and_content_alone(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(
        json.dumps({"messages": [{"role": "user", "content": "x"}]})
    )

    assert load(tmp_path / "talk.json") == [Message("user", "x")]  # type: ignore[arg-type]
