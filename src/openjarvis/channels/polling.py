"""Long polling of Telegram's Bot API, which keeps what nobody has asked past yet."""

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import httpx2

from openjarvis.core.errors import ToolError
from openjarvis.safety.body import read_body
from openjarvis.safety.concealment import masked

_log = logging.getLogger("openjarvis.channels")
_POLL_SECONDS = 25
FIRST_PAUSE = 1.0
MAX_ANSWER = 16_000_000
_LONGEST_PAUSE = 60.0
_REFUSED = (401, 403, 404)
_CONFLICT = 409
_REMEMBERED = 1_000

Update = dict[str, Any]


class Progress:
    """Which updates were taken; a later connection goes on from there."""

    def __init__(self) -> None:
        self.offset = 0
        self._taken: deque[int] = deque(maxlen=_REMEMBERED)

    def new(self, updates: list[Any]) -> list[Update]:
        """Return the updates that were not taken yet, in their order."""
        numbered = {
            one["update_id"]: one
            for one in updates
            if isinstance(one, dict) and isinstance(one.get("update_id"), int)
        }
        return [numbered[number] for number in sorted(numbered) if number not in self._taken]

    def took(self, update: Update) -> None:
        """Remember an update; the next poll asks past it."""
        self._taken.append(update["update_id"])
        self.offset = update["update_id"] + 1


class Polling:
    """Asks for updates until it is stopped."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        timeout: float,
        progress: Progress,
        take: Callable[[Update], None],
    ) -> None:
        self._name = name
        self._url = url
        self._timeout = _POLL_SECONDS + timeout
        self._progress = progress
        self._take = take
        self._trouble = ""
        self._stop = Event()
        self._thread = Thread(target=self._run, name=f"openjarvis-{name}", daemon=True)
        self._pause = FIRST_PAUSE

    def start(self) -> None:
        """Begin, once."""
        self._thread.start()

    def stop(self) -> None:
        """Take nothing any more; the poll that waits ends by itself."""
        self._stop.set()

    def goes_on(self) -> bool:
        """Tell whether it was not stopped."""
        return self._thread.is_alive() and not self._stop.is_set()

    @property
    def trouble(self) -> str:
        """Why nothing is received, "" where all is well or it was stopped."""
        if not self._thread.is_alive() and not self._stop.is_set():
            return "receiving broke off; see the log"
        return self._trouble

    def _run(self) -> None:
        with httpx2.Client(timeout=self._timeout) as client:
            while not self._stop.is_set():
                try:
                    status, answer = self._asked(client)
                except (httpx2.HTTPError, ToolError, ValueError) as error:
                    self._wait(f"polling failed: {error}", self._longer_pause())
                    continue
                if self._stop.is_set():
                    return  # what came is not confirmed, and comes again
                updates = answer.get("result")
                if status == httpx2.codes.OK and answer.get("ok") and isinstance(updates, list):
                    self._pass_on(updates)
                else:
                    self._wait_after(status, answer)

    def _asked(self, client: httpx2.Client) -> tuple[int, dict[str, Any]]:
        wanted = {
            "timeout": _POLL_SECONDS,
            "offset": self._progress.offset,
            "allowed_updates": ["message"],
        }
        # Compressed, a short answer can be a very long one.
        headers = {"Accept-Encoding": "identity"}
        until = time.monotonic() + self._timeout
        with client.stream("POST", self._url, json=wanted, headers=headers) as response:
            encoding = response.headers.get("Content-Encoding", "")
            chunks = _in_time(response.iter_raw(), until)
            body, is_cut = read_body(chunks, encoding=encoding, limit=MAX_ANSWER)
        if is_cut:
            raise ValueError(f"the answer is longer than {MAX_ANSWER:,} bytes")
        try:
            answer = json.loads(body)
        except RecursionError:
            raise ValueError("the answer is nested too deeply") from None
        return response.status_code, answer if isinstance(answer, dict) else {}

    def _pass_on(self, updates: list[Any]) -> None:
        self._trouble = ""
        new = self._progress.new(updates)
        for update in new:
            if self._stop.is_set():
                return
            self._progress.took(update)
            self._take(update)
        if updates and not new:  # they would come again at once
            self._wait("no update is a new one", self._longer_pause())
        else:
            self._pause = FIRST_PAUSE

    def _wait_after(self, status: int, answer: dict[str, Any]) -> None:
        reason = masked(str(answer.get("description") or f"HTTP {status}"))
        if status in _REFUSED:
            self._trouble = f"Telegram refuses the token: {reason}"
        elif status == _CONFLICT:
            self._trouble = f"another program receives for this bot: {reason}"
        self._wait(f"Telegram answers: {reason}", _retry_after(answer) or self._longer_pause())

    def _wait(self, why: str, seconds: float) -> None:
        if not self._stop.is_set():
            _log.warning("%s: %s", self._name, masked(why))
            self._stop.wait(seconds)

    def _longer_pause(self) -> float:
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        return pause


def _in_time(chunks: Iterator[bytes], until: float) -> Iterator[bytes]:
    for chunk in chunks:
        if time.monotonic() > until:
            raise ValueError("the answer took too long to come")
        yield chunk


def _retry_after(answer: dict[str, Any]) -> float:
    """Return how many seconds Telegram wants us to wait, 0 where it does not say."""
    told = answer.get("parameters")
    seconds = told.get("retry_after") if isinstance(told, dict) else None
    if not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds <= 0:
        return 0.0
    return min(float(seconds), _LONGEST_PAUSE)
