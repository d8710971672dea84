import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from marked_processes import alive, new_mark, wait_until_gone
from openjarvis.core.errors import ToolError
from openjarvis.sandbox.interpreter import Interpreter
from openjarvis.sandbox.isolation import Isolation, SandboxRefused, detect
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.outcome import Ending
from openjarvis.sandbox.session import Sandbox, Session

KERNEL_ONLY = Isolation(landlock=detect().landlock, seccomp=detect().seccomp)
EVERY_WAY = [
    pytest.param(detect(), id="all"),
    pytest.param(KERNEL_ONLY, id="kernel"),
    pytest.param(Isolation(), id="none"),
]


def sandbox(isolation: Isolation, **limits: float) -> Sandbox:
    return Sandbox(Limits(**limits), isolation=isolation, allow_unsandboxed=True)  # type: ignore[arg-type]


@pytest.fixture
def marker(monkeypatch: pytest.MonkeyPatch) -> str:
    """A mark in the environment of every child, by which it is found among all processes."""
    return new_mark(monkeypatch)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("isolation", EVERY_WAY)
def test_an_interrupt_while_a_sandbox_starts_leaves_nothing(
    isolation: Isolation, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    sandbox(isolation).run("1")  # what stays open for good is open now
    monkeypatch.setattr(Interpreter, "_reply", interrupt)
    before = len(list(Path("/proc/self/fd").iterdir()))

    with pytest.raises(KeyboardInterrupt):
        sandbox(isolation).run("1")

    assert wait_until_gone(marker)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("isolation", EVERY_WAY)
class TestASnippet:
    def test_prints_and_shows_its_last_expression(self, isolation: Isolation) -> None:
        execution = sandbox(isolation).run("print('one')\n1 + 1")

        assert (execution.stdout, execution.stderr) == ("one\n2\n", "")
        assert (execution.returncode, execution.ending) == (0, None)

    def test_names_its_exception_with_the_line_it_came_from(self, isolation: Isolation) -> None:
        execution = sandbox(isolation).run("def f():\n    return 1 / 0\n\nf()")

        assert execution.returncode == 1
        assert "ZeroDivisionError" in execution.stderr
        assert "    return 1 / 0" in execution.stderr
        assert "openjarvis" not in execution.stderr

    @pytest.mark.parametrize(
        ("code", "name"),
        [
            ("x = (", "SyntaxError"),
            ("x = '\0'", "SyntaxError"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("raise BaseException('odd')", "BaseException"),
            ("class C:\n    def __repr__(self): return 1 / 0\nC()", "ZeroDivisionError"),
            ("input()", "EOFError"),
            ("def f(): f()\nf()", "RecursionError"),
            ("bytearray(10 << 30)", "MemoryError"),
        ],
    )
    def test_a_failure_of_any_kind_is_told(
        self, isolation: Isolation, code: str, name: str
    ) -> None:
        execution = sandbox(isolation).run(code)

        assert name in execution.stderr
        assert execution.returncode == 1

    @pytest.mark.parametrize(
        ("code", "returncode"),
        [
            ("exit()", 0),
            ("import sys; sys.exit(3)", 3),
            ("exit('why')", 1),
            ("import os; os._exit(4)", 4),
        ],
    )
    def test_an_exit_is_its_return_code(
        self, isolation: Isolation, code: str, returncode: int
    ) -> None:
        assert sandbox(isolation).run(code).returncode == returncode

    def test_a_crash_is_told_with_its_signal(self, isolation: Isolation) -> None:
        execution = sandbox(isolation).run("import os; os.kill(os.getpid(), 11)")

        assert (execution.returncode, execution.ending) == (-signal.SIGSEGV, Ending.CRASHED)

    def test_threads_asyncio_sqlite_and_temporary_files_work(self, isolation: Isolation) -> None:
        execution = sandbox(isolation).run(
            textwrap.dedent(
                """
                import asyncio, json, pathlib, sqlite3, tempfile, threading

                async def nap():
                    await asyncio.sleep(0.01)
                    return await asyncio.to_thread(lambda: "awake")

                print(asyncio.run(nap()))
                thread = threading.Thread(target=print, args=("threaded",))
                thread.start()
                thread.join()
                base = sqlite3.connect("base.db")
                base.execute("create table t (a)")
                base.execute("insert into t values (7)")
                base.commit()
                print(sqlite3.connect("base.db").execute("select a from t").fetchone())
                with tempfile.NamedTemporaryFile("w+") as file:
                    file.write("kept")
                    file.seek(0)
                    print(file.read())
                path = pathlib.Path("deep/er")
                path.mkdir(parents=True)
                (path / "a.txt").write_text("x")
                (path / "a.txt").rename(path / "b.txt")
                print(sorted(p.name for p in path.iterdir()))
                import dataclasses, pickle, typing
                @dataclasses.dataclass
                class Point:
                    x: "int" = 1
                print(pickle.loads(pickle.dumps(Point(2))), typing.get_type_hints(Point))
                print(json.dumps({"ไทย": "中文"}, ensure_ascii=False))
                """
            )
        )

        assert execution.stderr == ""
        assert execution.stdout.splitlines() == [
            "awake",
            "threaded",
            "(7,)",
            "kept",
            "['b.txt']",
            "Point(x=2) {'x': <class 'int'>}",
            '{"ไทย": "中文"}',
        ]

    def test_a_thread_that_goes_on_is_waited_for_as_by_any_program(
        self, isolation: Isolation
    ) -> None:
        code = "import threading, time\nthreading.Timer(0.05, lambda: print('late')).start()"

        assert sandbox(isolation).run(code).stdout == "late\n"

    def test_past_its_time_it_is_ended_and_what_it_printed_is_kept(
        self, isolation: Isolation, marker: str
    ) -> None:
        started = time.monotonic()

        execution = sandbox(isolation, timeout_seconds=0.5).run("print('so far')\nwhile True: pass")

        assert execution.ending is Ending.TIMED_OUT
        assert execution.stdout == "so far\n"
        assert time.monotonic() - started < 5
        assert wait_until_gone(marker)

    def test_output_without_end_is_read_in_a_bounded_way(self, isolation: Isolation) -> None:
        flood = sandbox(isolation, output_bytes=1000, flood_bytes=1 << 20)

        execution = flood.run("while True: print('x' * 10_000)")

        assert execution.ending is Ending.FLOODED
        assert execution.is_cut
        assert len(execution.stdout) == 1000

    def test_a_disk_that_fills_is_stopped(self, isolation: Isolation) -> None:
        small = sandbox(isolation, disk_bytes=4 << 20, file_bytes=2 << 20, timeout_seconds=10)

        execution = small.run(
            "import time\nfor n in range(20):\n    open(str(n), 'wb').write(bytes(1 << 20))\n"
            "time.sleep(5)\nprint('it all fits')"
        )

        assert "it all fits" not in execution.stdout
        assert execution.ending is Ending.DISK_FULL or "No space left" in execution.stderr

    def test_one_file_has_a_greatest_size(self, isolation: Isolation) -> None:
        execution = sandbox(isolation, file_bytes=1 << 20).run(
            "with open('big', 'wb') as file:\n    file.write(bytes(2 << 20))"
        )

        assert "File too large" in execution.stderr

    def test_leaves_nothing_in_the_temporary_folder(
        self, isolation: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

        sandbox(isolation).run(
            "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()\nos.symlink('/etc', 'a/etc')"
        )

        assert list(tmp_path.iterdir()) == []


def test_numpy_works_where_it_is_installed() -> None:
    pytest.importorskip("numpy")

    execution = Sandbox().run(
        "import numpy\nprint((numpy.ones((200, 200)) @ numpy.eye(200)).sum())"
    )

    assert execution.stdout == "40000.0\n", execution.stderr


def test_text_that_no_python_could_read_is_refused_before_anything_starts() -> None:
    with pytest.raises(ToolError, match="half of a surrogate pair"):
        Sandbox().run("print('\ud800')")


@pytest.fixture
def session() -> Session:
    return Sandbox(Limits(timeout_seconds=3)).open()


class TestASession:
    def test_keeps_its_state_and_its_last_value(self, session: Session) -> None:
        session.run("import math\nx = 40")

        assert session.run("x + 2").stdout == "42\n"
        assert session.run("_ * 10").stdout == "420\n"
        assert session.run("math.floor(2.5)").stdout == "2\n"

    def test_goes_on_after_an_exception_and_an_exit(self, session: Session) -> None:
        session.run("x = 1")

        assert session.run("1 / 0").returncode == 1
        assert session.run("exit(3)").returncode == 3
        assert session.run("x").stdout == "1\n"

    @pytest.mark.parametrize(
        "mischief",
        [
            "print = None",
            "import builtins; builtins.print = builtins.repr = None",
            "import sys; sys.stdout.close(); sys.stderr.close()",
            "import sys; sys.stdout = sys.stderr = None",
            "import sys; sys.stdout = sys.__stdout__ = sys.displayhook = sys.excepthook = 3",
            "import os; os.close(1); os.close(2)",
            "import os; os.close(0)",
            "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
            "import sys; sys.modules.clear(); sys.path.clear()",
            "import os, sys; os.write = os.read = sys.exit = None",
            "import signal\nfor n in {*range(1, 32)} - {9, 19}: signal.signal(n, signal.SIG_IGN)",
        ],
    )
    def test_speaks_again_after_code_that_breaks_its_streams(
        self, session: Session, mischief: str
    ) -> None:
        session.run(mischief)

        assert session.run("6 * 7").stdout == "42\n"

    def test_ends_alone_when_its_time_is_over(self) -> None:
        sandbox = Sandbox(Limits(timeout_seconds=0.5))
        slow, other = sandbox.open(), sandbox.open()
        other.run("x = 1")

        assert slow.run("while True: pass").ending is Ending.TIMED_OUT
        assert not slow.is_open
        assert slow.run("1").ending is Ending.EXITED
        assert other.run("x").stdout == "1\n"

    @pytest.mark.parametrize(
        "code",
        [
            "import os; os._exit(0)",
            "import os; os.kill(os.getpid(), 9)",
            "import ctypes; ctypes.string_at(0)",
        ],
    )
    def test_says_so_when_the_code_ends_the_interpreter(self, session: Session, code: str) -> None:
        execution = session.run(code)

        assert execution.ending in (Ending.EXITED, Ending.CRASHED)
        assert not session.is_open

    @pytest.mark.parametrize(
        "forgery",
        [
            "os.write({fd}, b'done 0\\n' * 3)",
            "os.write({fd}, b'x' * 100_000)",
            "os.write({fd}, b'refused because\\n')",
            "os.write({fd}, b'done ' + b'9' * 1000 + b'\\n')",
            "os.close({fd})",
        ],
    )
    def test_a_forged_reply_harms_only_the_session_that_forged_it(
        self, session: Session, forgery: str
    ) -> None:
        session.run("import os\n" + forgery.format(fd=60) + "\nwhile True: os.getpid()")

        assert session.run("1").ending is not None
        assert not session.is_open

    def test_a_line_without_end_to_the_parent_ends_the_session_at_once(self) -> None:
        session = Sandbox(Limits(timeout_seconds=20)).open()

        execution = session.run("import os\nwhile True: os.write(60, b'x' * 1000)")

        assert execution.ending is Ending.CRASHED

    def test_outlives_the_thread_that_opened_it(self) -> None:
        sessions: list[Session] = []
        thread = threading.Thread(target=lambda: sessions.append(Sandbox().open()))
        thread.start()
        thread.join()

        assert sessions[0].run("1").stdout == "1\n"
        assert sessions[0].run("2").stdout == "2\n"

    def test_calls_from_several_threads_take_turns(self, session: Session) -> None:
        session.run("n = 0")
        add = "before = n\nimport time; time.sleep(0.001)\nn = before + 1"
        threads = [threading.Thread(target=session.run, args=(add,)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert session.run("n").stdout == "20\n"

    def test_output_of_one_call_does_not_reach_the_next(self, session: Session) -> None:
        first = session.run("for n in range(50_000): print(n)")
        second = session.run("print('second')")

        assert first.stdout.startswith("0\n1\n")
        assert first.stdout.endswith("49999\n") or first.is_cut
        assert second.stdout == "second\n"

    def test_ends_when_it_is_dropped(self, marker: str) -> None:
        session = Sandbox().open()
        session.run("1")
        assert alive(marker)

        del session

        assert wait_until_gone(marker)

    def test_ends_when_it_was_idle_for_long(self, marker: str) -> None:
        session = Sandbox(Limits(idle_seconds=0.1)).open()

        assert wait_until_gone(marker)
        assert not session.is_open

    @pytest.mark.parametrize("isolation", EVERY_WAY)
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
    def test_ends_with_the_process_that_opened_it(
        self, marker: str, isolation: Isolation, how: signal.Signals | None
    ) -> None:
        program = f"""
            import sys, threading
            from openjarvis.sandbox.isolation import Isolation
            from openjarvis.sandbox.session import Sandbox
            session = Sandbox(isolation={isolation!r}, allow_unsandboxed=True).open()
            busy = "while True: pass"
            threading.Thread(target=session.run, args=(busy,), daemon=True).start()
            print("open", flush=True)
            sys.stdin.read()
        """
        owner = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == b"open\n"
            assert len(alive(marker)) > 1

            if how is not None:
                owner.send_signal(how)

        assert wait_until_gone(marker)


class TestMissingWalls:
    def test_without_file_isolation_code_is_refused_with_what_to_do(self) -> None:
        with pytest.raises(SandboxRefused, match="No file isolation on this system") as refusal:
            Sandbox(isolation=Isolation(seccomp=True)).run("1")

        assert "Use code_interpreter_docker, or set allow_unsandboxed = true." in str(refusal.value)

    def test_without_network_isolation_too(self) -> None:
        with pytest.raises(SandboxRefused, match="No network isolation on this system"):
            Sandbox(isolation=Isolation(landlock=1)).open()

    def test_a_wall_that_cannot_be_put_up_stops_the_code_and_is_told(self, tmp_path: Path) -> None:
        witness = tmp_path / "ran"

        with pytest.raises(SandboxRefused, match="no code was run"):
            Sandbox(isolation=Isolation(landlock=-1, seccomp=True)).run(
                f"open({str(witness)!r}, 'w')"
            )

        assert not witness.exists()

    def test_what_stands_and_what_is_missing_is_described(self) -> None:
        described = Isolation(landlock=3, seccomp=True).describe()

        assert described["layers"][-2:] == ["landlock 3", "seccomp"]
        assert [text.split(":")[0] for text in described["missing"]] == ["bubblewrap"]
        assert "the limit on disk is soft" in described["missing"][0]


def test_a_forked_copy_of_the_owner_neither_ends_its_sessions_nor_lacks_its_own() -> None:
    program = """
        import os, sys
        from openjarvis.sandbox.session import Sandbox
        session = Sandbox().open()
        session.run("x = 1")
        copy = os.fork()
        if copy == 0:
            print(Sandbox().run("'copy'").stdout, end="", flush=True)
            sys.exit()
        os.waitpid(copy, 0)
        print(session.run("x").stdout, end="")
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.stdout == "'copy'\n1\n", done.stderr


def test_an_interrupted_call_ends_its_code(marker: str) -> None:
    session = Sandbox(Limits(timeout_seconds=20)).open()
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()

    with pytest.raises(KeyboardInterrupt):
        session.run("while True: pass")

    assert not session.is_open
    assert wait_until_gone(marker)


@pytest.mark.parametrize("isolation", EVERY_WAY)
def test_a_temporary_folder_that_cannot_be_had_is_a_sentence(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/nowhere")

    if isolation.wrapper:
        assert sandbox(isolation).run("1").stdout == "1\n"
    else:
        with pytest.raises(SandboxRefused, match="The sandbox did not start: "):
            sandbox(isolation).run("1")


class TestAConnectedSession:
    @pytest.mark.parametrize("isolation", EVERY_WAY)
    def test_asks_its_parent_while_it_runs(self, isolation: Isolation) -> None:
        session = sandbox(isolation).open()

        session.connect("ask", str.upper)
        execution = session.run("print(ask('one'))\nask('two')")

        assert execution.stdout == "ONE\n'TWO'\n"
        session.close()

    def test_takes_a_long_text_by_a_name(self) -> None:
        session = sandbox(detect()).open()

        defined = session.define("text", "é\n" * 5_000_000)

        assert (defined.returncode, defined.ending) == (0, None)
        assert session.run("len(text), text[-2:]").stdout == "(10000000, 'é\\n')\n"
        session.close()

    def test_does_not_count_its_parents_time(self) -> None:
        session = sandbox(detect(), timeout_seconds=1).open()

        def slow(question: str) -> str:
            threading.Event().wait(1.5)
            return question

        session.connect("ask", slow)

        assert session.run("ask('x')").stdout == "'x'\n"
        session.close()

    def test_counts_its_own_time_between_questions(self) -> None:
        session = sandbox(detect(), timeout_seconds=1).open()
        session.connect("ask", str.upper)

        execution = session.run("while True: ask('x')")

        assert execution.ending is Ending.TIMED_OUT

    def test_asks_as_often_as_it_likes(self) -> None:
        session = sandbox(detect()).open()
        session.connect("ask", str.upper)

        execution = session.run(
            "answers = [ask('x' * n) for n in range(200)]\nsum(map(len, answers))"
        )

        assert execution.stdout == f"{sum(range(200))}\n"
        session.close()

    def test_is_ended_by_an_answer_that_raises(self) -> None:
        session = sandbox(detect()).open()

        def fail(question: str) -> str:
            raise ValueError(question)

        session.connect("ask", fail)
        with pytest.raises(ValueError, match="why"):
            session.run("ask('why')")

        assert not session.is_open
        session.close()

    @pytest.mark.parametrize(
        ("code", "ending"),
        [
            ("ask('x' * (17 << 20))", Ending.FLOODED),
            ("import os\nos.write(FD, b'ask x\\n')\nwhile True: pass", Ending.CRASHED),
            ("import os\nos.write(FD, b'ask 99999999999999\\n')\nwhile True: pass", Ending.CRASHED),
            ("import os\nos.write(FD, b'ask 9\\nhalf')\nos._exit(0)", Ending.CRASHED),
            ("import os\nos.write(FD, b'ask 9\\nhalf')\nwhile True: pass", Ending.TIMED_OUT),
        ],
    )
    def test_is_ended_when_it_breaks_the_protocol(self, code: str, ending: Ending) -> None:
        session = sandbox(detect(), timeout_seconds=3).open()
        session.connect("ask", str.upper)
        find = "FD = ask.__self__._fd"

        session.run(find)
        execution = session.run(code)

        assert execution.ending is ending

    def test_without_an_answerer_a_question_is_a_breach(self) -> None:
        session = sandbox(detect()).open()

        execution = session.run(
            "import os\nfor fd in range(60, 80):\n"
            "    try: os.write(fd, b'ask 1\\nx')\n    except OSError: pass\n"
        )

        assert execution.ending is Ending.CRASHED


HIDDEN = {
    "removed files that stay open": """
        import os, time
        kept = []
        for n in range(40):
            kept.append(open("file", "wb", buffering=0))
            kept[-1].write(bytes(1 << 20))
            os.unlink("file")
    """,
    "files deeper than any path": """
        import os
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        for n in range(40):
            open(str(n), "wb").write(bytes(1 << 20))
    """,
    "files in a moment": """
        for n in range(40):
            open(str(n), "wb").write(bytes(1 << 20))
    """,
}


class TestADiskWithoutAFileSystemOfItsOwn:
    @pytest.mark.parametrize("hidden", HIDDEN)
    def test_is_bounded_however_the_files_are_hidden(
        self, hidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        session = sandbox(KERNEL_ONLY, disk_bytes=16 << 20, timeout_seconds=10).open()

        execution = session.run(textwrap.dedent(HIDDEN[hidden]))

        assert execution.ending is Ending.DISK_FULL
        assert list(tmp_path.iterdir()) == []

    def test_is_watched_between_two_calls(self) -> None:
        session = sandbox(KERNEL_ONLY, disk_bytes=16 << 20).open()
        code = """
            import threading, time
            def write():
                time.sleep(0.1)
                for n in range(40):
                    open(str(n), "wb").write(bytes(1 << 20))
            threading.Thread(target=write).start()
        """
        assert session.run(textwrap.dedent(code)).ending is None

        deadline = time.monotonic() + 10
        while session.is_open and time.monotonic() < deadline:
            time.sleep(0.02)

        assert not session.is_open

    def test_is_never_taken_without_writing(self) -> None:
        execution = sandbox(KERNEL_ONLY).run(
            "import os\nwith open('file', 'wb') as file:\n"
            "    os.posix_fallocate(file.fileno(), 0, 1 << 20)"
        )

        assert "PermissionError" in execution.stderr

    def test_never_stops_a_later_run(self) -> None:
        dig = "import os\nfor i in range(3000): os.mkdir('d'); os.chdir('d')"

        for _ in range(2):
            sandbox(KERNEL_ONLY).run(dig)

        assert sandbox(KERNEL_ONLY).run("1").stdout == "1\n"
