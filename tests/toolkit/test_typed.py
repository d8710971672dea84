import asyncio
import json
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Self

import pytest
from pydantic import BaseModel

from openjarvis.core.errors import ToolDefinitionError, ToolError
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.check import ArgumentsError
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.function import tool
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool, failure, failure_text, result_of


class WordCount(TypedTool):
    """Count the words of a text. Call it when the user asks about a length.

    It splits at white space.
    """

    name = "word_count"
    category = "text"
    examples = ("How long is this?",)
    read_only = True
    timeout_seconds = 2.0

    def run(self, text: Annotated[str, "The text to measure"], unit: str = "words") -> str:
        return f"{len(text.split())} {unit}"


# A tool written as a class


def test_the_signature_of_run_is_the_schema_and_the_docstring_the_description() -> None:
    spec = WordCount().spec

    assert spec.name == WordCount.tool_id == "word_count"
    assert spec.description.startswith("Count the words of a text.")
    assert spec.description.endswith("\n\nIt splits at white space.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text to measure"},
            "unit": {"type": "string", "default": "words"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert (spec.category, spec.examples, spec.read_only) == ("text", ["How long is this?"], True)
    assert (spec.timeout_seconds, spec.destructive) == (2.0, None)


def test_a_typed_class_runs_with_checked_arguments() -> None:
    assert WordCount().execute(text="one two") == ToolResult("word_count", "2 words")
    assert not WordCount().execute(text=3).success


def test_an_async_run_works_by_hand_and_in_a_loop() -> None:
    class Slow(WordCount):
        name = "slow"

        async def run(self, text: str) -> str:
            await asyncio.sleep(0)
            return text

    slow = Slow()

    assert slow.is_async
    assert slow.execute(text="a").content == "a"
    assert asyncio.run(slow.aexecute(text="a")).content == "a"


def test_a_sync_run_works_in_a_loop_too() -> None:
    assert asyncio.run(WordCount().aexecute(text="a b")).content == "2 words"


def test_a_run_sees_the_object_it_belongs_to() -> None:
    class Greeter(TypedTool):
        """Greet."""

        name = "greet"

        def __init__(self, greeting: str) -> None:
            self.greeting = greeting

        def run(self, who: str) -> str:
            return f"{self.greeting} {who}"

    assert [Greeter(word).execute(who="Ann").content for word in ("Hi", "Bye")] == [
        "Hi Ann",
        "Bye Ann",
    ]


def test_a_subclass_inherits_what_it_does_not_change() -> None:
    class LetterCount(WordCount):
        """Count the letters of a text."""

        name = "letter_count"

        def run(self, text: str) -> str:
            return str(len(text))

    class Renamed(WordCount):
        name = "renamed"

    assert list(LetterCount().spec.parameters["properties"]) == ["text"]
    assert LetterCount().spec.category == "text"
    assert Renamed().spec.parameters == WordCount().spec.parameters
    assert Renamed().execute(text="a").tool_name == "renamed"


def test_specs_of_two_objects_share_no_metadata() -> None:
    class Polling(WordCount):
        name = "polling"
        metadata = {"repeatable": True}  # noqa: RUF012

    Polling().spec.metadata["repeatable"] = False

    assert Polling().spec.metadata == {"repeatable": True}


def test_a_context_reaches_run() -> None:
    class Whose(TypedTool):
        """Tell whose call it is."""

        name = "whose"

        def run(self, call: ToolContext) -> str:
            return str(call.context)

    assert Whose().invoke({}, ToolContext(context="Ann")) == "Ann"
    assert Whose().spec.parameters["properties"] == {}


def test_required_tells_the_model_to_fill_what_python_gives_a_default() -> None:
    class Strict(WordCount):
        name = "strict"
        required = ("unit", "text")

    assert Strict().spec.parameters["required"] == ["text", "unit"]
    assert "default" not in Strict().spec.parameters["properties"]["unit"]
    assert WordCount().spec.parameters["required"] == ["text"]
    assert Strict().execute(text="a b").content == "2 words"


def test_required_may_only_name_parameters() -> None:
    with pytest.raises(ToolDefinitionError, match="`required` names 'txt', which is no parameter"):

        class Strict(WordCount):
            name = "strict"
            required = ("txt",)


def test_a_tool_that_needs_services_takes_them_in_build() -> None:
    class Modelled(TypedTool):
        """Tell the model."""

        name = "modelled"

        def __init__(self, model: str) -> None:
            self.model = model

        @classmethod
        def build(cls, services: Services) -> Self:
            return cls(services.model)

        def run(self) -> str:
            return self.model

    assert Modelled.build(Services(model="m1")).execute().content == "m1"
    assert WordCount.build(Services()).execute(text="a").content == "1 words"


def test_a_parameter_that_cannot_be_described_is_refused_in_the_class() -> None:
    with pytest.raises(ToolDefinitionError, match=r"Broken\.run: the parameter 'n' has no annot"):

        class Broken(TypedTool):
            """Break."""

            name = "broken"

            def run(self, n) -> str:  # type: ignore[no-untyped-def]
                return str(n)


def test_a_name_that_models_cannot_call_is_refused_in_the_class() -> None:
    with pytest.raises(ToolDefinitionError, match="Broken: the tool name 'a b' must be"):

        class Broken(TypedTool):
            """Break."""

            name = "a b"


def test_a_run_that_is_no_method_is_refused_in_the_class() -> None:
    with pytest.raises(ToolDefinitionError, match="Broken: `run` must be a method"):

        class Broken(TypedTool):
            """Break."""

            name = "broken"
            run = "now"  # type: ignore[assignment]


# What comes back


@dataclass
class Point:
    x: int
    when: date


class Model(BaseModel):
    n: int
    name: str | None = None


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ("", ""),
        (3, "3"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        ([1, "a", None], '[1, "a", null]'),
        ({"เมือง": "กรุงเทพ"}, '{"เมือง": "กรุงเทพ"}'),
        ((1, 2), "[1, 2]"),
        (Model(n=1), '{"n": 1, "name": null}'),
        ([Model(n=1)], '[{"n": 1, "name": null}]'),
        (Point(1, date(2026, 1, 2)), '{"x": 1, "when": "2026-01-02"}'),
        ({1}, "[1]"),
        (date(2026, 1, 2), '"2026-01-02"'),
        (float("inf"), '"Infinity"'),
        ({"a": float("nan")}, '{"a": "NaN"}'),
    ],
    ids=str,
)
def test_what_a_tool_returns_becomes_text_for_the_model(value: Any, content: str) -> None:
    result = result_of("t", value)

    assert result == ToolResult("t", content)
    if not isinstance(value, str):
        json.loads(result.content, parse_constant=pytest.fail)


