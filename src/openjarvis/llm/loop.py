"""The loop itself, without I/O: it says what to ask the model and which calls to run.

The drivers (`generate`, `stream` and their async twins) do the asking and running.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from openjarvis.core.events import EventType
from openjarvis.core.images import PARTS, image_parts
from openjarvis.core.types import Message, Role, ToolCall, ToolResult
from openjarvis.engine.base import ProviderCall
from openjarvis.engine.text_protocol import in_words
from openjarvis.execution.record import CallRecord, Outcome
from openjarvis.execution.trip import Performed
from openjarvis.llm.history import user
from openjarvis.llm.limits import Spending
from openjarvis.llm.reply import Turn, read_reply
from openjarvis.llm.request import Request
from openjarvis.llm.response import FinishReason, Response, Source

NOT_RUN = "Not run: the steps of this run were used up."
PROVIDER_PREFIX = "provider:"
"""What the names of calls begin with that the provider ran."""
INTERRUPTED = "Not run: the run was interrupted."
CUT_OFF = (
    "Not run: the reply was cut off at max_tokens before this call was known to be whole. Write it "
    "again, shorter."
)
MOST_PAUSES = 8
"""How often a turn that its provider interrupts goes on, in a run without steps of its own."""
MOST_CALLS = 128
"""Calls of one turn that are run; those past it are answered with `TOO_MANY`."""
TOO_MANY = f"Not run: a turn may have {MOST_CALLS} calls. Ask for fewer at a time."
OF_TOOLS = frozenset({"tools", "specs", "provider_tools"})
"""The engine's keywords that are about tools."""


