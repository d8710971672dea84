"""What models really write as arguments, and what each text must give.

A row is a text with the arguments that run, or with words of the refusal. Every row goes through
the executor: what is refused never runs, and is answered and recorded all the same.
"""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.record import Detail, Outcome
from openjarvis.execution.trip import Run
from openjarvis.toolkit.function import tool


class Address(BaseModel):
    street: str
    zip: int = 0


def recording_executor() -> tuple[ToolExecutor, list[dict[str, Any]]]:
    ran: list[dict[str, Any]] = []

    @tool
    def book(
        city: Annotated[str, "Where"] = "",
        nights: int = 1,
        price: float = 0.0,
        breakfast: bool = False,
        tags: list[str] | None = None,
        rooms: list[int] | None = None,
        address: Address | None = None,
    ) -> str:
        ran.append({"city": city, "nights": nights})
        return "booked"

    return ToolExecutor([book]), ran


ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    # strict JSON
    ("", {}),
    ("   \n", {}),
    ("{}", {}),
    ('{"city": "Oslo"}', {"city": "Oslo"}),
    (' \t{"city": "Oslo"}\r\n', {"city": "Oslo"}),
    ('{"city": "กรุงเทพ", "nights": 2}', {"city": "กรุงเทพ", "nights": 2}),
    ('{"city": "\\u4eac\\u90fd"}', {"city": "京都"}),
    ('{"city": "\\ud83d\\ude00"}', {"city": "😀"}),
    ('{"city": "a\\u0000b"}', {"city": "a\x00b"}),
    ('{"price": -0.5e1}', {"price": -5.0}),
    ('{"city": "[[[[{{{{"}', {"city": "[[[[{{{{"}),
    # fences
    ('```json\n{"city": "Oslo"}\n```', {"city": "Oslo"}),
    ('```\n{"city": "Oslo"}\n```', {"city": "Oslo"}),
    ('```json {"city": "Oslo"} ```', {"city": "Oslo"}),
    ('  ```JSON\r\n{"city": "Oslo"}\r\n```  \n', {"city": "Oslo"}),
    # Python's spelling
    ("{'city': 'Oslo'}", {"city": "Oslo"}),
    ("{'city': \"it's\"}", {"city": "it's"}),
    ("{'breakfast': True, 'tags': None}", {"breakfast": True, "tags": None}),
    ("{'breakfast': true, 'tags': null}", {"breakfast": True, "tags": None}),
    ("{'city': 'say \"hi\"'}", {"city": 'say "hi"'}),
    ("{'city': 'true'}", {"city": "true"}),
    ("{'tags': ('a', 'b')}", {"tags": ["a", "b"]}),
    ("```python\n{'city': 'Oslo',}\n```", {"city": "Oslo"}),
    # trailing commas
    ('{"city": "Oslo",}', {"city": "Oslo"}),
    ('{"tags": ["a", "b",],}', {"tags": ["a", "b"]}),
    ('{"city": "a,}",}', {"city": "a,}"}),
    ('{"city": "C:\\/x",}', {"city": "C:/x"}),
    # encoded twice
    ('"{\\"city\\": \\"Oslo\\"}"', {"city": "Oslo"}),
    ("\"{'city': 'Oslo'}\"", {"city": "Oslo"}),
    ('{"address": "{\\"street\\": \\"Main\\"}"}', {"address": {"street": "Main"}}),
    ('{"tags": "[\\"a\\", \\"b\\"]"}', {"tags": ["a", "b"]}),
    # coercions that lose nothing
    ('{"nights": "3"}', {"nights": 3}),
    ('{"nights": " 3 "}', {"nights": 3}),
    ('{"nights": "-3"}', {"nights": -3}),
    ('{"price": "12.50"}', {"price": 12.5}),
    ('{"price": "1e3"}', {"price": 1000.0}),
    ('{"breakfast": "true"}', {"breakfast": True}),
    ('{"breakfast": "False"}', {"breakfast": False}),
    ('{"tags": "beach"}', {"tags": ["beach"]}),
    ('{"rooms": 7}', {"rooms": [7]}),
    ('{"rooms": "7"}', {"rooms": [7]}),
    ('{"rooms": ["7", 8]}', {"rooms": [7, 8]}),
    ('{"address": {"street": "Main", "zip": "0"}}', {"address": {"street": "Main", "zip": 0}}),
]

