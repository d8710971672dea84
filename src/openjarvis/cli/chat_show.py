"""How a turn looks: the answer on stdout as it is written, calls and remarks on stderr."""

from typing import TextIO

import click

from openjarvis.cli import call_lines
from openjarvis.cli.ask import CUT_OFF
from openjarvis.cli.chat_progress import ProgressLine
from openjarvis.execution.record import CallRecord
from openjarvis.llm.loop import Conversation
from openjarvis.llm.response import FinishReason
from openjarvis.llm.stream import (
    StepEvent,
    StreamEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from openjarvis.safety.terminal import plain

_TAIL = 100


class Show:
    """Shows one turn: answers on `out` unless `is_silent`, progress of tools on `line`."""

    def __init__(self, out: TextIO | None, line: ProgressLine, *, is_silent: bool = False) -> None:
        self._out = out
        self._line = line
        self._is_silent = is_silent
        self._running: dict[str, str] = {}
        self._is_in_line = False
        self._held = ""
        self._step: list[str] = []
        self._tail = ""
        self._is_turn_over = False
        self._goes_to_stderr = False

    def event(self, event: StreamEvent, *, is_answer: bool) -> None:
        """Show what happened; text that `is_answer` goes to stdout.

        Other text may turn out to be the answer as it stands, so it is shown when its turn is over;
        until then its last line tells that it is written.
        """
        if isinstance(event, TextEvent):
            if is_answer:
                self._write(event.text, is_answer=True)
            else:
                self._hold(event.text)
        elif isinstance(event, ToolCallEvent):
            self._running[event.call.id] = event.call.name
            self._remark(call_lines.asked(event.call.name, event.call.arguments), dim=True)
        elif isinstance(event, ToolResultEvent):
            self._running.pop(event.record.call_id, None)
            self._ended(event.record)
        elif isinstance(event, StepEvent):
            self._is_turn_over = True
            self._end_line()

    def progress(self, call_id: str, text: str) -> None:
        """Show how far a running tool is; any thread may call."""
        name = self._running.get(call_id)
        if name is not None:  # a tool that was given up may still speak
            self._line.show(f"… {name}: {text}")

    def close(self) -> None:
        """End what is shown, also in the middle of a line, and show no more progress."""
        self._running.clear()
        self._show_step(self._taken_step())
        self._end_line()
        with self._line.hidden():
            pass

    def answer(self, text: str) -> None:
        """Show a whole answer."""
        self._write(text, is_answer=True)
        self._end_line()

    def stopped(self) -> None:
        """Show that the user stopped the turn."""
        self._remark("Stopped.")

    def end(self, conversation: Conversation) -> None:
        """Show the answer where it was not shown yet, and what is to be known of it."""
        response = conversation.response()
        step = self._taken_step()
        if step.strip() != response.text.strip():
            self._show_step(step)
        self._end_line()
        if not conversation.streams_answer:
            self.answer(response.text)
        if conversation.ran_out:
            self._remark(f"All turns ({response.steps}) were used up; --max-turns allows more.")
        elif response.finish_reason is FinishReason.LENGTH:
            self._remark(CUT_OFF)
        if not response.text:
            self._remark("(no answer)")

    def _ended(self, record: CallRecord) -> None:
        text, colour = call_lines.ended(
            record.name, record.outcome, seconds=record.latency_seconds, said=record.output
        )
        self._remark(text, fg=colour)

    def _hold(self, text: str) -> None:
        """Keep text of which nobody knows yet whether it is a step or the answer."""
        if self._is_turn_over:
            self._show_step(self._taken_step())
        self._step.append(text)
        self._tail = (self._tail + text)[-_TAIL:]
        last_line = self._tail.strip().rpartition("\n")[2]
        self._line.show(f"… {last_line}")

    def _taken_step(self) -> str:
        with self._line.hidden():
            step = "".join(self._step)
        self._step, self._tail, self._is_turn_over = [], "", False
        return step

    def _show_step(self, step: str) -> None:
        self._write(step, is_answer=False)
        self._end_line()

    def _write(self, text: str, *, is_answer: bool) -> None:
        # A line end of Windows may come in two pieces.
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = plain(text.removesuffix("\r"))
        if not text or (is_answer and self._is_silent):
            return
        if is_answer:
            click.echo(text, file=self._out, nl=False)
        else:
            click.secho(text, err=True, nl=False, dim=True)
        self._is_in_line = not text.endswith("\n")
        self._goes_to_stderr = not is_answer

    def _end_line(self) -> None:
        if self._is_in_line:
            click.echo(err=self._goes_to_stderr, file=None if self._goes_to_stderr else self._out)
        self._is_in_line, self._held = False, ""

    def _remark(self, text: str, *, fg: str | None = None, dim: bool = False) -> None:
        self._show_step(self._taken_step())
        self._end_line()
        with self._line.hidden():
            click.secho(plain(text), err=True, fg=fg, dim=dim)
