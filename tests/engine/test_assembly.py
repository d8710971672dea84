import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openai_server import delta, fragment
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.engine.assembly import Assembly
from openjarvis.engine.call_pieces import Arguments
from openjarvis.engine.errors import Server
from openjarvis.engine.messages import reply_of

SERVER = Server("127.0.0.1:1")
PARIS, ROME = '{"city": "Paris"}', '{"city": "Rome"}'


def calls_of(*chunks: Any) -> list[tuple[str, str]]:
    assembly = Assembly(server=SERVER)
    for chunk in (*chunks, delta("tool_calls")):
        assembly.feed(chunk)
    reply = reply_of(assembly.completion(), model="m", server=SERVER)
    made = reply.get("tool_calls", [])
    assert len({entry["id"] for entry in made} - {""}) == len(made)
    return [(entry["name"], entry["arguments"]) for entry in made]


def letters(text: str, **where: Any) -> list[dict[str, Any]]:
    return [fragment(letter, **where) for letter in text]


TWO = [("weather", PARIS), ("weather", ROME)]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    {
        "by index": (
            [
                fragment("", call_id="a", name="weather"),
                *letters(PARIS),
                fragment("", index=1, call_id="b", name="weather"),
                *letters(ROME, index=1),
            ],
            TWO,
        ),
        "by index, interleaved": (
            [
                fragment(index=0, call_id="a", name="weather"),
                fragment(index=1, call_id="b", name="weather"),
                fragment(PARIS[:5], index=0),
                fragment(ROME[:9], index=1),
                fragment(PARIS[5:], index=0),
                fragment(ROME[9:], index=1),
            ],
            TWO,
        ),
        "whole, by index": (
            [
                fragment(PARIS, index=0, call_id="a", name="weather"),
                fragment(ROME, index=1, call_id="b", name="weather"),
            ],
            TWO,
        ),
        "whole, all of one index, by id": (
            [
                fragment(PARIS, call_id="a", name="weather"),
                fragment(ROME, call_id="b", name="weather"),
            ],
            TWO,
        ),
        "whole, all of one index, without ids": (
            [fragment(PARIS, name="weather"), fragment(ROME, name="weather")],
            TWO,
        ),
        "whole, of one index and one id": (
            [
                fragment(PARIS, index=0, call_id="same", name="weather"),
                fragment(ROME, index=1, call_id="same", name="weather"),
            ],
            TWO,
        ),
        "whole, without index": (
            [
                fragment(PARIS, index=None, call_id="a", name="weather"),
                fragment(ROME, index=None, call_id="b", name="weather"),
            ],
            TWO,
        ),
        "whole, without index and id": (
            [
                fragment(PARIS, index=None, name="weather"),
                fragment(ROME, index=None, name="weather"),
            ],
            TWO,
        ),
        "whole, in one chunk, without index and id": (
            [
                delta(
                    tool_calls=[
                        {"function": {"name": "weather", "arguments": PARIS}},
                        {"function": {"name": "weather", "arguments": ROME}},
                    ]
                )
            ],
            TWO,
        ),
        "whole, arguments as objects": (
            [
                fragment(json.loads(PARIS), index=0, name="weather"),
                fragment(json.loads(ROME), index=1, name="weather"),
            ],
            TWO,
        ),
        "no index, ids on the first fragments only": (
            [
                fragment(index=None, call_id="a", name="weather"),
                *letters(PARIS, index=None),
                fragment(index=None, call_id="b", name="weather"),
                *letters(ROME, index=None),
            ],
            TWO,
        ),
        "no index, ids on all fragments, interleaved": (
            [
                fragment(index=None, call_id="a", name="weather"),
                fragment(index=None, call_id="b", name="weather"),
                fragment(PARIS, index=None, call_id="a"),
                fragment(ROME, index=None, call_id="b"),
            ],
            TWO,
        ),
        "no index and no ids": (
            [
                fragment(index=None, name="weather"),
                *letters(PARIS, index=None),
                fragment(index=None, name="weather"),
                *letters(ROME, index=None),
            ],
            TWO,
        ),
        "another id on every fragment": (
            [
                fragment(call_id="a", name="weather"),
                fragment(PARIS[:5], call_id="b"),
                fragment(PARIS[5:], call_id="c"),
            ],
            TWO[:1],
        ),
        "no index, another id on every fragment": (
            [
                fragment(index=None, call_id="a", name="weather"),
                fragment(PARIS[:5], index=None, call_id="b"),
                fragment(PARIS[5:], index=None, call_id="c"),
            ],
            TWO[:1],
        ),
        "id and name on every fragment": (
            letters(PARIS, call_id="a", name="weather"),
            TWO[:1],
        ),
        "name on every fragment, no id": (letters(PARIS, name="weather"), TWO[:1]),
        "the name in letters": (
            [*(fragment(name=letter) for letter in "ffmpeg"), fragment("{}")],
            [("ffmpeg", "{}")],
        ),
        "the name in letters, no index": (
            [
                *(fragment(index=None, name=letter) for letter in "ffmpeg"),
                fragment("{}", index=None),
            ],
            [("ffmpeg", "{}")],
        ),
        "name on every fragment, no index and no id, no arguments at first": (
            [fragment("", index=None, name="weather"), *letters(PARIS, index=None, name="weather")],
            TWO[:1],
        ),
        "whole, the first without arguments, all of one index": (
            [fragment("", name="now"), fragment(PARIS, name="weather")],
            [("now", ""), TWO[0]],
        ),
        "whole, the first without arguments, without index": (
            [fragment("", index=None, name="now"), fragment(PARIS, index=None, name="weather")],
            [("now", ""), TWO[0]],
        ),
        "the name after an empty beginning": (
            [fragment("", call_id="a"), fragment(PARIS, name="weather")],
            TWO[:1],
        ),
        "name on every fragment, and once more at the end": (
            [*letters(PARIS, name="weather"), fragment("", name="weather")],
            TWO[:1],
        ),
        "id and name on every fragment, and once more at the end": (
            [
                *letters(PARIS, call_id="a", name="weather"),
                fragment(" ", call_id="a", name="weather"),
            ],
            [("weather", PARIS + " ")],
        ),
        "whole, all of one index and one id": (
            [
                fragment(PARIS, call_id="a", name="weather"),
                fragment(ROME, call_id="a", name="weather"),
            ],
            TWO,
        ),
        "whole, all of one id, without index": (
            [
                fragment(PARIS, index=None, call_id="a", name="weather"),
                fragment(ROME, index=None, call_id="a", name="weather"),
            ],
            TWO,
        ),
        "no arguments at all": ([fragment(call_id="a", name="now")], [("now", "")]),
        "no name": ([fragment(PARIS, call_id="a")], [("", PARIS)]),
        "nothing but an index": ([fragment()], [("", "")]),
        "no call": ([delta(tool_calls=[]), delta(tool_calls=None), delta(tool_calls={})], []),
        "garbage": ([delta(tool_calls=[None, 3, "x", {"function": "x"}])], [("", "")]),
    }.values(),
    ids=lambda value: "",
)
def test_calls_are_put_together_however_they_are_cut(
    chunks: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    assert calls_of(*chunks) == expected


@given(st.lists(st.integers(1, 40), max_size=30))
def test_any_cut_of_the_arguments_gives_the_same_call(cuts: list[int]) -> None:
    text = json.dumps({"city": "เชียงใหม่", "days": [1, 2, {"a": "}{"}]}, ensure_ascii=False)
    pieces, rest = [], text
    for size in cuts:
        pieces.append(rest[:size])
        rest = rest[size:]

    made = calls_of(
        fragment(call_id="a", name="weather"), *(fragment(piece) for piece in [*pieces, rest])
    )

    assert made == [("weather", text)]


FIELDS = "choices delta index id function name arguments tool_calls content finish_reason"
MORE_FIELDS = "refusal reasoning reasoning_details usage model extra_content"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "{}", "weather"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(f"{FIELDS} {MORE_FIELDS}".split()),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(st.lists(st.builds(lambda inner: {"choices": [{"delta": inner}]}, JSON) | JSON, max_size=6))
def test_no_chunk_makes_it_fail(chunks: list[Any]) -> None:
    assembly = Assembly(server=SERVER)
    for chunk in (*chunks, delta("stop")):
        assert isinstance(assembly.feed(chunk), str)

    reply = reply_of(assembly.completion(), model="m", server=SERVER)

    json.dumps(reply)
    assert isinstance(reply["content"], str)


def test_only_the_first_choice_is_read() -> None:
    assembly = Assembly(server=SERVER)
    other = {"choices": [{"index": 1, "delta": {"content": "no"}}]}

    assert assembly.feed(other) == ""
    assert assembly.feed(delta(content="yes")) == "yes"


def test_without_a_reason_to_finish_it_is_no_completion() -> None:
    assembly = Assembly(server=SERVER)
    assembly.feed(delta(content="Half"))

    with pytest.raises(LLMError, match="broke off") as failed:
        assembly.completion()

    assert failed.value.code is LLMErrorCode.UNAVAILABLE


JSON_OBJECTS = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none() | st.text(alphabet='a"\\{}[] \n', max_size=6) | st.integers(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=4,
    ),
    max_size=3,
)


@given(JSON_OBJECTS, st.lists(st.integers(0, 80)), st.sampled_from(["", " ", "\n "]))
def test_arguments_are_whole_at_their_end_and_never_before(
    given_object: dict[str, Any], cuts: list[int], blank: str
) -> None:
    written = blank + json.dumps(given_object) + blank
    ends = sorted({cut for cut in cuts if cut < len(written)} | {len(written)})
    arguments, start = Arguments(), 0

    for end in ends:
        arguments.add(written[start:end])
        start = end
        assert arguments.are_whole() is (end >= len(written.rstrip()))

    arguments.add("}")
    assert not arguments.are_whole()


@pytest.mark.parametrize("text", ["", " ", "[]", '"{}"', "{}{}", "{} x", '{"a":1,}', "{'a': 1}"])
def test_what_is_no_single_object_is_never_whole(text: str) -> None:
    arguments = Arguments()

    arguments.add(text)

    assert not arguments.are_whole()
