"""`jarvis ask`: one question, one answer."""

import sys
from pathlib import Path
from typing import Any

import click

from openjarvis.cli.call_lines import show_calls
from openjarvis.cli.engines import not_there, without_model
from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import (
    allow_dir_option,
    approve_option,
    approver,
    json_option,
    mode_option,
    model_options,
    split_names,
    system_option,
    tools_dir_option,
    tools_option,
)
from openjarvis.cli.render import keep_stdout_for_results, notice, show, show_json
from openjarvis.config import JarvisConfig, load_config
from openjarvis.engine.discovery import OFFLINE
from openjarvis.llm.response import FinishReason
from openjarvis.sdk import Jarvis
from openjarvis.system import (
    UnknownAgentError,
    UnknownModeError,
    agent_class,
    check_mode,
    default_agent,
    get_engine,
)

CUT_OFF = "The answer was cut off; --max-tokens allows a longer one."


@click.command()
@click.argument("query", nargs=-1)
@click.option("-a", "--agent", help="The agent; with --tools the orchestrator by default.")
@mode_option
@system_option
@tools_option("The tools it may call, by name, separated by commas.")
@model_options
@click.option(
    "-f",
    "--file",
    "document",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A text of up to 50 MB to work on, with the agent rlm.",
)
@click.option("--no-context", is_flag=True, help="Do not add what the memory knows of it.")
@approve_option
@allow_dir_option
@tools_dir_option
@json_option
def ask(
    query: tuple[str, ...],
    agent: str | None,
    mode: str | None,
    tools: tuple[str, ...],
    engine: str | None,
    model: str | None,
    approve: str,
    allowed_dirs: tuple[str, ...],
    tool_dirs: tuple[str, ...],
    document: Path | None,
    no_context: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask a question and print the answer.

    QUERY may be several words; without it, it is read from standard input.
    """
    question = _question(query)
    config = load_config()
    agent = agent or (None if document else config.agent.default) or None
    chosen = split_names(*tools)
    check_agent(agent or default_agent(tools=chosen, document=document, mode=mode), mode)
    if agent and not agent_class(agent).uses_tools and chosen:
        notice(f"The agent {agent!r} uses no tools; --tools is ignored.")
    if agent and document and not agent_class(agent).takes_document:
        raise Failure(f"The agent {agent!r} works on no --file; use --agent rlm.", 2)
    key, built = find_engine(config, engine, model)
    keep_stdout_for_results()
    with Jarvis(
        config,
        engine_key=key,
        model=model,
        engine=built,
        allowed_dirs=allowed_dirs,
        tool_dirs=tool_dirs,
    ) as jarvis:
        are_shown = not as_json and show_calls(jarvis.system.bus)
        for remark in jarvis.system.dropped_in.remarks if tool_dirs else ():
            notice(remark)
        answer = jarvis.ask_full(
            question,
            agent=agent,
            mode=mode,
            tools=chosen,
            context=not no_context,
            approve=approver(approve),
            document=document or "",
            **options,
        )
    if key == OFFLINE:
        notice(without_model(config, engine))
    _print(answer, as_json=as_json, are_shown=are_shown)
    if answer["max_turns_exceeded"]:
        sys.exit(1)


def _question(words: tuple[str, ...]) -> str:
    """Return the question, from standard input where there are no words and no person to type."""
    try:
        if not words and sys.stdin is not None and not sys.stdin.isatty():
            words = (sys.stdin.read(),)
    except UnicodeError as error:
        raise _no_text(error) from error
    question = " ".join(words).strip()
    check_text(question)
    if not question:
        raise click.UsageError("Missing argument 'QUERY...': what is the question?")
    return question


def check_text(question: str) -> None:
    """Refuse a question with bytes that are no text: some providers take none of the rest then.

    Raises:
        UsageError: saying where they are.
    """
    try:
        question.encode()
    except UnicodeError as error:
        raise _no_text(error) from error


def _no_text(error: UnicodeError) -> click.UsageError:
    return click.UsageError(f"The question is not UTF-8 text: {error}.")


def check_agent(agent: str, mode: str | None) -> None:
    """Refuse an agent that there is not, and a mode that it does not have.

    Raises:
        Failure: with the nearest name.
    """
    try:
        agent_class(agent)
        if mode is not None:
            check_mode(agent, mode)
    except (UnknownAgentError, UnknownModeError) as error:
        raise Failure(str(error), 2) from error


def find_engine(config: JarvisConfig, key: str | None, model: str | None) -> tuple[str, Any]:
    """Return the engine of this key, by default the first that is ready, with its key.

    Raises:
        Failure: when it is not there; the text names the nearest, or where to see why.
    """
    found = get_engine(config, key, model)
    if found is None:
        raise not_there(config, key)
    return found


def _print(answer: dict[str, Any], *, as_json: bool, are_shown: bool) -> None:
    """Print an answer, and the calls that were denied unless they `are_shown` already."""
    told = with_denied(answer)
    if as_json:
        show_json(told)
        return
    for done in () if are_shown else told["denied"]:
        notice(done["content"])
    show(answer["content"])
    if answer["max_turns_exceeded"]:
        notice(f"All turns ({answer['turns']}) were used up; --max-turns allows more.")
    elif answer["finish_reason"] == FinishReason.LENGTH:
        notice(CUT_OFF)


def with_denied(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as `--json` prints it: with what was denied, without the conversation."""
    told = {name: value for name, value in answer.items() if name != "messages"}
    denied = [done for done in answer["tool_results"] if done.get("outcome") == "denied"]
    return {**told, "denied": denied}
