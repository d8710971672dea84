"""The text of an HTML page that came from anywhere."""

from pathlib import Path

from openjarvis.core.errors import ToolError
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.session import Sandbox

_LIMITS = Limits(timeout_seconds=5, memory_bytes=512 << 20, output_bytes=2 << 20)
_PARSER = Path(__file__).with_name("html_text.py")


def page_text(html: str, url: str) -> str:
    """Return the page's text and, below it, its links.

    Raises:
        ToolError: when the page takes too much of the parser, or no sandbox can be had.
    """
    program = f"{_PARSER.read_text(encoding='utf-8')}\nprint(html_text({html!r}, {url!r}))"
    # The code is ours, so it runs behind whatever walls there are; the limits are what is needed.
    execution = Sandbox(_LIMITS, allow_unsandboxed=True).run(program)
    if execution.returncode != 0 or execution.ending is not None:
        raise ToolError("The page could not be read as text; leave as_text out to get its HTML.")
    return execution.stdout.removesuffix("\n")
