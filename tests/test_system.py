from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from jarvis_process import write_tools
from openjarvis.agents.base import AgentContext, AgentResult, BaseAgent
from openjarvis.agents.orchestrator import OrchestratorAgent
from openjarvis.agents.simple import SimpleAgent
from openjarvis.config import JarvisConfig, home
from openjarvis.core.errors import ConfigError
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.types import ToolCall
from openjarvis.execution.audit import AuditLog
from openjarvis.execution.policy import policy
from openjarvis.system import (
    System,
    UnknownAgentError,
    UnknownModeError,
    agent_class,
    get_engine,
    open_audit,
)
from openjarvis.testing import ScriptedEngine, says
from openjarvis.tools.catalog import UnknownToolError
from openjarvis.tools.repl import ReplTool

SIX_BY_SEVEN = ToolCall("1", "calculator", '{"expression": "6*7"}')


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def system() -> Iterator[System]:
    made = System(JarvisConfig(), ScriptedEngine([says("hi")]))
    yield made
    made.close()


class TestEngine:
    def test_the_named_one_comes_before_the_configured(self) -> None:
        config = JarvisConfig()
        config.engine.default = "scripted"

        named, configured = get_engine(config, "offline"), get_engine(config)

        assert named is not None
        assert named[0] == named[1].engine_id == "offline"
        assert configured is not None
        assert configured[0] == "scripted"

    def test_one_that_is_not_there_is_none(self) -> None:
        assert get_engine(JarvisConfig(), "nope") is None
        assert get_engine(JarvisConfig(), "openai") is None

    def test_the_model_is_the_named_the_configured_or_the_first_listed(self) -> None:
        config = JarvisConfig()
        config.engine.model = "configured"
        engine = ScriptedEngine(model="listed")

        assert System(config, engine, model="named").model == "named"
        assert System(config, engine).model == "configured"
        assert System(JarvisConfig(), engine).model == "listed"
        assert System(JarvisConfig(), MagicMock()).model == ""


class TestTools:
    def test_built_in_tools_are_had_without_running_any_file(
        self, system: System, folder: Path
    ) -> None:
        write_tools(folder / "agent" / "tools")

        assert [tool.spec.name for tool in system.tools(["calculator"])] == ["calculator"]
        assert "dropped_in" not in vars(system)

    def test_dropped_in_tools_are_found_in_every_folder(self, folder: Path) -> None:
        for place in (folder / "agent" / "tools", home() / "tools", folder / "c", folder / "d"):
            place.mkdir(parents=True)
            name = f"from_{place.parent.name}_{place.name}".replace("-", "_")
            (place / "one.py").write_text(
                f"from agent.tools import tool\n\n\n@tool('{name}', 'x')\n"
                f"def it() -> str:\n    return '{name}'\n"
            )
        config = JarvisConfig()
        config.tools.directories = ["c"]

        system = System(config, ScriptedEngine(), tool_dirs=["d"])

        assert [tool.spec.name for tool in system.dropped_in.tools] == [
            "from_work_d",
            "from_work_c",
            "from_agent_tools",
            "from_openjarvis_home_tools",
        ]

    def test_a_dropped_in_tool_cannot_take_the_name_of_a_built_in(self, folder: Path) -> None:
        (folder / "agent" / "tools").mkdir(parents=True)
        (folder / "agent" / "tools" / "mine.py").write_text(
            "from agent.tools import tool\n\n\n@tool('calculator', 'x')\n"
            "def it() -> str:\n    return 'mine'\n"
        )

        system = System(JarvisConfig(), ScriptedEngine())

        (problem,) = system.dropped_in.problems
        assert "taken by the built-in tool 'calculator'" in problem.reason
        assert system.executor(["calculator"]).execute(SIX_BY_SEVEN).content == "42"
        system.close()

    def test_an_unknown_name_says_when_files_were_not_usable(
        self, system: System, folder: Path
    ) -> None:
        with pytest.raises(UnknownToolError) as without_files:
            system.tools(["nope"])
        write_tools(folder / "agent" / "tools")
        with pytest.raises(UnknownToolError) as with_files:
            System(JarvisConfig(), ScriptedEngine()).tools(["nope"])

        assert "not usable" not in str(without_files.value)
        assert "Some tool files are not usable; 'jarvis tools list'" in str(with_files.value)

    def test_files_are_read_in_the_working_and_the_allowed_folders(self, tmp_path: Path) -> None:
        config = JarvisConfig()
        config.tools.allowed_dirs = [str(tmp_path / "a")]

        system = System(config, ScriptedEngine(), allowed_dirs=[tmp_path / "b"])

        assert system.services.allowed_dirs == [
            tmp_path / "work",
            tmp_path / "a",
            tmp_path / "b",
        ]


