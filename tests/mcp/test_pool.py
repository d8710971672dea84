import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_servers import ALLOW, OpenPool, misbehaving, run
from openjarvis.config import McpServerConfig
from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.types import ToolCall
from openjarvis.execution.approval import Approver
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.policy import policy
from openjarvis.execution.trip import Run
from openjarvis.mcp.connection import Backoff
from openjarvis.mcp.pool import ServerPool
from openjarvis.mcp.servers import Server
from openjarvis.testing import ScriptedEngine, says
from waiting import eventually


def test_a_tool_of_a_server_is_called_by_its_prefixed_name(open_pool: OpenPool) -> None:
    result = run(open_pool(misbehaving()), "bad__echo", {"text": "hi"})

    assert (result.success, result.content) == (True, "echo: hi")
    assert result.metadata["origin"] == "mcp:bad"


def test_every_page_of_tools_is_read_and_each_has_a_name_models_take(open_pool: OpenPool) -> None:
    status = open_pool(misbehaving()).statuses()[0]

    names = [one.spec.name for one, _ in status.tools]
    assert "bad__noise" in names
    assert all(len(name) <= 64 and name.startswith("bad__") for name in names)
    assert [one.remote_name for one, _ in status.tools if "odd" in one.spec.name] == [
        "odd name/with.dots"
    ]
    assert any("two tools are named bad__twice" in problem for problem in status.problems)
    assert any("big_schema" in problem and "at most" in problem for problem in status.problems)
    assert any("no_schema" in problem for problem in status.problems)
    assert "bad: ref: inputSchema.type: Field required" in status.problems
    assert "bad: five: description: Input should be a valid string" in status.problems
    assert any(problem.startswith("bad: a tool: ") for problem in status.problems)


def test_descriptions_are_limited_and_hidden_characters_shown(open_pool: OpenPool) -> None:
    specs = {one.spec.name: one.spec for one, _ in open_pool(misbehaving()).statuses()[0].tools}

    assert len(specs["bad__long"].description) < 2_100
    assert specs["bad__hidden"].description == "Read me\\u202e\\x1b[31m\\U000e0041."


def test_a_server_whose_pages_never_end_is_listed_all_the_same(open_pool: OpenPool) -> None:
    status = open_pool(misbehaving("bad", "endless-pages")).statuses()[0]

    assert [one.spec.name for one, _ in status.tools] == ["bad__echo"]


def test_tools_that_are_not_marked_read_only_need_a_confirmation(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving())

    assert "denied" in run(pool, "bad__huge", approve=None).content
    assert run(pool, "bad__echo", {"text": "a"}, approve=None).success


def test_a_trusted_server_asks_for_none(open_pool: OpenPool) -> None:
    assert run(open_pool(misbehaving(confirm=False)), "bad__noise", approve=None).success


def test_arguments_are_checked_before_the_server_sees_them(open_pool: OpenPool) -> None:
    result = run(open_pool(misbehaving()), "bad__echo", {"txt": "hi"})

    assert "unknown argument 'txt'" in result.content


def test_a_result_of_ten_megabytes_is_kept_to_its_limit(open_pool: OpenPool) -> None:
    result = run(open_pool(misbehaving()), "bad__huge")

    assert result.success
    assert "characters cut" in result.content
    assert len(result.content) <= 32_000


def test_garbage_on_stdout_disturbs_nothing(open_pool: OpenPool) -> None:
    assert run(open_pool(misbehaving()), "bad__garbage").content == "after the garbage"


def test_stderr_is_read_away_however_much_there_is(open_pool: OpenPool) -> None:
    assert run(open_pool(misbehaving()), "bad__noise").content == "quiet"


def test_structured_content_must_be_as_promised(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving())

    kept = run(pool, "bad__promise", {"text": '{"a": 1, "more": "of it"}'})
    broken = run(pool, "bad__promise", {"text": '{"a": "one"}'})
    missing = run(pool, "bad__unkept")

    assert (kept.success, kept.metadata["structured_content"]["a"]) == (True, 1)
    assert "is not as promised" in broken.content
    assert "is missing" in missing.content
    problems = pool.statuses()[0].problems
    assert any("no_promise: its output schema is no JSON Schema" in one for one in problems)


def test_an_answer_that_breaks_the_protocol_is_a_failure_with_words(open_pool: OpenPool) -> None:
    result = run(open_pool(misbehaving()), "bad__wrong")

    assert not result.success
    assert "breaks the protocol" in result.content


