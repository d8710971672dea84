"""A real PostgreSQL server for tests: its own data folder, its own Unix socket, gone at the end."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

SERVER_USER = "postgres"
"""Who runs the server when the tests run as root: PostgreSQL refuses to."""

_numbers = count(1)


class NoPostgres(RuntimeError):
    """There is no PostgreSQL to start here; the text says why."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server; any number of databases can be made in it."""

    programs: Path
    socket_dir: Path
    control: Callable[..., None]

    def dsn(self, database: str = "postgres") -> str:
        """Return the address of a database of this server."""
        return f"postgresql://{SERVER_USER}@/{database}?host={self.socket_dir}"

    def restart(self, *, after: float) -> None:
        """Break the server off, leave it down for `after` seconds, and start it again."""
        self.control("--mode=immediate", "stop")
        time.sleep(after)
        self.control("start")

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        name = f"test_{next(_numbers)}"
        where = ["--host", str(self.socket_dir), "--username", SERVER_USER]
        _run([self.programs / "createdb", *where, name])
        return self.dsn(name)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server that listens on a Unix socket only, and stop it at the end.

    Raises:
        NoPostgres: when it is not installed, or nobody may run it.
    """
    programs = _programs()
    user = _server_user()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        data, log = folder / "data", folder / "log"
        as_trusted = ["--auth=trust", f"--username={SERVER_USER}", "--encoding=UTF8", "--no-sync"]
        _run([programs / "initdb", f"--pgdata={data}", *as_trusted, "--locale=C"], user=user)
        # Nothing of a test needs to survive a loss of power.
        settings = ["listen_addresses=''", f"unix_socket_directories={folder}", "fsync=off"]
        options = " ".join(f"-c {setting}" for setting in (*settings, "max_connections=200"))
        command = [programs / "pg_ctl", f"--pgdata={data}", f"--log={log}", f"--options={options}"]

        def control(*words: str) -> None:
            _run([*command, "--wait", *words], user=user)

        control("start")
        try:
            yield PostgresServer(programs, folder, control)
        finally:
            control("--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    # Debian keeps the server's programs out of PATH, one folder a version.
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path:
        found = [Path(on_path).resolve()]
    if not found:
        raise NoPostgres("PostgreSQL's server is not installed (apt-get install postgresql)")
    return found[-1].parent


def _server_user() -> str | None:
    if not hasattr(os, "geteuid"):
        raise NoPostgres("PostgreSQL is tested on systems with Unix sockets only")
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        return pwd.getpwnam(SERVER_USER).pw_name
    except KeyError as exc:
        raise NoPostgres(
            f"root may not run PostgreSQL, and there is no user {SERVER_USER}"
        ) from exc


def _run(command: list[str | Path], *, user: str | None = None) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd="/",
        user=user,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}")