class TestExecutor:
    def test_it_runs_as_configured(self) -> None:
        config = JarvisConfig()
        config.tools.max_result_chars = 200
        config.tools.mask_errors = True

        def wide() -> str:
            """Say much."""
            return "x" * 1_000

        def broken() -> str:
            """Break."""
            raise ValueError("the inside")

        system = System(config, ScriptedEngine())
        executor = system.executor([wide, broken])

        assert "characters cut" in executor.execute(ToolCall("1", "wide", "")).content
        assert executor.execute(ToolCall("2", "broken", "")).content.startswith(
            "ValueError (reference "
        )
        system.close()

    def test_the_approver_decides(self, system: System) -> None:
        executor = system.executor(["calculator"], policy(deny=["calc*"]))

        assert "denied" in executor.execute(SIX_BY_SEVEN).content

    def test_calls_are_recorded_for_good(self, system: System) -> None:
        system.executor(["calculator"]).execute(SIX_BY_SEVEN)
        system.close()

        trail = AuditLog(home() / "audit.db")
        (entry,) = trail.entries()
        trail.close()
        assert (entry.name, entry.output) == ("calculator", "42")

    def test_nothing_is_written_where_no_tool_can_run_or_the_trail_is_off(self) -> None:
        config = JarvisConfig()
        config.audit.enabled = False

        System(JarvisConfig(), ScriptedEngine()).executor([])
        off = System(config, ScriptedEngine())
        off.executor(["calculator"]).execute(SIX_BY_SEVEN)

        assert off.audit is None
        assert not home().exists()

    def test_a_trail_that_cannot_be_opened_says_what_to_do(self, tmp_path: Path) -> None:
        config = JarvisConfig()
        config.audit.path = str(tmp_path / "trail.db")
        (tmp_path / "trail.db").mkdir()

        with pytest.raises(ConfigError, match=r"trail\.db cannot be opened: .*`enabled = false`"):
            open_audit(config)