@pytest.mark.parametrize("tool", ["bad__die", "bad__half"])
def test_a_server_that_dies_in_a_call_is_unavailable_and_then_back(
    open_pool: OpenPool, tool: str
) -> None:
    pool = open_pool(misbehaving(), misbehaving("other"))

    lost = run(pool, tool)

    assert not lost.success
    assert lost.content.startswith("unavailable: the MCP server 'bad' was lost during the call")
    assert run(pool, "other__echo", {"text": "untouched"}).success
    assert eventually(lambda: run(pool, "bad__echo", {"text": "back"}).success)


def test_a_call_that_hangs_ends_at_its_deadline_and_the_server_is_told(
    open_pool: OpenPool, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    pool = open_pool(misbehaving("bad", "", str(told), timeout_seconds=0.3))

    result = run(pool, "bad__hang")

    assert "timed out after 0.3 s" in result.content
    assert eventually(told.exists)
    assert run(pool, "bad__echo", {"text": "still there"}).success


def test_cancelling_the_caller_cancels_the_call(open_pool: OpenPool, tmp_path: Path) -> None:
    told = tmp_path / "told"
    executor = ToolExecutor(open_pool(misbehaving("bad", "", str(told))).tools(["bad__hang"]))

    async def give_up() -> None:
        call = executor.aperform(ToolCall("1", "bad__hang", "{}"), Run(approve=ALLOW))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call, 0.5)

    asyncio.run(give_up())

    assert eventually(told.exists)


def test_a_silent_server_is_given_up_and_its_tools_say_so(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving("bad", "silent", connect_timeout_seconds=0.3))

    result = run(pool, "bad__echo")

    assert result.content == "unavailable: the MCP server 'bad': no answer within 0.3 s"


def test_a_server_that_answers_what_is_no_message_is_told_from_one_that_is_silent(
    open_pool: OpenPool,
) -> None:
    reason = open_pool(misbehaving("bad", "deep", connect_timeout_seconds=0.5)).statuses()[0].reason

    assert reason == "the MCP server 'bad': no answer within 0.5 s, only what is no message"


def test_a_crowd_of_tools_is_read_to_the_limit(open_pool: OpenPool) -> None:
    status = open_pool(misbehaving("bad", "crowd")).statuses()[0]

    assert [one.spec.name for one, _ in status.tools] == ["bad__echo"]
    assert status.problems[-1] == "bad: and 950 more"


def test_why_a_server_ended_is_told_without_its_secrets(open_pool: OpenPool) -> None:
    reason = open_pool(misbehaving("bad", "crash")).statuses()[0].reason

    assert "ValueError: token=[secret] is wrong" in reason


