"""Common approvers, built from rules: `llm.policy(allow_read_only=True, deny=["delete_*"], …)`."""

import re
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, TextIO

from openjarvis.core.strict_json import dumps
from openjarvis.execution.approval import Decision, Denied, ToolCallRequest
from openjarvis.execution.record import one_line

Limit = float | Callable[[Any], bool]
"""The largest value an argument may have, or a test that it must pass."""

LONGEST_QUESTION = 5_000
"""Arguments with more characters are denied: nobody reads them before answering."""
_QUESTIONS = 3
_STILL_SECONDS = 0.05
_MOST_FLUSHES = 2_000
_BLANKS = re.compile(r" {20,}+")
# Unicode calls them printable, but they show as nothing, and hundreds of them hide a text: fillers,
# blanks, joiners, and selectors of variants but for the one that makes a sign an emoji.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0"
    "\U0001d159\U000e0000-\U000e0fff]|(?<![\u2190-\u33ff\U0001f000-\U0001faff])\ufe0f"
)


class Policy:
    """Decides by rules, in this order: denied names, limits, allowed names, the rest.

    Never blocks unless it asks on the terminal. One policy serves many runs and threads; an answer
    "always" holds for the life of the policy.
    """

    def __init__(
        self,
        *,
        allow: Sequence[str],
        deny: Sequence[str],
        allow_read_only: bool,
        limits: Mapping[str, Limit],
        otherwise: str | None,
        only_confirmations: bool,
        terminal: "Terminal",
    ) -> None:
        self._allow = tuple(allow)
        self._deny = tuple(deny)
        self._allow_read_only = allow_read_only
        self._limits = dict(limits)
        self._otherwise = otherwise
        self._only_confirmations = only_confirmations
        self._terminal = terminal

    @property
    def asks(self) -> bool:
        """Whether a decision may wait for a person at the terminal."""
        return self._otherwise == "ask"

    def __call__(self, request: ToolCallRequest) -> Decision:
        if _matches(request.name, self._deny):
            return Denied(f"{request.name} is not allowed here", code="DENIED_BY_POLICY")
        for rule, limit in self._limits.items():
            refusal = _over_limit(request, rule, limit)
            if refusal is not None:
                return refusal
        if _matches(request.name, self._allow):
            return None
        if self._allow_read_only and request.spec.read_only:
            return None
        if self._only_confirmations and not request.spec.requires_confirmation:
            return None
        if self._otherwise == "allow":
            return None
        if self._otherwise == "ask":
            return self._terminal.ask(request)
        if self._otherwise is None and not request.spec.requires_confirmation:
            return None
        return Denied(f"{request.name} is not on the list of allowed tools", code="NOT_ALLOWED")


def policy(
    *,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    allow_read_only: bool = False,
    limits: Mapping[str, Limit] | None = None,
    otherwise: str | None = None,
    only_confirmations: bool = False,
    terminal: "Terminal | None" = None,
) -> Policy:
    """Return an approver made of rules.

    `allow` and `deny` are names or patterns (`delete_*`). `limits` maps `tool.argument` (the tool
    may be a pattern) to the largest value allowed or to a test. `otherwise` decides about the rest:
    "allow", "deny" or "ask" (a person at the terminal: y, n with a reason, or always for this
    tool). By default the rest is denied when there is any rule that allows; else it is allowed, but
    for tools with `requires_confirmation`. With `only_confirmations` it decides about those alone.
    `terminal` is where a person is asked, the process's own by default.

    ```python
    approve = llm.policy(allow_read_only=True, limits={"refund.amount": 100}, otherwise="ask")
    ```

    Raises:
        ValueError: when a rule cannot be read.
    """
    chosen = "deny" if otherwise is None and (allow or allow_read_only) else otherwise
    if chosen not in ("allow", "deny", "ask", None):
        raise ValueError(f"otherwise={otherwise!r}: expected 'allow', 'deny' or 'ask'.")
    for name, patterns in (("allow", allow), ("deny", deny)):
        if isinstance(patterns, str):
            raise ValueError(f"{name}={patterns!r}: expected a list of names, [{patterns!r}].")
    for rule, limit in (limits or {}).items():
        _check_limit(rule, limit)
    return Policy(
        allow=allow,
        deny=deny,
        allow_read_only=allow_read_only,
        limits=limits or {},
        otherwise=chosen,
        only_confirmations=only_confirmations,
        terminal=terminal or Terminal(),
    )


