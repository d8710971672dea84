"""What a protocol of text is: how a model writes its steps, and how it is told results."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from openjarvis.toolkit.base import ToolSpec


@dataclass(frozen=True, slots=True)
class Action:
    """A tool that a step asks for, with the input as the model wrote it."""

    tool: str
    input: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What one reply means: an action, or an answer, or neither.

    `text` is what of the reply is kept. `correction` is what the model is told of a step that is
    neither; `answer` is then what could be taken for one.
    """

    text: str
    action: Action | None = None
    answer: str = ""
    correction: str = ""


class Protocol(ABC):
    """How a model and the loop talk in text. Pure: no text makes `parse` fail."""

    @abstractmethod
    def parse(self, text: str, tools: Sequence[ToolSpec]) -> Step:
        """Return what a reply means; `tools` are those offered."""

    @abstractmethod
    def render(self, step: Step) -> str:
        """Return a step as a model should write it."""

    @property
    @abstractmethod
    def last_word(self) -> str:
        """What a model is told whose turns are used up."""

    @abstractmethod
    def observation(self, output: str) -> str:
        """Return the output of a tool as the model is told it."""