JSON = "Invalid arguments JSON"
REFUSED: list[tuple[str, str]] = [
    # cut off: half a call is not a call
    ('{"city": "Os', JSON),
    ('{"city": "Oslo"', JSON),
    ('{"city": "Oslo",', JSON),
    ('{"city":', JSON),
    ("{", JSON),
    ("{'city': 'Os", JSON),
    ("{'city': 'Oslo'", JSON),
    ('```json\n{"city": "Os', JSON),
    ('```json\n{"city": "Oslo"\n```', JSON),
    ('"{\\"city\\": \\"Os', JSON),
    ('"{\\"city\\": \\"Os"', JSON),
    ('{"tags": ["a", "b"', JSON),
    ('{"breakfast": tru', JSON),
    # joined or wrapped: which one was meant is a guess
    ('{"city": "Oslo"}{"city": "Rome"}', JSON),
    ('{"city": "Oslo"} {"nights": 2}', JSON),
    ('{"city": "Oslo"} trailing words', JSON),
    ('Sure! {"city": "Oslo"}', JSON),
    ("city=Oslo", JSON),
    ("<city>Oslo</city>", JSON),
    ("{city: Oslo}", JSON),
    ("{city: 'Oslo'}", JSON),
    ('{"city" "Oslo"}', JSON),
    ('{"city": "Oslo" "nights": 2}', JSON),
    ('{"city": /* here */ "Oslo"}', JSON),
    ('{"city": “Oslo”}', JSON),
    ('{"city": "a\nb"}', JSON),
    ('{"city": "C:\\dir"}', JSON),
    ("{'city': b'x'}", JSON),
    ("{'city': f'{1}'}", JSON),
    ("{'city': __import__('os').system('true')}", JSON),
    ("{**{'city': 'x'}}", JSON),
    ("{'nights': 1+2j}", JSON),
    ("{'tags': {'a', 'b'}}", JSON),
    ("{1: 2}", JSON),
    ('\ufeff{"city": "Oslo"}', JSON),
    ('{"city": "Oslo"}\x00', JSON),
    # what JSON does not have
    ('{"price": NaN}', JSON),
    ('{"price": Infinity}', JSON),
    ('{"price": -Infinity}', JSON),
    ('{"price": 1e999}', JSON),
    ('{"nights": 01}', JSON),
    ('{"nights": ' + "9" * 5_000 + "}", JSON),
    ('{"city": "a", "city": "b"}', JSON),
    ("{'city': 'a', 'city': 'b'}", JSON),
    ('{"address": {"street": "a", "street": "b"}}', JSON),
    ('{"city": "\\ud800"}', JSON),
    ('{"city": "\ud800"}', JSON),
    ('{"\\udfff": 1}', JSON),
    # out of bounds
    ("[" * 10_000 + "]" * 10_000, JSON),
    ('{"a":' * 10_000 + "1" + "}" * 10_000, JSON),
    ("[" * 10_000, JSON),
    ('{"city": "' + "x" * 2_000_000 + '"}', JSON),
    ("(" * 60_000, JSON),
    ("'" * 60_001, JSON),
    # JSON, but no object
    ("null", "Invalid arguments: expected a JSON object, got NoneType."),
    ("5", "Invalid arguments: expected a JSON object, got int."),
    ("5.0", "Invalid arguments: expected a JSON object, got float."),
    ("true", "Invalid arguments: expected a JSON object, got bool."),
    ("[]", "Invalid arguments: expected a JSON object, got list."),
    ('[{"city": "Oslo"}]', "Invalid arguments: expected a JSON object, got list."),
    ('"Oslo"', "Invalid arguments: expected a JSON object, got str."),
    ("['Oslo']", "Invalid arguments: expected a JSON object, got list."),
    # an object that does not fit
    ('{"city": 5}', "'city' must be a string, got integer 5"),
    ('{"city": null}', "'city' must be a string, got null"),
    ('{"city": ["Oslo"]}', "'city' must be a string, got an array of 1"),
    ('{"nights": "three"}', "'nights' must be an integer, got string \"three\""),
    ('{"nights": "03"}', "'nights' must be an integer"),
    ('{"nights": "3.5"}', "'nights' must be an integer"),
    ('{"nights": 3.5}', "'nights' must be an integer"),
    ('{"nights": true}', "'nights' must be an integer"),
    ('{"nights": "9999999999999999999999"}', "'nights' must be an integer"),
    ('{"price": "nan"}', "'price' must be a number"),
    ('{"breakfast": 1}', "'breakfast' must be a boolean"),
    ('{"breakfast": "yes"}', "'breakfast' must be a boolean"),
    ('{"rooms": ["7", "x"]}', "'rooms.1' must be an integer"),
    ('{"address": {"zip": 1}}', "missing 'street' in 'address'"),
    ('{"address": {"street": "a", "town": "b"}}', "unknown argument 'town' in 'address'"),
    ('{"address": "Main Street 1"}', "'address' must be"),
    ('{"cty": "Oslo"}', "unknown argument 'cty' (did you mean 'city'?)"),
    ('{"self": 1}', "unknown argument 'self'"),
    ('{"function": 1, "params": 2}', "unknown argument 'function'"),
    ('{"__class__": 1}', "unknown argument '__class__'"),
]


def short(text: str) -> str:
    return text.encode("unicode_escape").decode()[:40]


@pytest.mark.parametrize(("text", "arguments"), ACCEPTED, ids=lambda value: short(str(value)))
def test_a_complete_text_runs_with_what_it_says(text: str, arguments: dict[str, Any]) -> None:
    executor, ran = recording_executor()

    result, record = executor.perform(ToolCall("1", "book", text), Run())

    assert result.success, result.content
    assert record.outcome is Outcome.RAN
    assert record.arguments == arguments
    assert repr(record.arguments) == repr(arguments)
    assert record.input == text
    assert len(ran) == 1


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=lambda value: short(str(value)))
def test_any_other_text_is_refused_in_words_and_never_runs(text: str, words: str) -> None:
    executor, ran = recording_executor()
    run = Run()

    result, record = executor.perform(ToolCall("1", "book", text), run)

    assert ran == []
    assert not result.success
    assert words in result.content
    assert len(result.content) < 1_000
    assert (record.outcome, record.detail) == (Outcome.FAILED, Detail.INVALID_ARGUMENTS)
    assert record.input == text
    assert record.output == result.content
    assert run.records == [record]


def test_the_table_is_as_long_as_was_asked_for() -> None:
    assert len(ACCEPTED) + len(REFUSED) >= 60


def test_a_repaired_text_is_kept_beside_the_one_the_model_wrote() -> None:
    executor, _ = recording_executor()

    record = executor.perform(ToolCall("1", "book", "{'city': 'Oslo',}"), Run()).record

    assert record.input == "{'city': 'Oslo',}"
    assert record.repaired == '{"city": "Oslo"}'


def test_arguments_that_are_no_text_are_refused() -> None:
    executor, ran = recording_executor()

    result = executor.execute(ToolCall("1", "book", {"city": "Oslo"}))  # type: ignore[arg-type]

    assert "Invalid arguments JSON: expected text, got dict" in result.content
    assert ran == []
