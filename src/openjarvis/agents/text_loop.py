"""The loop for models that think in text: a protocol reads their steps, all else is `llm.loop`.

Calls, limits, events and records are those of every conversation. What a model writes after an
action is cut before it is kept, so that nothing it made up is ever believed.
"""

from collections.abc import Callable, Sequence
from typing import Any

from openjarvis.agents.arguments import arguments_text
from openjarvis.agents.protocol import Action, Protocol, Step
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.execution.record import CallRecord
from openjarvis.execution.trip import Performed
from openjarvis.llm.loop import OF_TOOLS, Conversation
from openjarvis.llm.reply import Turn, read_reply
from openjarvis.llm.request import Request
from openjarvis.llm.response import FinishReason

MAX_CORRECTIONS = 2
"""How often in a row a model is told that a step cannot be read; after that it is its answer."""

_CUT_OFF = (
    "That step was cut off because it was too long, so it was not run. Write a shorter one, whole."
)


class TextConversation(Conversation):
    """A conversation whose calls are written in text.

    The model gets no function definitions; results come back as the user's words. `ending` is
    asked after each call for an answer that the call itself has given.
    """

    streams_answer = False

    def __init__(
        self,
        request: Request,
        protocol: Protocol,
        *,
        ending: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(request, last_word=protocol.last_word)
        self.options = {
            name: value for name, value in request.options.items() if name not in OF_TOOLS
        }
        self._protocol = protocol
        self._specs = request.executor.available_tools()
        self._ending = ending
        self._corrections = 0
        self._answer_text = ""

    def take_reply(self, reply: Any) -> Sequence[ToolCall]:
        calls = super().take_reply(reply)
        if self.has_ended:
            self._response.text = self._answer_text
        return calls

    def take_results(self, performed: Sequence[Performed]) -> None:
        super().take_results(performed)
        answer = self._ending()
        if answer is not None:
            self._response.text, self._response.finish_reason = answer, FinishReason.STOP
            self.messages.append(Message(Role.ASSISTANT, answer))
            self.has_ended = True

    def _read(self, reply: Any) -> Turn:
        turn = read_reply(reply)
        step = self._step(turn)
        self._corrections = self._corrections + 1 if step.correction else 0
        self._answer_text = step.answer
        calls = [] if step.action is None else [self._call(step.action)]
        reason = turn.finish_reason
        if calls and reason is not FinishReason.CONTENT_FILTER:
            reason = FinishReason.TOOL_USE
        elif reason is FinishReason.TOOL_USE:
            reason = FinishReason.STOP
        may_correct = self._corrections <= MAX_CORRECTIONS
        return turn._replace(
            text=step.text,
            calls=calls,
            finish_reason=reason,
            metadata={},
            correction=step.correction if may_correct else "",
        )

    def _step(self, turn: Turn) -> Step:
        if turn.calls:  # a server that reads calls itself: we offered none, but the wish is clear
            first = turn.calls[0]
            step = Step("", Action(first.name, first.arguments))
            return Step(self._protocol.render(step), step.action)
        step = self._protocol.parse(turn.text, self._specs)
        is_at_the_end = turn.text.rstrip().endswith(step.text[-20:])
        if step.action is not None and turn.finish_reason is FinishReason.LENGTH and is_at_the_end:
            return Step(step.text, correction=_CUT_OFF)
        return step

    def _call(self, action: Action) -> ToolCall:
        spec = next((spec for spec in self._specs if spec.name == action.tool), None)
        return ToolCall("", action.tool, arguments_text(action.input, spec))

    def _said(self, turn: Turn) -> Message:
        return Message(Role.ASSISTANT, turn.text)

    def _observe(self, call: ToolCall, record: CallRecord) -> None:
        self._tell(self._protocol.observation(record.output))

    def _tell(self, text: str) -> None:
        # Joined to what was told before: many models' templates take no two user turns in a row.
        last = self.messages[-1]
        if last.role is Role.USER:
            self.messages[-1] = Message(Role.USER, f"{last.text}\n\n{text}")
        else:
            self.messages.append(Message(Role.USER, text))
