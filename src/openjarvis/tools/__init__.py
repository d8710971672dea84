"""The tools that are shipped; each is imported when it is first asked for by name."""

from openjarvis.core.registry import ToolRegistry

for _key, _module, _name in (
    ("think", "openjarvis.tools.think", "ThinkTool"),
    ("calculator", "openjarvis.tools.calculator", "CalculatorTool"),
    ("file_read", "openjarvis.tools.file_read", "FileReadTool"),
    ("llm", "openjarvis.tools.llm_tool", "LLMTool"),
):
    ToolRegistry.register_lazy(_key, _module, _name)
