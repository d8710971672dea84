"""The conversation behind `jarvis chat`: who answers, with which tools, and what was said."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import replace
from typing import Any, TextIO

from openjarvis.agents.base import AgentContext, AgentResult, BaseAgent
from openjarvis.agents.conversing import ConversingAgent, result_of
from openjarvis.cli.ask import check_text, with_denied
from openjarvis.cli.chat_progress import ProgressLine
from openjarvis.cli.chat_show import Show
from openjarvis.core.types import Conversation as History
from openjarvis.core.types import Message, Role
from openjarvis.execution.approval import Approver
from openjarvis.llm.history import assistant, user
from openjarvis.llm.loop import Conversation
from openjarvis.llm.stream import Stream
from openjarvis.sdk import Jarvis, answer_of, turns_of
from openjarvis.system import agent_class, default_agent
from openjarvis.tools import catalog

STOPPED = "[The user stopped this answer.]"
BROKEN_OFF = "[This answer was broken off by an error.]"


class ChatSession:
    """One conversation, whose answers go to `out`.

    `open_jarvis(engine_key, model)` makes what answers, and again when it is to be another. With
    `as_json` answers are not shown: `told` has the last one.
    """

    def __init__(
        self,
        open_jarvis: Callable[[str | None, str | None], Jarvis],
        *,
        engine: str | None,
        model: str | None,
        agent: str,
        mode: str | None,
        tools: Sequence[str],
        approve: Approver,
        options: dict[str, Any],
        out: TextIO | None,
        line: ProgressLine,
        as_json: bool = False,
        recalls: bool = True,
    ) -> None:
        self._open_jarvis = open_jarvis
        self._agent_key = agent
        self._mode = mode
        self._approve = approve
        self._options = options
        self._out = out
        self._line = line
        self._as_json = as_json
        self._recalls = recalls
        self._made: BaseAgent | None = None
        self._result = AgentResult("")
        self.messages: list[Message] = []
        self.tools = list(tools)
        self.jarvis = open_jarvis(engine, model)
        self.model = self.jarvis.system.model
        self._agent()  # a tool that is not there is told at the start

    def describe(self) -> str:
        """Return who answers, in a line."""
        system = self.jarvis.system
        model = f" · model {self.model}" if self.model else ""
        own = getattr(agent_class(self.agent_key), "own_tools", ())
        tools = ", ".join(dict.fromkeys([*self.tools, *own])) or "none"
        return f"engine {system.engine_key}{model} · agent {self.agent_key} · tools: {tools}"

    @property
    def agent_key(self) -> str:
        """The agent that answers."""
        return self._agent_key or default_agent(tools=self.tools, mode=self._mode)

    @property
    def told(self) -> dict[str, Any]:
        """What came of the last question, as `jarvis ask --json` tells it."""
        engine = self.jarvis.system.engine_key
        answer = answer_of(self._result, engine=engine, model=self.model)
        return with_denied({**answer, "agent": self.agent_key, **turns_of(self._result)})

    def ask(self, text: str) -> bool:
        """Have `text` answered and shown; the conversation goes on from wherever that ends.

        False when the user stopped the answer.

        Raises:
            UsageError: when the question is no text.
            LLMError: when the model cannot be asked. Where nothing had come of the question yet,
                it is as if it had not been asked.
        """
        self._result = AgentResult("")
        check_text(text)
        recalled = self.jarvis.system.recall(text) if self._recalls else []
        show, agent = Show(self._out, self._line, is_silent=self._as_json), self._agent()
        context = AgentContext(
            History(list(self.messages)), memory_results=recalled, on_progress=show.progress
        )
        with closing(show), redirect_stdout(sys.stderr):  # what tools print is no answer
            if isinstance(agent, ConversingAgent):
                return self._stream(agent, text, context, show)
            self._run(agent, text, context, show)
            return True

    def _run(self, agent: BaseAgent, text: str, context: AgentContext, show: Show) -> None:
        """Have an agent of the user's answer, which cannot be watched."""
        self._result = agent.run(text, context)
        content = self._result.content
        self.messages += [user(text), assistant(content)]
        show.answer(content)

    def _stream(self, agent: ConversingAgent, text: str, context: AgentContext, show: Show) -> bool:
        with (
            agent.conversing(text, context) as conversation,
            Stream(conversation) as stream,
        ):
            try:
                for event in stream.events():
                    show.event(event, is_answer=conversation.streams_answer)
            except KeyboardInterrupt:
                stream.close()
                self._keep(conversation, STOPPED)
                show.stopped()
                return False
            except Exception:
                if conversation.response().steps:
                    self._keep(conversation, BROKEN_OFF)
                raise
            self._keep(conversation, "")
            show.end(conversation)
            return True

    def available_tools(self) -> list[str]:
        """Return the names of all tools that can be chosen."""
        dropped_in = self.jarvis.system.dropped_in.tools
        return catalog.names({tool.spec.name: tool for tool in dropped_in})

    def choose_tools(self, names: Sequence[str]) -> None:
        """Answer with these tools from now on.

        Raises:
            UnknownToolError: when there is no such tool; nothing has changed then.
        """
        before = self.tools
        self._made, self.tools = None, list(names)
        try:
            self._agent()
        except Exception:
            self.tools = before
            raise

    def choose_model(self, name: str) -> None:
        """Answer with this model from now on."""
        self._made, self.model = None, name

    def choose_engine(self, key: str) -> None:
        """Answer with this engine from now on, and its first model.

        Raises:
            Failure: when it is not there; nothing has changed then.
        """
        opened = self._open_jarvis(key, None)
        self.jarvis.close()
        self._made, self.jarvis, self.model = None, opened, opened.system.model
        # What a provider wants back unchanged is of no use to another one.
        self.messages = [replace(message, metadata={}) for message in self.messages]

    def clear(self) -> None:
        """Forget what was said."""
        self.messages = []

    def close(self) -> None:
        """Close connections and files."""
        self.jarvis.close()

    def _agent(self) -> BaseAgent:
        # Made once, since tools may keep state between turns.
        if self._made is None:
            self._made = self.jarvis.system.agent(
                self.agent_key,
                mode=self._mode,
                tools=self.tools,
                model=self.model,
                approve=self._approve,
                **self._options,
            )
        return self._made

    def _keep(self, conversation: Conversation, ending: str) -> None:
        """Go on from where a run ended; `ending` stands for an answer that did not come."""
        self._result = result_of(conversation)
        self.messages = list(conversation.response().messages)
        if ending and self.messages[-1].role is not Role.ASSISTANT:
            self.messages.append(assistant(ending))
