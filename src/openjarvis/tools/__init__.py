"""The tools that are shipped; each is imported when it is first asked for by name."""

from openjarvis.core.registry import ToolRegistry

for _key, _module, _name in (
    ("think", "openjarvis.tools.think", "ThinkTool"),
    ("calculator", "openjarvis.tools.calculator", "CalculatorTool"),
    ("file_read", "openjarvis.tools.file_read", "FileReadTool"),
    ("llm", "openjarvis.tools.llm_tool", "LLMTool"),
    ("mcp_adapter", "openjarvis.mcp.adapter", "MCPToolAdapter"),
    ("channel_send", "openjarvis.channels.tools", "ChannelSendTool"),
    ("channel_list", "openjarvis.channels.tools", "ChannelListTool"),
    ("channel_status", "openjarvis.channels.tools", "ChannelStatusTool"),
    ("schedule_task", "openjarvis.scheduler.tools", "ScheduleTaskTool"),
    ("list_scheduled_tasks", "openjarvis.scheduler.tools", "ListScheduledTasksTool"),
    ("pause_scheduled_task", "openjarvis.scheduler.tools", "PauseScheduledTaskTool"),
    ("resume_scheduled_task", "openjarvis.scheduler.tools", "ResumeScheduledTaskTool"),
    ("cancel_scheduled_task", "openjarvis.scheduler.tools", "CancelScheduledTaskTool"),
    ("retrieval", "openjarvis.tools.retrieval", "RetrievalTool"),
    ("memory_store", "openjarvis.memory.tools", "MemoryStoreTool"),
    ("memory_retrieve", "openjarvis.memory.tools", "MemoryRetrieveTool"),
    ("memory_search", "openjarvis.memory.tools", "MemorySearchTool"),
    ("memory_index", "openjarvis.memory.tools", "MemoryIndexTool"),
    ("code_interpreter", "openjarvis.tools.code_interpreter", "CodeInterpreterTool"),
    (
        "code_interpreter_docker",
        "openjarvis.tools.code_interpreter_docker",
        "CodeInterpreterDockerTool",
    ),
    ("repl", "openjarvis.tools.repl", "ReplTool"),
    ("http_request", "openjarvis.tools.http_request", "HttpRequestTool"),
    ("web_search", "openjarvis.tools.web_search", "WebSearchTool"),
):
    ToolRegistry.register_lazy(_key, _module, _name)
