"""What a run may spend: tokens and money, counted turn by turn."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from openjarvis.core.errors import invalid_request
from openjarvis.core.extras import how_to_install
from openjarvis.engine.library import is_installed
from openjarvis.engine.prices import EXTRA, cost_of

_ONE_TOKEN = {"prompt_tokens": 1, "completion_tokens": 1}


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a run may spend; None where there is no limit."""

    cost_usd: float | None = None
    tokens: int | None = None

    def check(self, engine: Any, model: str) -> None:
        """Refuse limits that are none, or that could not be kept.

        Raises:
            LLMError: `LLM_INVALID_REQUEST`, saying why.
        """
        most = self.tokens
        if most is not None and (type(most) is not int or most < 1):
            raise invalid_request(
                f"max_tokens_total={most!r}: expected a whole number from 1, or None."
            )
        if self.cost_usd is None:
            return
        is_number = isinstance(self.cost_usd, int | float) and not isinstance(self.cost_usd, bool)
        if not is_number or not self.cost_usd > 0:
            raise invalid_request(
                f"max_cost_usd={self.cost_usd!r}: expected a number above 0, or None."
            )
        prices_of = getattr(engine, "prices_of", "")
        if not prices_of or cost_of(prices_of, model, _ONE_TOKEN) is not None:
            return
        if not is_installed("genai_prices"):
            raise invalid_request(
                "max_cost_usd cannot be kept without prices, which are the extra `prices`: "
                f"{how_to_install(EXTRA)}; or limit max_tokens_total."
            )
        named = repr(model) if model else "a model that is not named"
        where = f" at {urlsplit(prices_of).hostname}" if "://" in prices_of else ""
        raise invalid_request(
            f"The price of {named}{where} is not known, so max_cost_usd cannot be kept. Name a "
            "model with a known price; where another provider's prices hold, as behind a gateway, "
            "name it in the engine's `prices_of`; or limit max_tokens_total."
        )


@dataclass(slots=True)
class Spending:
    """What a run has spent so far."""

    limits: Limits
    prices_of: str = ""
    tokens: int = 0
    turns: list[tuple[str, dict[str, int], float | None]] = field(default_factory=list)

    def add(self, model: str, usage: dict[str, int], told: float | None) -> None:
        """Count a turn; `told` is its price where the provider said it."""
        known = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
        self.tokens += usage.get("total_tokens", known)
        self.turns.append((model, usage, told))

    @property
    def cost_usd(self) -> float | None:
        """What the turns cost, None when the price of one is not known."""
        total = 0.0
        for position, (model, usage, told) in enumerate(self.turns):
            cost = cost_of(self.prices_of, model, usage) if told is None else told
            if cost is None:
                return None
            self.turns[position] = (model, usage, cost)
            total += cost
        return total if self.turns else None

    def why_to_stop(self) -> str:
        """Return why there must be no further turn, or ""."""
        if self.limits.tokens is not None and self.tokens >= self.limits.tokens:
            return f"Not run: {self.tokens} tokens are used up, of {self.limits.tokens} allowed."
        if self.limits.cost_usd is None:
            return ""
        cost = self.cost_usd
        if cost is None:
            return "Not run: what this run costs is not known, and its cost is limited."
        if cost >= self.limits.cost_usd:
            return f"Not run: ${cost:.4f} are spent, of ${self.limits.cost_usd:.4f} allowed."
        return ""
