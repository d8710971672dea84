"""Runs one piece of code the way an interactive Python does: state stays, the last value is shown.

The code shares this process with us and may change anything in it; what must hold against it holds
in the parent and in the kernel.
"""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType, TracebackType
    from typing import Any

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing `ast`
_OURS = __file__


class Cells:
    """The code that has run so far and the names it made."""

    def __init__(self) -> None:
        main = sys.modules["__main__"] = type(sys)("__main__")  # where pickle and typing look
        self._names: dict[str, Any] = vars(main)
        self._names["__builtins__"] = _own_builtins()
        self._sources: dict[str, str] = {}

    def define(self, name: str, value: Any) -> None:
        """Give the code a name."""
        self._names[name] = value

    def run(self, source: str) -> int:
        """Run `source` and return the exit code that a program of it would have.

        What it prints, the value of a last expression and the traceback of what it raises go to
        the standard streams.
        """
        name = f"<cell {len(self._sources) + 1}>"
        self._sources[name] = source
        try:
            self._evaluate(*_split(source, name))
        except SystemExit as stop:
            return _exit_code(stop)
        except BaseException as error:  # noqa: BLE001 - the code is foreign and may raise anything
            self._explain(error)
            return 1
        return 0

    def _evaluate(self, body: CodeType, last: CodeType | None) -> None:
        exec(body, self._names)  # noqa: S102 - this process exists to run it
        if last is None:
            return
        value = eval(last, self._names)  # noqa: S307 - as above
        if value is not None:
            text = repr(value)
            self._names["_"] = value
            sys.stdout.write(text + "\n")

    def _explain(self, error: BaseException) -> None:
        # Imported here: most code raises nothing, and these two take several milliseconds.
        import linecache
        import traceback

        for name, source in self._sources.items():
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        shown = _without_our_frames(error.__traceback__)
        traceback.print_exception(type(error), error, shown, file=sys.stderr)


def _own_builtins() -> ModuleType:
    """Return the builtins for the code, a copy: what it breaks of them does not break us."""
    own = sys.modules["builtins"] = type(sys)("builtins", builtins.__doc__)
    vars(own).update(vars(builtins))
    # `site` would give these, at ten times the price.
    vars(own).update(exit=sys.exit, quit=sys.exit)
    return own


def _split(source: str, name: str) -> tuple[CodeType, CodeType | None]:
    tree: Any = compile(source, name, "exec", flags=_ONLY_AST, dont_inherit=True)
    last: Any = None
    if tree.body and type(tree.body[-1]).__name__ == "Expr":
        last = compile("0", name, "eval", flags=_ONLY_AST, dont_inherit=True)
        last.body = tree.body.pop().value
        last = compile(last, name, "eval", dont_inherit=True)
    return compile(tree, name, "exec", dont_inherit=True), last


def _without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == _OURS:
        trace = trace.tb_next
    return trace


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    sys.stderr.write(f"{stop.code}\n")
    return 1
