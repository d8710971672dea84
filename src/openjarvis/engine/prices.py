"""What tokens cost, by the `genai-prices` data (extra `prices`).

A price that is not known is None, never 0: a run that cannot be priced must not look free.
"""

from collections.abc import Mapping
from importlib import import_module

from openjarvis.engine.library import is_installed

EXTRA = "prices"


def cost_of(prices_of: str, model: str, usage: Mapping[str, int]) -> float | None:
    """Return the price of `usage` in US dollars, or None when it is not known.

    `prices_of` is the id of a provider (`anthropic`) or the URL of its interface.
    """
    if not prices_of or not model or "prompt_tokens" not in usage:
        return None
    if not is_installed("genai_prices"):
        return None
    # Imported here: its table of prices takes half a second to load.
    prices = import_module("genai_prices")
    counted = prices.Usage(
        input_tokens=usage["prompt_tokens"],
        output_tokens=usage.get("completion_tokens", 0),
        cache_read_tokens=usage.get("cached_tokens") or None,
    )
    provider = {"provider_api_url" if "://" in prices_of else "provider_id": prices_of}
    try:
        return float(prices.calc_price(counted, model, **provider).total_price)
    except (LookupError, ValueError):
        return None
