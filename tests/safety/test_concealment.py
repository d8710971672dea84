import logging
import subprocess
import sys

import pytest

from openjarvis.safety.concealment import conceal, masked


def test_what_is_concealed_is_masked_however_it_is_written() -> None:
    conceal(["plain words/and é\n"])

    assert masked("of plain words/and é\n.") == "of [secret]."
    assert masked("of plain%20words/and%20%C3%A9%0A.") == "of [secret]."
    assert masked(r"of 'plain words/and é\n'.") == "of '[secret]'."


def test_one_line_of_a_limited_length_is_left() -> None:
    assert masked("a\n\x1b[31m" + "b" * 1_000, 20) == "a \\x1b[31m" + "b" * 10 + "…"


def test_a_secret_at_the_end_of_what_is_read_is_masked_whole() -> None:
    conceal(["concealed-and-cut"])

    assert "concealed" not in masked(" " * 1_195 + "concealed-and-cut", 300)


@pytest.mark.parametrize("name", ["openjarvis.mcp", "mcp.client.sse", "httpx2"])
def test_logs_are_masked_with_their_tracebacks(name: str, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger(name)
    conceal(["concealed-in-logs"])

    with caplog.at_level(logging.DEBUG):
        try:
            raise ValueError("it is concealed-in-logs")
        except ValueError:
            logger.debug("Failed with %s", "concealed-in-logs", exc_info=True)

    assert "Failed with [secret]" in caplog.text
    assert "ValueError: it is [secret]" in caplog.text
    assert "concealed" not in caplog.text


def test_hosts_are_masked_in_small_letters_too_and_short_ones_as_words_only() -> None:
    conceal(["Concealed.Host", "pw12", "abc"])

    assert masked("concealed.host pw12 xpw12x abc") == "[secret] [secret] xpw12x abc"


def test_the_logs_of_what_is_imported_later_are_masked() -> None:
    code = (
        "import logging, sys\n"
        "from openjarvis.safety.concealment import conceal\n"
        "conceal(['concealed-in-logs'])\n"
        "logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)\n"
        "import httpcore2\n"
        "httpcore2._sync.http11.logger.debug('it is %s', 'concealed-in-logs')\n"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout == "DEBUG:httpcore2.http11:it is [secret]\n"


def test_a_record_that_cannot_be_told_is_left_to_its_handlers() -> None:
    logger = logging.getLogger("mcp.client.sse")
    conceal(["concealed-in-logs"])
    record = logging.LogRecord("mcp", logging.INFO, __file__, 1, "%d", ("no number",), None)

    assert logger.filter(record)
