import json
import re
from typing import Any

import pytest

from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.argument_names import ArgumentNames
from openjarvis.engine.base import Reply, ReplyCall

TAKEN = re.compile("[a-zA-Z0-9_.-]{1,64}")


def names_of(parameters: dict[str, Any]) -> ArgumentNames:
    return ArgumentNames([{"type": "function", "function": {"name": "f", **parameters}}], TAKEN)


def parameters_of(names: ArgumentNames) -> Any:
    return names.offered[0]["function"]["parameters"]


def given(*names: str) -> ArgumentNames:
    schemas: dict[str, Any] = {name: {"type": "string"} for name in names}
    return names_of({"parameters": {"type": "object", "properties": schemas}})


def received(names: ArgumentNames, arguments: str) -> str:
    reply = Reply(tool_calls=[ReplyCall(id="1", name="f", arguments=arguments)])
    return names.received(reply)["tool_calls"][0]["arguments"]


def test_names_that_are_taken_stay_and_nothing_is_wrapped() -> None:
    names, exchange = given("city", "max-results"), object()

    assert list(parameters_of(names)["properties"]) == ["city", "max-results"]
    assert names.around(exchange) is exchange  # type: ignore[arg-type, comparison-overlap]


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("城市", "arg_"),
        ("ชื่อ", "arg_"),
        ("価格 (JPY)", "JPY_"),
        ("2e_prénom", "arg_2e_pr_nom_"),
        ("x" * 65, "x" * 40),
        ("", "arg_"),
    ],
)
def test_another_name_is_replaced_by_one_that_is_taken_and_told_in_the_description(
    name: str, beginning: str
) -> None:
    properties = parameters_of(given(name))["properties"]

    ((theirs, schema),) = properties.items()
    assert TAKEN.fullmatch(theirs)
    assert theirs.startswith(beginning)
    assert schema["description"] == name
    assert list(parameters_of(given("other", name))["properties"])[1] == theirs


def test_a_made_name_is_none_that_another_argument_has() -> None:
    (made,) = parameters_of(given("日本"))["properties"]

    names = given("日本", made)
    theirs = list(parameters_of(names)["properties"])

    assert len(set(theirs)) == 2
    assert made in theirs
    assert json.loads(received(names, json.dumps(dict.fromkeys(theirs, "x")))).keys() == {
        "日本",
        made,
    }


def test_every_place_of_a_schema_is_renamed_and_no_value() -> None:
    inner = {
        "type": "object",
        "properties": {"数量": {"type": "integer", "description": "How many"}},
        "required": ["数量"],
    }
    names = names_of(
        {
            "parameters": {
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": inner},
                    "either": {"anyOf": [inner, {"type": "null"}]},
                    "named": {"$ref": "#/$defs/Named"},
                    "open": {"type": "object", "additionalProperties": inner},
                    "word": {"enum": ["数量"], "default": {"数量": 1}},
                    "any": True,
                },
                "$defs": {"Named": inner},
            }
        }
    )

    written = json.dumps(parameters_of(names), ensure_ascii=False)
    (theirs,) = set(re.findall(r"arg_[0-9a-f]{8}", written))
    assert written.count(f'"{theirs}": {{"type": "integer", "description": "数量: How many"}}') == 4
    assert written.count(f'"required": ["{theirs}"]') == 4
    assert '"word": {"enum": ["数量"], "default": {"数量": 1}}' in written
    assert '"any": true' in written


def test_arguments_come_back_under_the_users_names_and_otherwise_as_written() -> None:
    names = given("城市", "city")
    theirs = next(iter(parameters_of(names)["properties"]))

    written = f'{{ "{theirs}" : "{theirs}", "city": "a \\"{theirs}\\": b", "x": 1.50'

    assert received(names, written) == (
        f'{{ "城市" : "{theirs}", "city": "a \\"{theirs}\\": b", "x": 1.50'
    )


def test_calls_of_the_history_go_out_under_the_providers_names() -> None:
    names = given("城市")
    theirs = next(iter(parameters_of(names)["properties"]))
    made = ToolCall("1", "f", '{"\\u57ce\\u5e02": "城市", "more": [{"城市": 1}]}')
    message = Message(Role.ASSISTANT, "", tool_calls=[made])

    (sent,) = names.sent([message])

    assert (sent.tool_calls or ())[0].arguments == (
        f'{{"{theirs}": "城市", "more": [{{"{theirs}": 1}}]}}'
    )
    assert made.arguments.startswith('{"\\u57ce')


@pytest.mark.parametrize("text", ['{"' + '\\"' * 200_000, '"a' * 200_000, "\\" * 400_000])
def test_any_text_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    assert received(given("城市"), text) == text
