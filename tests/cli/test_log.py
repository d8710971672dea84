import subprocess
import sys

import pytest

from jarvis_process import run_jarvis
from openai_server import OpenAIServer, completion

PROGRAM = """
import logging
from openjarvis.cli.log import show_log, show_warnings_only
{start}()
class Unprintable(Exception):
    def __str__(self): raise RuntimeError("hunter22-args")
for name in ("openjarvis.x", "httpx", "openai._base_client", "anthropic", "urllib3", "mcp"):
    logger = logging.getLogger(name)
    logger.debug("debug of %s", name)
    logger.info("info of %s", name)
    logger.warning("%s: password=hunter22 \\x1b[2J", name)
    try:
        raise ValueError("https://user:hunter22@host/ \\x1b[31m")
    except ValueError:
        logger.exception("raised")
    logger.warning("%s %s", "hunter22-args")
    logger.warning("%s", Unprintable())
"""


def logged_by(start: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(start=start)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stderr


@pytest.mark.parametrize("start", ["show_log", "show_warnings_only"])
def test_neither_a_secret_nor_an_escape_is_logged(start: str) -> None:
    shown = logged_by(start)

    assert "httpx: password=[secret] \\x1b[2J" in shown
    assert "https://[secret]@host/ \\x1b[31m" in shown
    assert "hunter22" not in shown
    assert "\x1b" not in shown


def test_of_libraries_only_warnings_are_logged() -> None:
    shown = logged_by("show_log")

    assert [line for line in shown.splitlines() if line.startswith(("debug", "info"))] == [
        "debug of openjarvis.x",
        "info of openjarvis.x",
    ]


def test_without_verbose_openjarvis_is_quiet() -> None:
    assert "openjarvis.x" not in logged_by("show_warnings_only")


def test_verbose_shows_no_credentials_of_a_request() -> None:
    with OpenAIServer(completion("Hello.")) as server:
        base_url = server.base_url.replace("http://", "http://user:hunter22@")
        done = run_jarvis(
            *("--verbose", "ask", "--engine", "openai", "--model", "m", "Hi"),
            env={"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "a-key-of-no-known-format"},
        )

    assert done.stdout == "Hello.\n"
    assert "hunter22" not in done.stderr
    assert "a-key-of-no-known-format" not in done.stderr
