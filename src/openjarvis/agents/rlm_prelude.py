"""What an `rlm` session is given before the model's first block; it runs inside the sandbox."""

ASK = "_ask_parent"
"""The function that the session is connected with."""

REPORT = "_report()"
"""What is run after each block: tells of an answer that the block has left."""

PRELUDE = '''
import json as _json

answer = {"content": "", "ready": False}


def _asked(**question):
    return _json.loads(_ask_parent(_json.dumps(question)))


def _texts(prompts):
    replies = _asked(prompts=[str(prompt) for prompt in prompts])
    if isinstance(replies, str):
        raise RuntimeError(replies)
    return replies


def llm_query(prompt):
    """Return what a sub-model answers."""
    (reply,) = _texts([prompt])
    if reply["error"]:
        raise RuntimeError(reply["error"])
    return reply["text"]


def llm_query_batched(prompts):
    """Return what sub-models answer, asked at the same time, in the order of the prompts."""
    return [reply["text"] or reply["error"] for reply in _texts(prompts)]


def FINAL(value):
    """End with this answer."""
    _asked(final=str(value)[:1000000])


def FINAL_VAR(name):
    """End with what the variable of this name holds; many models give the variable itself."""
    FINAL(globals().get(name, name) if isinstance(name, str) else name)


def _report():
    if isinstance(answer, dict) and answer.get("ready"):
        FINAL(answer.get("content", ""))
'''
