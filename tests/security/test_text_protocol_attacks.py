"""No text that a model writes takes the parsers more time than its length."""

import json
import subprocess
import sys

import pytest

REPEATED = [
    " ", "\t", "\n", "\r\n", "a", "_", "*", "`", "~", "#", ">", "-", "1. ", "> * ", ":", "：",
    "{", "}", "[", "]", "(", ")", '"', "'", "\\", "<", "<think>", "</think>", "```", "```\n",
    "~~~\n", "```python\n", "Thought", "Thought:", "Thought: \n", "Action", "Action:",
    "Action: f\n", "Action Input:", "Action: f\nAction Input:",
    'Action: f\nAction Input: {"a":\n', "Observation", " Observation", "Observation:\n",
    "Final Answer", "Final Answer ", "Final Answer\n", "final_", "THOUGHT: ", "TOOL:",
    "TOOL: f\nINPUT: ", "INPUT", "input ", "FINAL_ANSWER", "FINAL(", "FINAL_VAR(", "FINAL(a)\n",
    "```\nFINAL(1)\n```\nx\n", 'FINAL("', "FINAL(\nx\n)\n",
    "import ", "from a", "a.", "print(", "a = ", "f(", "f(a=", "f(a='", "f[", "f ",
    "[TOOL_CALLS] ", "<tool_call>", '<tool_call>{"name":', '{"name": "f", ', '{"a":"x",}',
    "密", "ั", "\u200b", "\x00",
]  # fmt: skip
BEFORE = [
    "",
    "Thought",
    "Final Answer",
    "Action: f\nAction Input: a",
    "```",
    "```python\n",
    "TOOL: f\nINPUT: {",
    "f(",
    "<tool_call>",
]
_CHILD = """
import json, signal, sys
from openjarvis.agents.code_protocol import CODE_ACT
from openjarvis.agents.keyword_protocol import REACT, STRUCTURED
from openjarvis.agents.rlm import PROTOCOL
from openjarvis.toolkit.base import ToolSpec
spec = ToolSpec("f", "", {"type": "object", "properties": {"a": {"type": "string"}}})
before, repeated = json.load(sys.stdin)
for unit in repeated:
    for start in before:
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)  # of CPU time; the signal ends the process
        for protocol in (REACT, STRUCTURED, CODE_ACT, PROTOCOL):
            protocol.parse(start + (unit * LENGTH)[:LENGTH] + "b", [spec])
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(json.dumps([start, unit]), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX timers")
def test_no_repetition_takes_a_parser_more_time_than_its_length() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _CHILD.replace("LENGTH", "20_000")],
        input=json.dumps([BEFORE, REPEATED]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    finished = [json.loads(line) for line in child.stdout.splitlines()]

    assert finished == [[start, unit] for unit in REPEATED for start in BEFORE]
