import io
import json
from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner, Result

from openjarvis.cli.render import (
    keep_stdout_for_results,
    notice,
    show,
    show_json,
    show_table,
)


def printed_by(body: Callable[[], object]) -> Result:
    return CliRunner().invoke(click.Command("body", callback=lambda: body() and None))


@pytest.mark.parametrize("text", ["two\nlines", "two\nlines\n"])
def test_a_result_ends_with_one_line_end(text: str) -> None:
    assert printed_by(lambda: show(text)).stdout == "two\nlines\n"


def test_a_notice_goes_to_stderr() -> None:
    done = printed_by(lambda: notice("mind \x07this"))

    assert (done.stdout, done.stderr) == ("", "mind \\x07this\n")


def test_json_keeps_letters_and_escapes_what_steers() -> None:
    value = {"text": "ไทย é \x1b \x9b \u202e \U000e0041 \ud800", "path": {1}}

    done = printed_by(lambda: show_json(value))

    assert "ไทย é" in done.stdout
    assert not set("\x1b\x9b\u202e\U000e0041") & set(done.stdout)
    assert json.loads(done.stdout) == {**value, "path": "{1}"}


def test_json_is_printed_whatever_is_in_it() -> None:
    ring: dict[object, object] = {(1, 2): float("nan")}
    ring["itself"] = ring

    done = printed_by(lambda: show_json({"content": "done", "metadata": ring}))

    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "content": "done",
        "metadata": {"(1, 2)": None, "itself": "\N{HORIZONTAL ELLIPSIS}"},
    }


def test_a_piped_table_has_one_line_a_row_and_no_header() -> None:
    done = printed_by(lambda: show_table(("A", "B"), [("x\ty", "1\n2"), ("\x1b[1m", None)]))

    assert done.stdout == "x y\t1 2\n\\x1b[1m\tNone\n"


def test_a_table_for_a_person_has_a_header_and_takes_no_markup_from_its_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)

    show_table(("NAME", "WHY"), [("[red]x[/red]", "y")])

    assert "NAME" in terminal.getvalue()
    assert "[red]x[/red]" in terminal.getvalue()


def test_what_is_printed_by_others_goes_to_stderr_and_results_to_stdout() -> None:
    def body() -> None:
        keep_stdout_for_results()
        print("by a tool")
        show("result")
        show_json([])
        show_table(("A",), [("cell",)])

    done = printed_by(body)

    assert done.stdout == "result\n[]\ncell\n"
    assert done.stderr == "by a tool\n"


def test_stdout_is_as_before_when_the_command_has_ended() -> None:
    first = printed_by(keep_stdout_for_results)
    second = printed_by(lambda: print("printed"))

    assert (first.exit_code, second.stdout) == (0, "printed\n")
