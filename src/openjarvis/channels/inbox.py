"""Messages that wait to be answered: in each conversation one after the other."""

from collections import deque
from collections.abc import Callable
from threading import Lock

from openjarvis.channels.base import ChannelMessage
from openjarvis.core import workers

MAX_WAITING = 100
"""How many messages of one conversation may wait."""


class Inbox:
    """Hands messages on in their order, of several conversations at the same time."""

    def __init__(self, answer: Callable[[ChannelMessage], None]) -> None:
        """Hand each message to `answer`, which does not raise."""
        self._answer = answer
        self._waiting: dict[str, deque[ChannelMessage]] = {}
        self._lock = Lock()

    def put(self, message: ChannelMessage) -> bool:
        """Take a message; False where too many wait already."""
        with self._lock:
            waiting = self._waiting.get(message.conversation_id)
            if waiting is not None:
                if len(waiting) >= MAX_WAITING:
                    return False
                waiting.append(message)
                return True
            self._waiting[message.conversation_id] = deque([message])
        workers.start(lambda: self._work(message.conversation_id))
        return True

    def _work(self, conversation: str) -> None:
        while (message := self._next(conversation)) is not None:
            self._answer(message)

    def _next(self, conversation: str) -> ChannelMessage | None:
        with self._lock:
            if waiting := self._waiting[conversation]:
                return waiting.popleft()
            del self._waiting[conversation]
            return None
