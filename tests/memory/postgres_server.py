"""A PostgreSQL server for the tests: in a folder of its own, on a socket there, gone afterwards."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DEBIAN = "/usr/lib/postgresql/*/bin"


def missing() -> str | None:
    """Return why no server can be started here; None when one can."""
    if _binaries() is None:
        return "there is no PostgreSQL server here (Debian: apt-get install postgresql)"
    if os.getuid() == 0 and _account() is None:
        return "PostgreSQL does not run as root, and there is no other account here"
    return None


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server and give the connection string of its database."""
    binaries = _binaries()
    assert binaries
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    account = _account() if os.getuid() == 0 else None
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)

    def run(*command: str) -> None:
        subprocess.run(
            [binaries / command[0], *command[1:]],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
        )

    data = str(folder / "data")
    options = f"-k {folder} -c listen_addresses= -c fsync=off -c max_connections=200"
    try:
        run("initdb", "-D", data, "-U", "jarvis", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"host={folder} user=jarvis dbname=postgres"
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _binaries() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    return next(iter(sorted(Path("/").glob(_DEBIAN.lstrip("/")), reverse=True)), None)


def _account() -> pwd.struct_passwd | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None
