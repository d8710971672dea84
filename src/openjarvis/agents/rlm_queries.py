"""What an `rlm` session may ask of us: questions to sub-models, within a budget, and the end."""

import json
from collections.abc import Callable
from threading import Lock
from typing import Any

from openjarvis.core import workers
from openjarvis.core.errors import LLMError
from openjarvis.safety.secrets import mask_secrets

_IN_PARALLEL = 8


class Budget:
    """How many questions may still be asked, by a run and those below it. Thread-safe."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._lock = Lock()

    def take(self, count: int) -> bool:
        """Take `count` questions; False, and nothing is taken, when so many are not left."""
        with self._lock:
            if self.used + count > self.most:
                return False
            self.used += count
            return True

    def close(self) -> None:
        """Let no more be asked: nobody waits for the answers."""
        with self._lock:
            self.most = 0


class Queries:
    """Answers one session; `final` is the answer that it has given, or None.

    What comes out of the session is data of a model's: whatever it is, the reply says so in words.
    """

    def __init__(self, ask: Callable[[str], str], budget: Budget) -> None:
        self._ask = ask
        self._budget = budget
        self.final: str | None = None

    def answer(self, question: str) -> str:
        """Return the reply to a question of the session, as JSON."""
        try:
            asked = json.loads(question)
        except (ValueError, RecursionError):
            asked = None
        if isinstance(asked, dict) and isinstance(asked.get("final"), str):
            self.final = asked["final"]
            return json.dumps([])
        prompts = asked.get("prompts") if isinstance(asked, dict) else None
        if not isinstance(prompts, list) or not all(isinstance(one, str) for one in prompts):
            return json.dumps("llm_query takes text.")
        return json.dumps(self._replies(prompts))

    def _replies(self, prompts: list[str]) -> list[dict[str, str]] | str:
        if not self._budget.take(len(prompts)):
            left = max(0, self._budget.most - self._budget.used)
            return (
                f"{len(prompts)} questions to sub-models are more than the {left} that are left of "
                f"{self._budget.most}. Go on with what you have."
            )
        replies: list[dict[str, str]] = []
        for start in range(0, len(prompts), _IN_PARALLEL):
            jobs = [
                workers.start(lambda prompt=prompt: self._reply(prompt))  # type: ignore[misc]
                for prompt in prompts[start : start + _IN_PARALLEL]
            ]
            for job in jobs:
                job.wait(_FOREVER)
                replies.append(job.result())
        return replies

    def _reply(self, prompt: str) -> dict[str, str]:
        try:
            return {"text": self._ask(prompt), "error": ""}
        except LLMError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - an engine is foreign code and may raise anything
            reason = type(error).__name__
        return {"text": "", "error": f"[llm_query failed: {mask_secrets(reason)[:500]}]"}


_FOREVER: Any = 86_400.0
"""Engines have time-outs of their own."""
