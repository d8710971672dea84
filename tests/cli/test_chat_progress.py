import io

import pytest
from rich.cells import cell_len

from openjarvis.cli.chat_progress import ProgressLine


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_where_there_is_no_terminal_nothing_is_shown() -> None:
    stream = io.StringIO()

    line = ProgressLine(stream)
    line.show("half way")
    ProgressLine(None).show("half way")

    assert stream.getvalue() == ""


@pytest.mark.parametrize("text", ["a" * 500, "字" * 500, "ก็" * 500])
def test_a_long_text_is_cut_to_the_line_however_wide_its_letters(text: str) -> None:
    stream = FakeTerminal()

    ProgressLine(stream).show(text)

    shown = stream.getvalue().removeprefix("\r")
    assert 70 < cell_len(shown) < 80
    assert "\n" not in shown


def test_a_shorter_text_leaves_nothing_of_the_longer_one() -> None:
    stream = FakeTerminal()
    line = ProgressLine(stream)

    line.show("step 10")
    line.show("end")
    with line.hidden():
        line.show("unseen")
        stream.write("ANSWER\n")
    line.show("go")

    assert stream.getvalue() == "\rstep 10\rend    \r   \rANSWER\n\rgo"