class TestAgent:
    def test_it_runs_as_configured_and_as_told(self) -> None:
        config = JarvisConfig()
        config.agent.system_prompt = "Be brief."
        config.agent.temperature = 0.1
        config.agent.max_tokens = 9
        engine = ScriptedEngine([says("a"), says("b")])
        system = System(config, engine, model="m")

        system.agent("simple").run("hi")
        system.agent("simple", model="other", temperature=0.2, max_tokens=None).run("hi")

        first, second = engine.requests
        assert first.messages[0].text == "Be brief."
        assert (first.model, first.options["temperature"]) == ("m", 0.1)
        assert first.options["max_tokens"] == second.options["max_tokens"] == 9
        assert (second.model, second.options["temperature"]) == ("other", 0.2)

    def test_it_publishes_on_the_bus_of_the_system(self) -> None:
        bus = EventBus(record_history=True)

        System(JarvisConfig(), ScriptedEngine([says("a")]), bus=bus).agent("simple").run("hi")

        assert bus.history[0].event_type is EventType.AGENT_TURN_START

    def test_one_of_the_users_is_given_only_what_its_constructor_takes(
        self, system: System
    ) -> None:
        class Parrot:
            def __init__(self, engine: Any, model: str, *, tools: Any, bus: Any) -> None:
                self.given = (engine, model)

        with AgentRegistry.isolated():
            AgentRegistry.register_value("parrot", Parrot)
            made: Any = system.agent("parrot", temperature=0.2)

        assert made.given == (system.engine, "scripted-model")

    def test_one_of_the_users_may_take_all(self, system: System) -> None:
        class Curt(BaseAgent):
            agent_id = "curt"

            def answer(self, text: str, context: AgentContext) -> AgentResult:
                return AgentResult(f"{self._max_turns}")

        with AgentRegistry.isolated():
            AgentRegistry.register_value("curt", Curt)
            assert system.agent("curt", max_turns=4).run("hi").content == "4"

    @pytest.mark.parametrize(
        ("key", "kind"), [("simple", SimpleAgent), ("orchestrator", OrchestratorAgent)]
    )
    def test_the_class_of_a_key(self, key: str, kind: type[BaseAgent]) -> None:
        assert agent_class(key) is kind

    @pytest.mark.parametrize("by", ["option", "configuration"])
    def test_the_mode_of_the_orchestrator_may_be_chosen(self, by: str) -> None:
        config = JarvisConfig()
        options: dict[str, Any] = {"mode": "structured"}
        if by == "configuration":
            config.agent.mode = options.pop("mode")
        engine = ScriptedEngine([says("THOUGHT: so\nFINAL_ANSWER: 4")])

        result = System(config, engine).agent("orchestrator", **options).run("2+2?")

        assert result.content == "4"
        assert "FINAL_ANSWER: the answer" in engine.requests[0].messages[0].text

    def test_an_option_goes_before_the_configured_mode(self) -> None:
        config = JarvisConfig()
        config.agent.mode = "structured"
        engine = ScriptedEngine([says("FINAL_ANSWER: 4")])

        agent = System(config, engine).agent("orchestrator", mode="function_calling")

        assert agent.run("2+2?").content == "FINAL_ANSWER: 4"

    def test_a_mode_that_the_agent_does_not_have_is_refused(self) -> None:
        system = System(JarvisConfig(), ScriptedEngine())

        with pytest.raises(UnknownModeError, match=r"'struct'. Did you mean 'structured'\?"):
            system.agent("orchestrator", mode="struct")
        with pytest.raises(UnknownModeError, match="The agent 'native_react' has no modes"):
            system.agent("native_react", mode="structured")

    def test_a_configured_mode_is_for_the_agents_that_have_modes(self) -> None:
        config = JarvisConfig()
        config.agent.mode = "struct"
        system = System(config, ScriptedEngine([says("4")]))

        assert system.agent("native_react").run("2+2?").content == "4"
        with pytest.raises(ConfigError, match=r"Unknown mode 'struct'.* `mode` in \[agent\]"):
            system.agent("orchestrator")

    def test_an_unknown_key_names_the_nearest(self) -> None:
        with pytest.raises(UnknownAgentError) as caught:
            agent_class("orchestrater")

        assert str(caught.value).startswith(
            "Unknown agent 'orchestrater'. Did you mean 'orchestrator'? There are simple, "
        )


class TestClose:
    def test_it_closes_the_engine_and_the_trail(self) -> None:
        class Closing(ScriptedEngine):
            closed = False

            def close(self) -> None:
                self.closed = True

        engine = Closing()
        system = System(JarvisConfig(), engine)
        system.executor(["calculator"])

        system.close()

        assert engine.closed
        assert system.audit is not None
        with pytest.raises(Exception, match="closed"):
            system.audit.entries()

    def test_it_opens_nothing_to_close_it(self) -> None:
        System(JarvisConfig(), MagicMock()).close()

        assert not home().exists()


def test_closing_ends_the_python_sessions_of_its_tools_but_not_of_those_it_was_given() -> None:
    system, mine = System(JarvisConfig(), ScriptedEngine([])), ReplTool()
    (theirs,) = system.tools(["repl"])
    assert isinstance(theirs, ReplTool)
    system.tools([mine])
    for repl in (mine, theirs):
        repl.execute(code="x = 1")

    system.close()

    assert mine.execute(code="x").content == "1"
    assert "NameError" in theirs.execute(code="x").content
    mine.close()
    theirs.close()
