from typing import Any

import pytest

from openjarvis.engine.written_calls import NotWritten, read_call

OFFERED = {"f": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("f()", {}),
        ("f( )", {}),
        ("f(1)", {"a": 1}),
        ("f(1, 'x', c=None)", {"a": 1, "b": "x", "c": None}),
        ("f(b=2)", {"b": 2}),
        ("f(a=True, b=False, c=None)", {"a": True, "b": False, "c": None}),
        ("f(a=true, b=false, c=null)", {"a": True, "b": False, "c": None}),
        ("f(a=-1.5e3)", {"a": -1500.0}),
        ('f(a=[1, {"x": []}])', {"a": [1, {"x": []}]}),
        ("f(a='it\\'s')", {"a": "it's"}),
        ("f(a='say \"hi\"')", {"a": 'say "hi"'}),
        ("f(a=')')", {"a": ")"}),
        ('f(a="x\\ny")', {"a": "x\ny"}),
        ("f(a='x\ny')", {"a": "x\ny"}),
        ("f(a='C:\\\\dir')", {"a": "C:\\dir"}),
        ("f ()", None),
        ("f(\na = 1 ,\n)", {"a": 1}),
        ("f(,)", None),
        ("f(a=)", None),
        ("f(a=1 b=2)", None),
        ("f(a=x)", None),
        ("f(a=Truely)", None),
        ("f(a='x)", None),
        ("f(a=['x'])", None),
        ("f(a=\\'x\\')", None),
        ("f(1, a=2)", None),
        ("f(b=1, 2)", None),
        ("f(a=1, a=2)", None),
        ("f(d=1)", None),
        ("f(**{})", None),
        ("g()", None),
        ("", None),
    ],
)
def test_a_call_is_read_or_refused(text: str, arguments: dict[str, Any] | None) -> None:
    if arguments is None:
        with pytest.raises(NotWritten):
            read_call(text, 0, OFFERED)
    else:
        call = read_call(text + " and more", 0, OFFERED)

        assert call.arguments == arguments
        assert call.end == len(text)


def test_a_call_is_read_where_it_begins() -> None:
    assert read_call("so f(1)", 3, OFFERED).arguments == {"a": 1}
