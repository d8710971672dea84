"""Testing tools and agents without a provider.

```python
engine = ScriptedEngine([calls("get_order_status", order_id="TH-1042"), says("On its way.")])
response = llm.generate(messages=[llm.user("Where is it?")], engine=engine, tools=[…], max_steps=2)
engine.assert_exhausted()
```

One element a turn: `says(text)`, `calls(name, **arguments)`, `calls_raw(name, text)`, a list of
them, or an `LLMError` to raise.
"""

from openjarvis.engine.scripted import (
    Calls,
    RecordedRequest,
    Says,
    ScriptedEngine,
    calls,
    calls_raw,
    says,
)

__all__ = ["Calls", "RecordedRequest", "Says", "ScriptedEngine", "calls", "calls_raw", "says"]