def test_a_subclass_of_str_becomes_plain_text() -> None:
    class Shouted(str):
        __slots__ = ()

    result = result_of("t", Shouted("HEY"))

    assert type(result.content) is str
    assert result.content == "HEY"


def test_a_tool_result_is_passed_on_as_it_is() -> None:
    result = ToolResult("other", "no", success=False, usage={"total_tokens": 1}, cost_usd=0.1)

    assert result_of("t", result) is result


def looped() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(50_000):
        nested = [nested]
    return nested


UNREADABLE: dict[str, Any] = {
    "object": object(),
    "function": print,
    "loop": looped(),
    "deep": deep(),
    "bytes": b"\xff",
    "keys": {object(): 1},
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_no_model_could_read_is_refused_in_words(kind: str) -> None:
    value = UNREADABLE[kind]

    with pytest.raises(ToolError, match=rf"'t' returned {type(value).__name__}, which JSON cannot"):
        result_of("t", value)


def test_a_tool_that_returns_the_unreadable_answers_with_a_failure() -> None:
    @tool
    def handle() -> object:
        return object()

    result = handle.execute()

    assert not result.success
    assert "returned object, which JSON cannot hold" in result.content


# What a failure says


def test_the_words_of_a_tool_error_are_passed_on_as_they_are() -> None:
    @tool
    def pay() -> str:
        raise ToolError("The card was refused; ask for another.")

    assert pay.execute() == ToolResult(
        "pay", "The card was refused; ask for another.", success=False
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_any_other_exception_is_told_with_its_type(is_async: bool) -> None:
    def fail() -> str:
        raise ConnectionError("no route to the shop")

    async def fail_async() -> str:
        return fail()

    made = tool("fail")(fail_async if is_async else fail)

    for result in (made.execute(), asyncio.run(made.aexecute())):
        assert not result.success
        assert result.content == "ConnectionError: no route to the shop"


def test_arguments_that_do_not_fit_are_told_as_such() -> None:
    assert failure_text(ArgumentsError(["missing 'a'", "missing 'b'"])) == (
        "Invalid arguments: missing 'a'; missing 'b'"
    )


def test_secrets_in_the_text_of_an_exception_are_masked() -> None:
    text = failure_text(RuntimeError("https://ann:s3cret@shop.example/ password=hunter2"))

    assert text.startswith("RuntimeError: ")
    assert "s3cret" not in text
    assert "hunter2" not in text


def test_a_long_text_of_an_exception_is_cut() -> None:
    assert len(failure_text(RuntimeError("x" * 100_000))) < 2_100


def test_an_exception_without_a_text_is_told_by_its_type() -> None:
    assert failure_text(KeyboardInterrupt()) == "KeyboardInterrupt"


def test_an_exception_that_cannot_tell_its_text_is_told_by_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert failure("t", Mute()) == ToolResult("t", "Mute", success=False)