def read_by_a_person(request: ToolCallRequest) -> str | Denied:
    """Return all arguments of a call on one line, or the refusal when they are too long to read."""
    arguments = dumps(request.arguments)
    if len(arguments) > LONGEST_QUESTION:
        return Denied(
            f"its arguments have {len(arguments):,} characters, more than a person is asked about "
            f"({LONGEST_QUESTION:,})"
        )
    return _visible(one_line(arguments, LONGEST_QUESTION))


class Terminal:
    """Asks a person at the terminal, one question at a time; without a terminal it denies."""

    def __init__(self, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._source = source
        self._sink = sink
        self._always: set[str] = set()
        self._lock = Lock()

    def ask(self, request: ToolCallRequest) -> Decision:
        """Return what the person decides."""
        source, sink = self._source or sys.stdin, self._sink or sys.stderr
        with self._lock:
            if request.name in self._always:
                return None
            if source is None or not source.isatty():
                return Denied("this call needs an approval, and there is no terminal to ask on")
            shown = read_by_a_person(request)
            if isinstance(shown, Denied):
                return shown
            sink.write(f"\n{request.name} wants to run with {shown}\n")
            for _ in range(_QUESTIONS):
                _forget_what_was_typed(source)
                sink.write("Allow? [y]es, [n]o and why, [a]lways for this tool: ")
                sink.flush()
                line = source.readline()
                if not line.endswith("\n"):  # Ctrl-D, or the terminal is gone
                    sink.write("\n")
                    break
                word, _, reason = line.strip().partition(" ")
                answer = word.lower().rstrip(",:")
                if answer in ("n", "no"):
                    return Denied(reason.strip() or "the user said no", code="DENIED_BY_USER")
                if reason:
                    continue  # "yes, if …" is no yes
                if answer in ("a", "always"):
                    self._always.add(request.name)
                if answer in ("y", "yes", "a", "always"):
                    return None
            return Denied("the user gave no answer", code="DENIED_BY_USER")


def _visible(text: str) -> str:
    """Return `text` with what shows as nothing written out: it could push the rest out of sight."""
    text = _BLANKS.sub(lambda found: f"[{len(found[0])} blanks]", text)
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _forget_what_was_typed(source: TextIO) -> None:
    """Drop what was typed or pasted before the question could be seen: it answers nothing."""
    try:
        import termios  # Windows has none
    except ImportError:
        return
    # A source without a descriptor holds no such input.
    with suppress(OSError, ValueError, termios.error):
        for _ in range(_MOST_FLUSHES):
            termios.tcflush(source.fileno(), termios.TCIFLUSH)
            # A terminal takes a long paste in pieces; the next one comes as soon as there is room.
            if not select.select([source], [], [], _STILL_SECONDS)[0]:
                return


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check_limit(rule: str, limit: Any) -> None:
    if "." not in rule:
        raise ValueError(f"The limit {rule!r} must name tool.argument, e.g. 'refund.amount'.")
    if not callable(limit) and (isinstance(limit, bool) or not isinstance(limit, int | float)):
        raise ValueError(f"The limit {rule!r} is {limit!r}: expected a number or a function.")


def _over_limit(request: ToolCallRequest, rule: str, limit: Limit) -> Denied | None:
    pattern, _, argument = rule.rpartition(".")
    if not fnmatchcase(request.name, pattern):
        return None
    # An argument left out runs with its default, which is held to the limit too.
    properties = request.spec.parameters.get("properties", {})
    if pattern == request.name and argument not in properties:
        # A limit on nothing is a slip, and a slip must not open what was meant to be closed.
        return Denied(f"the limit {rule!r} names no argument of {request.name}", code="OVER_LIMIT")
    value = request.arguments.get(argument, properties.get(argument, {}).get("default"))
    if value is None:
        return None
    try:
        passes = bool(limit(value)) if callable(limit) else value <= limit
    except Exception:  # noqa: BLE001 - a test of the user's may raise anything: then it did not pass
        passes = False
    if passes:
        return None
    bound = "its rule" if callable(limit) else f"the limit of {limit:g}"
    return Denied(
        f"{argument}={one_line(str(value), 60)} is over {bound} for {request.name}",
        code="OVER_LIMIT",
    )
