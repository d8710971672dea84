"""The loop that lets a model call tools: `generate`, `stream` and their async twins.

```python
from openjarvis import llm

response = llm.generate(messages=[llm.user("Where is TH-1042?")], tools=[status], max_steps=5)
```
"""

from openjarvis.core.errors import LLMError, LLMErrorCode, ToolDefinitionError, ToolError
from openjarvis.core.images import Image
from openjarvis.core.types import Message, Role, ToolCall, ToolResult
from openjarvis.execution.approval import Approver, Denied, ToolCallRequest
from openjarvis.execution.policy import policy
from openjarvis.execution.record import CallRecord, Detail, Outcome
from openjarvis.llm.generate import agenerate, generate
from openjarvis.llm.history import assistant, system, tool_result, user
from openjarvis.llm.response import FinishReason, Response, Source
from openjarvis.llm.stream import (
    AsyncStream,
    StepEvent,
    Stream,
    StreamEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
    astream,
    stream,
)
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.function import FunctionTool, tool
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.toolset import ToolSet

__all__ = [
    "Approver",
    "AsyncStream",
    "CallRecord",
    "Denied",
    "Detail",
    "FinishReason",
    "FunctionTool",
    "Image",
    "LLMError",
    "LLMErrorCode",
    "Message",
    "Outcome",
    "ProviderTool",
    "Response",
    "Role",
    "Source",
    "StepEvent",
    "Stream",
    "StreamEvent",
    "TextEvent",
    "ToolCall",
    "ToolCallEvent",
    "ToolCallRequest",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolResult",
    "ToolResultEvent",
    "ToolSet",
    "agenerate",
    "assistant",
    "astream",
    "generate",
    "policy",
    "stream",
    "system",
    "tool",
    "tool_result",
    "user",
]
