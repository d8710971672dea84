"""How a model is asked: once, or in turns with tools."""

from openjarvis.core.registry import AgentRegistry

for _key, _module, _name in (
    ("simple", "openjarvis.agents.simple", "SimpleAgent"),
    ("orchestrator", "openjarvis.agents.orchestrator", "OrchestratorAgent"),
    ("native_react", "openjarvis.agents.native_react", "NativeReActAgent"),
    ("native_openhands", "openjarvis.agents.native_openhands", "NativeOpenHandsAgent"),
    ("rlm", "openjarvis.agents.rlm", "RLMAgent"),
):
    AgentRegistry.register_lazy(_key, _module, _name)