def test_what_was_filled_in_is_not_told_whoever_prints_it(
    open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRST_OF_TEST", "correct horse battery")
    monkeypatch.setenv("SECOND_OF_TEST", "staple-staple")
    server = misbehaving("bad", "blab", "--key=${SECOND_OF_TEST}", env={"KEY": "${FIRST_OF_TEST}"})

    reason = open_pool(server).statuses()[0].reason

    assert "no luck with [secret] and --key=[secret]" in reason


def test_a_tool_offered_while_its_server_was_away_works_once_it_is_back(
    open_pool: OpenPool, tmp_path: Path
) -> None:
    pool = open_pool(misbehaving("bad", "crash-once", str(tmp_path / "state")))
    executor = ToolExecutor(pool.tools(["bad__echo"]), approve=lambda request: True)
    call = ToolCall("1", "bad__echo", '{"text": "hi"}')

    assert executor.execute(call).content.startswith("unavailable: ")
    assert eventually(lambda: executor.perform(call, Run()).result.success)


@pytest.mark.parametrize("approve", [None, policy(allow=["nothing"])])
def test_a_call_of_a_server_that_is_away_asks_nobody(
    open_pool: OpenPool, approve: Approver | None
) -> None:
    gone = Server("gone", "the test", McpServerConfig(command="/no/such/command"))

    result = run(open_pool(gone), "gone__x", approve=approve)

    assert result.content.startswith("unavailable: the MCP server 'gone': ")


def test_a_tool_whose_server_was_lost_asks_nobody_until_it_is_back(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving("bad"), backoff=Backoff(first=60))
    executor = ToolExecutor(pool.tools(["bad__die"]))
    asked: list[str] = []

    def said() -> str:
        run_of_call = Run(approve=lambda request: asked.append(request.name) or True)
        return executor.perform(ToolCall("1", "bad__die", "{}"), run_of_call).result.content

    assert "was lost during the call" in said()
    assert eventually(lambda: pool.statuses()[0].reason != "")
    assert said().startswith("unavailable: the MCP server 'bad': ")
    assert asked == ["bad__die"]


def test_a_tool_offered_while_its_server_was_away_asks_once_it_is_back(
    open_pool: OpenPool, tmp_path: Path
) -> None:
    pool = open_pool(misbehaving("bad", "crash-once", str(tmp_path / "state"), confirm=False))
    executor = ToolExecutor(pool.tools(["bad__echo"]))
    call = ToolCall("1", "bad__echo", '{"text": "hi"}')

    assert executor.perform(call, Run()).result.content.startswith("unavailable: ")
    assert eventually(lambda: pool.statuses()[0].reason == "")

    assert "denied" in executor.perform(call, Run()).result.content
    assert executor.perform(call, Run(approve=ALLOW)).result.content == "echo: hi"


def test_a_tool_of_a_server_that_is_away_says_so_by_hand_too(open_pool: OpenPool) -> None:
    gone = Server("gone", "the test", McpServerConfig(command="/no/such/command"))
    tool = open_pool(gone).tools(["gone__x"])[0]

    assert tool.execute().content.startswith("unavailable: the MCP server 'gone': ")


def test_each_warning_comes_once(
    open_pool: OpenPool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = Server("gone", "the test", McpServerConfig(command="/no/such/command"))
    pins = tmp_path / "mcp" / "pins.json"
    pins.parent.mkdir()
    pins.write_text(json.dumps({"bad": {"echo": "another digest"}}))
    pool = open_pool(gone, misbehaving(), backoff=Backoff(first=60))

    for _ in range(2):
        pool.tools(["gone__x", "gone__y", "bad__echo"])

    told = [record.getMessage() for record in caplog.records]
    assert len(told) == len(set(told))
    assert len([one for one in told if "the MCP server gone are not there" in one]) == 1
    assert len([one for one in told if "is not the pinned one" in one]) == 1


def test_a_command_that_is_not_there_stops_only_its_own_tools(open_pool: OpenPool) -> None:
    gone = Server("gone", "the test", McpServerConfig(command="/no/such/command"))
    pool = open_pool(gone, misbehaving())

    assert "No such file" in run(pool, "gone__x").content
    assert run(pool, "bad__echo", {"text": "hi"}).success


def test_an_unset_variable_is_named_and_the_others_go_on(
    open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    pool = open_pool(misbehaving("bad", env={"TOKEN": "${NO_SUCH_TOKEN}"}), misbehaving("other"))

    needs = "the MCP server 'bad' (the test) needs ${NO_SUCH_TOKEN}, which is not set"
    assert pool.statuses()[0].reason.startswith(needs)
    assert pool.statuses()[1].reason == ""


def test_an_unknown_tool_of_a_server_names_the_nearest(open_pool: OpenPool) -> None:
    with pytest.raises(ToolDefinitionError, match="Did you mean 'bad__echo'"):
        open_pool(misbehaving()).tools(["bad__ehco"])


def test_a_tool_that_was_left_out_is_refused_with_the_reason(open_pool: OpenPool) -> None:
    with pytest.raises(ToolDefinitionError, match="bad__big_schema: its input schema has"):
        open_pool(misbehaving()).tools(["bad__big_schema"])


def test_a_definition_that_changes_under_way_no_longer_runs(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving(confirm=False))
    executor = ToolExecutor(pool.tools(["bad__echo", "bad__change"]))

    executor.execute(ToolCall("1", "bad__change", "{}"))

    def refused() -> bool:
        call = ToolCall("2", "bad__echo", '{"text": "hi"}')
        return "has changed the definition" in executor.perform(call, Run()).result.content

    assert eventually(refused)


def test_a_definition_that_changed_since_it_was_pinned_asks_until_it_is_accepted(
    open_pool: OpenPool, tmp_path: Path
) -> None:
    first = open_pool(misbehaving())
    first.tools(["bad__echo"])
    first.close()
    pins = tmp_path / "mcp" / "pins.json"
    pins.write_text(json.dumps({"bad": {"echo": "another digest"}}))
    pool = open_pool(misbehaving())

    assert pool.statuses()[0].tools[0][1] == "changed"
    assert "denied" in run(pool, "bad__echo", {"text": "a"}, approve=None).content
    assert pool.accept("bad__echo") == 1
    assert run(pool, "bad__echo", {"text": "a"}, approve=None).success


def test_pins_are_kept_for_their_owner_only(open_pool: OpenPool, tmp_path: Path) -> None:
    open_pool(misbehaving()).tools(["bad__echo"])

    pins = tmp_path / "mcp" / "pins.json"
    assert ["echo" in one for one in json.loads(pins.read_text()).values()] == [True]
    assert pins.stat().st_mode & 0o077 == 0


def test_another_server_of_the_same_name_has_pins_of_its_own(open_pool: OpenPool) -> None:
    here = open_pool(misbehaving(env={"MODE": "titled", "TITLE": "A title"}))
    there = open_pool(misbehaving("bad", "grown"))
    here.tools(["bad__echo"])

    def standings(pool: ServerPool) -> set[str]:
        return {str(standing) for _, standing in pool.statuses()[0].tools}

    assert standings(there) == {"new"}
    there.tools(["bad__echo"])
    assert (standings(here), standings(there)) == ({"pinned"}, {"pinned"})


def test_elicitation_and_sampling_are_off_unless_they_are_allowed(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving())

    assert "not supported" in run(pool, "bad__ask").content
    assert "not supported" in run(pool, "bad__sample").content


def test_elicitation_is_decided_by_the_approver_of_the_call(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving(elicitation=True))
    asked: list[str] = []

    def approve(request: object) -> bool:
        asked.append(request.name)  # type: ignore[attr-defined]
        return True

    accepted = json.loads(run(pool, "bad__ask", approve=approve).content)

    assert asked == ["bad__ask", "mcp:bad:elicitation"]
    assert accepted == {"action": "accept", "content": {"sure": True}}
    denied = run(pool, "bad__ask", approve=lambda request: request.name == "bad__ask")
    assert json.loads(denied.content) == {"action": "decline"}


def test_sampling_asks_the_approver_and_then_the_engine(open_pool: OpenPool) -> None:
    engine = ScriptedEngine([says("hi there")])
    pool = open_pool(misbehaving(sampling=True), engine=engine, model="scripted")

    denied = run(pool, "bad__sample", approve=lambda request: request.name == "bad__sample")
    allowed = run(pool, "bad__sample")

    assert "Denied" in denied.content
    assert json.loads(allowed.content)["content"]["text"] == "hi there"
    assert len(engine.requests) == 1


def test_closing_leaves_no_thread_and_no_process(open_pool: OpenPool) -> None:
    before = set(threading.enumerate())
    pool = open_pool(misbehaving(), misbehaving("other"))
    pool.statuses()

    pool.close()

    left = set(threading.enumerate()) - before
    assert [one.name for one in left if "openjarvis-mcp" in one.name] == []
    assert run_after_close(pool) == "unavailable: the connection was closed"


def run_after_close(pool: object) -> str:
    return run(pool, "bad__echo").content  # type: ignore[arg-type]


def test_closing_while_a_call_is_under_way_answers_it(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving())
    executor = ToolExecutor(pool.tools(["bad__hang"]), approve=lambda request: True)
    answers: list[str] = []
    begun = threading.Event()

    def call() -> None:
        begun.set()
        answers.append(executor.execute(ToolCall("1", "bad__hang", "{}")).content)

    caller = threading.Thread(target=call)
    caller.start()
    begun.wait()
    pool.close()
    caller.join(15)

    assert len(answers) == 1
    assert answers[0].startswith("unavailable: ")


def test_any_thread_may_close_and_more_than_once(open_pool: OpenPool) -> None:
    pool = open_pool(misbehaving(), misbehaving("other"))
    pool.statuses()
    closers = [threading.Thread(target=pool.close) for _ in range(4)]

    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(20)

    assert not any(closer.is_alive() for closer in closers)
    pool.close()


def test_a_question_that_may_be_of_either_of_two_approvers_is_declined(
    open_pool: OpenPool,
) -> None:
    pool = open_pool(misbehaving(elicitation=True, confirm=False))
    executor = ToolExecutor(pool.tools(["bad__ask", "bad__hang"]))
    waiting = threading.Thread(
        target=executor.perform,
        args=(ToolCall("1", "bad__hang", "{}"), Run(approve=lambda request: True)),
        daemon=True,
    )
    heard: list[str] = []

    waiting.start()
    assert eventually(lambda: len(pool._connections["bad"]._answers._under_way) == 1)
    asked = executor.perform(
        ToolCall("2", "bad__ask", "{}"),
        Run(approve=lambda request: heard.append(request.name) or True),
    )

    assert json.loads(asked.result.content) == {"action": "decline"}
    assert heard == ["bad__ask"]
    pool.close()
    waiting.join(15)


def test_a_program_that_does_not_close_ends_without_a_trace(tmp_path: Path) -> None:
    script = tmp_path / "careless.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from mcp_servers import misbehaving, run\n"
        "from openjarvis.mcp.pool import ServerPool\n"
        f"pool = ServerPool({{'bad': misbehaving()}}, Path({str(tmp_path)!r}))\n"
        "print(run(pool, 'bad__echo', {'text': 'hi'}).content)\n"
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout) == (0, "echo: hi\n")
    assert "Traceback" not in done.stderr