class Conversation:
    """A run in progress. One thread or task drives it; nothing else touches it.

    Until it `has_ended`, a driver asks the model with `prompt` and `options`, gives the reply to
    `take_reply`, runs the calls that it returns and gives their results to `take_results`.
    `results` matches the response's `tool_calls` one to one.

    `last_word` is what a model is told whose steps are used up while it still asks for tools: it
    then gets one turn more, without tools, and `ran_out` is true.
    """

    streams_answer: ClassVar[bool] = True
    """Whether the text that comes in is the answer's, word for word."""

    def __init__(self, request: Request, *, last_word: str = "") -> None:
        self.request = request
        self.run = request.run
        self.options = request.options
        self.has_ended = False
        self.ran_out = False
        self._last_word = last_word
        self._is_last = False
        self._lead = [Message(Role.SYSTEM, request.system)] if request.system else []
        self.messages = [*self._lead, *request.messages]
        self._response = Response(
            model=request.model,
            engine=str(getattr(request.engine, "engine_id", "")),
            spending=Spending(request.limits, str(getattr(request.engine, "prices_of", ""))),
        )
        self._used_ids = {call.id for message in self.messages for call in message.tool_calls or ()}
        self._begun = ""  # what an interrupted turn has said so far
        self.results: list[ToolResult] = []
        self._open: list[ToolCall] = []
        self._why_left = ""  # why the last of the open calls are not among those to be run
        self._sources: dict[str, Source] = {}

    @property
    def prompt(self) -> list[Message]:
        """The messages as the model is sent them: beside no tools, calls of the past are words.

        Some providers refuse a history with calls where no tools are offered.
        """
        return self.messages if OF_TOOLS & self.options.keys() else in_words(self.messages, ())

    def ask(self) -> None:
        """Note that the model is asked."""
        self._publish(EventType.INFERENCE_START, model=self.request.model)

    def take_reply(self, reply: Any) -> Sequence[ToolCall]:
        """Add the model's turn, and return the calls that are to be run now.

        Raises:
            LLMError: when the reply is none.
        """
        turn = self._read(reply)
        if self._is_last:
            turn = turn._replace(calls=[], correction="", is_paused=False)
        response = self._response
        response.steps += not self._is_last
        self.run.step = response.steps
        response.text, response.finish_reason = self._begun + turn.text, turn.finish_reason
        self._begun = response.text if turn.is_paused else ""
        response.model = turn.model or response.model
        for kind, tokens in turn.usage.items():
            response.usage[kind] = response.usage.get(kind, 0) + tokens
        response.spending.add(response.model, turn.usage, turn.cost_usd)
        for source in turn.sources:
            self._sources.setdefault(source.url, source)
        self._name_calls(turn)
        self.messages.append(self._said(turn))
        for made in turn.provider_calls:
            self._note_provider_call(made)
        self._publish(EventType.INFERENCE_END, model=response.model, usage=turn.usage)
        return self._next_calls(turn)

    def _next_calls(self, turn: Turn) -> Sequence[ToolCall]:
        """Return the calls of a turn that are to be run now."""
        most = self.request.max_steps
        if turn.is_paused:
            may_go_on = self._response.steps < (MOST_PAUSES if most is None else most)
            self.has_ended = not may_go_on or bool(self._response.spending.why_to_stop())
            return ()
        if not turn.wants_more:
            self.has_ended = True
            return ()
        self._open = turn.calls
        is_allowed = turn.finish_reason is not FinishReason.CONTENT_FILTER
        if is_allowed and most is not None and self._response.steps < most:
            return self._within_limits(turn)
        self._leave_open(NOT_RUN if most is not None else "Not run.")
        self.ran_out = is_allowed and most is not None
        if self.ran_out and self._last_word:
            self._begin_last_turn()
        else:
            self.has_ended = True
        return ()

    def _within_limits(self, turn: Turn) -> Sequence[ToolCall]:
        """Return the calls of a turn, unless what may be spent is spent."""
        spent = self._response.spending.why_to_stop()
        if spent:
            self._leave_open(spent)
            self.has_ended = True
            return ()
        if turn.correction:
            self._tell(turn.correction)
        self._why_left = TOO_MANY
        if turn.finish_reason is not FinishReason.LENGTH:
            return turn.calls[:MOST_CALLS]
        # What was cut off may look whole: no arguments yet read as none.
        self._why_left = CUT_OFF
        if len(turn.calls) == 1:
            self.take_results(())
        return turn.calls[:-1][:MOST_CALLS]

    def _begin_last_turn(self) -> None:
        self._is_last = True
        self._tell(self._last_word)
        self.options = {name: self.options[name] for name in self.options if name not in OF_TOOLS}

    def take_results(self, performed: Sequence[Performed]) -> None:
        """Add the results of the calls that `take_reply` returned, in their order."""
        for call, done in zip(self._open, performed, strict=False):
            self._answer(call, done.record)
            self._show_images(done)
            self.results.append(done.result)
        self._open = self._open[len(performed) :]
        self._leave_open(self._why_left)

    def interrupt(self, partial: str = "") -> Response:
        """Close a run that was broken off, and return what it had gathered.

        `partial` is the text of a turn that was still coming in. Calls that ended are answered with
        their results, the others as not run, so that the history can be sent again.
        """
        ended = {record.call_id: record for record in self.run.records}
        for call in self._open:
            record = ended.get(call.id)
            if record is None:
                self._not_run(call, INTERRUPTED)
            else:
                self._answer(call, record)
                has_run = record.outcome is Outcome.RAN
                self.results.append(ToolResult(call.name, record.output, success=has_run))
        self._open = []
        if partial.strip():  # providers refuse a message of white space
            self._response.text = self._begun + partial
            self.messages.append(Message(Role.ASSISTANT, partial))
        return self.response()

    def response(self) -> Response:
        """Return where the run stands."""
        self._response.messages = self.messages[len(self._lead) :]
        self._response.sources = list(self._sources.values())
        return self._response

    def _name_calls(self, turn: Turn) -> None:
        """Give every call an id of its own: results are matched by it, and models forget them."""
        for call in turn.calls:
            if not call.id or call.id in self._used_ids:
                number = len(self._used_ids) + 1
                while f"call_{number}" in self._used_ids:
                    number += 1
                call.id = f"call_{number}"
            self._used_ids.add(call.id)

    def _read(self, reply: Any) -> Turn:
        """Return what the model said."""
        return read_reply(reply)

    def _tell(self, text: str) -> None:
        """Add what the loop itself has to say."""
        self.messages.append(user(text))

    def _said(self, turn: Turn) -> Message:
        """Return a turn as the history keeps it."""
        return Message(
            Role.ASSISTANT, turn.text, tool_calls=turn.calls or None, metadata=turn.metadata
        )

    def _answer(self, call: ToolCall, record: CallRecord) -> None:
        self._response.tool_calls.append(record)
        self._observe(call, record)

    def _observe(self, call: ToolCall, record: CallRecord) -> None:
        """Add the output of a call to the history."""
        metadata = {} if record.outcome is Outcome.RAN else {"success": False}
        self.messages.append(
            Message(
                Role.TOOL, record.output, name=call.name, tool_call_id=call.id, metadata=metadata
            )
        )

    def _show_images(self, done: Performed) -> None:
        """Keep the images of a result beside its text, for an engine that can show them."""
        images = image_parts(done.result.metadata)
        answer = self.messages[-1]
        if images and answer.role is Role.TOOL and done.record.outcome is Outcome.RAN:
            answer.metadata[PARTS] = images

    def _leave_open(self, why: str) -> None:
        for call in self._open:
            self._not_run(call, why)
        self._open = []

    def _not_run(self, call: ToolCall, why: str) -> None:
        step = self._response.steps
        record = CallRecord(
            call.id, call.name, call.arguments, output=why, outcome=Outcome.NOT_RUN, step=step
        )
        self._answer(call, record)
        self.results.append(ToolResult(call.name, why, success=False))

    def _note_provider_call(self, made: ProviderCall) -> None:
        """Record a call that the provider made and answered on its own side."""
        output = made["output"]
        if not made["name"]:
            self._complete_provider_call(made["id"], output)
            return
        name = f"{PROVIDER_PREFIX}{made['name']}"
        step = self._response.steps
        record = CallRecord(
            made["id"], name, made["arguments"], output=output, outcome=Outcome.RAN, step=step
        )
        self._response.tool_calls.append(record)
        self.results.append(ToolResult(name, output))

    def _complete_provider_call(self, call_id: str, output: str) -> None:
        """Add to a call of an earlier turn what it gave."""
        for record, result in zip(self._response.tool_calls, self.results, strict=True):
            if record.call_id == call_id and record.name.startswith(PROVIDER_PREFIX):
                record.output = result.content = output

    def _publish(self, event_type: EventType, **data: Any) -> None:
        if self.request.bus is not None:
            engine, agent = self._response.engine, self.run.agent
            self.request.bus.publish(event_type, {"engine": engine, "agent": agent, **data})
