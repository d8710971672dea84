from typing import Any

import pytest

from openjarvis import llm
from openjarvis.engine.prices import cost_of
from openjarvis.testing import ScriptedEngine, calls, says

ASK = [llm.user("Go")]
USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 0}


@llm.tool(metadata={"repeatable": True})
def step() -> str:
    """Take a step. Call it when told to go."""
    return "done"


def priced(*, turns: int = 4, model: str = "claude-sonnet-4-5") -> ScriptedEngine:
    """Return an engine that calls again and again, with Anthropic's prices and a model's name."""
    engine = ScriptedEngine([*([calls("step")] * turns), says("End.")], model=model)
    engine.prices_of = "anthropic"
    return engine


def run(engine: Any, **limits: Any) -> llm.Response:
    return llm.generate(
        engine=engine, model="claude-sonnet-4-5", messages=ASK, tools=[step], max_steps=9, **limits
    )


def test_a_priced_model_tells_what_a_run_cost() -> None:
    response = run(priced())

    one = cost_of("anthropic", "claude-sonnet-4-5", {"prompt_tokens": 1, "completion_tokens": 1})
    assert one is not None
    assert response.cost_usd == pytest.approx(5 * one)


@pytest.mark.parametrize(
    ("prices_of", "model"),
    [("", "gpt-5"), ("anthropic", "nobody"), ("http://127.0.0.1:1/v1", "m"), ("anthropic", "")],
)
def test_an_unknown_price_is_none_and_never_zero(prices_of: str, model: str) -> None:
    assert cost_of(prices_of, model, USAGE) is None


def test_a_run_on_an_unpriced_engine_has_no_cost() -> None:
    assert llm.generate(engine=ScriptedEngine([says("Hi")]), messages=ASK).cost_usd is None


def test_cached_tokens_are_cheaper() -> None:
    full = cost_of("anthropic", "claude-sonnet-4-5", USAGE)
    cached = cost_of("anthropic", "claude-sonnet-4-5", {**USAGE, "cached_tokens": 1_000_000})

    assert full is not None
    assert cached is not None
    assert 0 < cached < full


def test_a_price_that_the_provider_tells_counts() -> None:
    class Told:
        engine_id = "told"

        def generate(self, messages: Any, **request: Any) -> dict[str, Any]:
            return {"content": "Hi", "cost_usd": 0.25}

    assert llm.generate(engine=Told(), messages=ASK).cost_usd == 0.25


def test_without_the_price_list_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openjarvis.engine.prices.is_installed", lambda module: False)

    assert cost_of("anthropic", "claude-sonnet-4-5", USAGE) is None


def test_the_tokens_used_up_leave_the_last_calls_not_run() -> None:
    engine = priced()

    response = run(engine, max_tokens_total=4)  # a scripted turn counts 2

    assert len(engine.requests) == 2
    assert response.finish_reason is llm.FinishReason.TOOL_USE
    assert [one.outcome.value for one in response.tool_calls] == ["ran", "not_run"]
    assert response.tool_calls[-1].output == "Not run: 4 tokens are used up, of 4 allowed."


def test_the_money_used_up_leaves_the_last_calls_not_run() -> None:
    engine = priced()
    one = cost_of("anthropic", "claude-sonnet-4-5", {"prompt_tokens": 1, "completion_tokens": 1})

    response = run(engine, max_cost_usd=2.5 * (one or 0))

    assert len(engine.requests) == 3
    assert response.finish_reason is llm.FinishReason.TOOL_USE
    assert "are spent, of $" in response.tool_calls[-1].output


def test_a_stream_keeps_the_limits_too() -> None:
    engine = priced()

    with llm.stream(
        engine=engine, model="m", messages=ASK, tools=[step], max_steps=9, max_tokens_total=2
    ) as stream:
        list(stream)

    assert len(engine.requests) == 1
    assert stream.response.finish_reason is llm.FinishReason.TOOL_USE


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": -1},
        {"prompt_tokens": -9, "completion_tokens": 6, "total_tokens": 0},
    ],
)
def test_counts_below_nothing_take_nothing_off(usage: dict[str, int]) -> None:
    class Lying(ScriptedEngine):
        def generate(self, messages: Any, **request: Any) -> Any:
            return {**super().generate(messages, **request), "usage": usage}

    response = run(Lying([calls("step")] * 5), max_tokens_total=10)

    assert len(response.tool_calls) == 2


def test_a_last_answer_past_the_limit_is_an_answer() -> None:
    response = run(ScriptedEngine([says("End.")]), max_tokens_total=1)

    assert (response.text, response.finish_reason) == ("End.", llm.FinishReason.STOP)


def test_money_cannot_be_limited_where_no_price_is_known() -> None:
    engine = ScriptedEngine([calls("step"), says("End.")])

    response = run(engine, max_cost_usd=1.0)

    assert len(engine.requests) == 1
    assert "is not known" in response.tool_calls[-1].output


def test_a_model_of_unknown_price_is_refused_before_it_is_asked() -> None:
    engine = priced()

    with pytest.raises(llm.LLMError, match="The price of 'nobody' is not known") as failed:
        llm.generate(engine=engine, model="nobody", messages=ASK, max_cost_usd=1)

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert engine.requests == []


def test_a_known_model_behind_a_gateway_is_refused_until_it_is_said_whose_prices_hold() -> None:
    engine = ScriptedEngine([says("End."), says("End.")])
    engine.prices_of = "https://user:pass-word@gateway.example/v1"

    with pytest.raises(llm.LLMError, match=r"'gpt-4o-mini' at gateway\.example is not known"):
        llm.generate(engine=engine, model="gpt-4o-mini", messages=ASK, max_cost_usd=1)

    engine.prices_of = "openai"
    assert llm.generate(engine=engine, model="gpt-4o-mini", messages=ASK, max_cost_usd=1).text


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens_total": 0},
        {"max_tokens_total": True},
        {"max_tokens_total": 1.5},
        {"max_cost_usd": 0},
        {"max_cost_usd": -1.0},
        {"max_cost_usd": "1"},
        {"max_cost_usd": True},
        {"max_cost_usd": float("nan")},
    ],
)
def test_limits_that_are_none_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(llm.LLMError, match="expected") as failed:
        run(priced(), **limits)

    assert failed.value.code == "LLM_INVALID_REQUEST"
