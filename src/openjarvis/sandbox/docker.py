"""Code in a throw-away container, through Docker or a podman that speaks Docker's interface.

The engine's Python package is foreign and optional: it is imported where it is used, and whatever
it raises becomes a sentence.
"""

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from openjarvis.core.cancellation import ended_when_cancelled
from openjarvis.core.errors import ToolError
from openjarvis.core.extras import how_to_install
from openjarvis.sandbox.outcome import Ending, Execution

_log = logging.getLogger("openjarvis.sandbox")

_LONGEST_CODE = 100_000
_LOG_SIZE = "4m"
_NOBODY = "65534:65534"


@dataclass(frozen=True, slots=True)
class Container:
    """What a container is made of and may use."""

    image: str = "python:3.12-slim"
    timeout_seconds: float = 60.0
    memory_limit: str = "256m"
    cpu_count: float = 1.0
    network_disabled: bool = True
    pids_limit: int = 64

    def run(self, code: str) -> Execution:
        """Return what `code` gave; the container is gone afterwards, whatever happened.

        Raises:
            ToolError: when there is no engine, no image, or the engine fails.
        """
        if len(code.encode(errors="replace")) > _LONGEST_CODE:
            raise ToolError(f"The code is longer than {_LONGEST_CODE:,} bytes; shorten it.")
        client = _client()
        try:
            return self._run_on(client, code)
        finally:
            with suppress(Exception):
                client.close()

    def _run_on(self, client: Any, code: str) -> Execution:
        name = f"openjarvis-{uuid4().hex}"
        try:
            container = client.containers.run(
                self.image, ["python", "-I", "-c", code], name=name, **self._options()
            )
        except Exception as error:
            with suppress(Exception):  # made, but not started
                client.containers.get(name).remove(force=True)
            raise self._not_started(error) from error
        try:
            with ended_when_cancelled(lambda: _remove(container)):
                return self._finish(container)
        finally:
            _remove(container)

    def _options(self) -> dict[str, Any]:
        return {
            "detach": True,
            "mem_limit": self.memory_limit,
            "memswap_limit": self.memory_limit,
            "nano_cpus": int(self.cpu_count * 1_000_000_000),
            "network_disabled": self.network_disabled,
            # podman does not know the option above, and would give the container a network.
            "network_mode": "none" if self.network_disabled else "bridge",
            "pids_limit": self.pids_limit,
            "read_only": True,
            "tmpfs": {"/tmp": "size=64m,mode=1777"},  # noqa: S108 - the container's own
            "working_dir": "/tmp",  # noqa: S108 - as above
            "environment": {"HOME": "/tmp"},  # noqa: S108 - as above
            "user": _NOBODY,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            # Output goes through the engine's log on disk: without a size it could fill the disk.
            "log_config": {"Type": "json-file", "Config": {"max-size": _LOG_SIZE}},
        }

    def _finish(self, container: Any) -> Execution:
        code = -9
        try:
            code = int(container.wait(timeout=self.timeout_seconds)["StatusCode"])
            # What is over its memory is killed by the kernel: 128 and the signal's number.
            ending = Ending.CRASHED if code > 128 else None
        except Exception as error:
            if not _is_timeout(error):
                raise ToolError(f"Docker failed while the code ran: {_short(error)}.") from error
            ending = Ending.TIMED_OUT
            with suppress(Exception):
                container.kill()
        return Execution(
            _logs(container, stdout=True), _logs(container, stdout=False), code, ending
        )

    def _not_started(self, error: Exception) -> ToolError:
        if type(error).__name__ in ("ImageNotFound", "NotFound"):
            return ToolError(
                f"Docker has no image {self.image!r} and could not get it; run: "
                f"docker pull {self.image}"
            )
        return ToolError(f"Docker could not start the container: {_short(error)}.")


def _client() -> Any:
    """Return a client of the engine that answers: the one of the environment, else podman's."""
    try:
        import docker
    except ImportError as error:
        raise ToolError(
            "Docker is not available: its Python package is missing: "
            f"{how_to_install('docker')}. Or use code_interpreter."
        ) from error
    try:
        return docker.from_env()
    except Exception as error:  # foreign code that talks to a daemon may raise anything
        _log.debug("Docker did not answer", exc_info=True)
        socket = _podman_socket()
        if socket is None:
            raise _no_engine() from error
    try:
        return docker.DockerClient(base_url=f"unix://{socket}")
    except Exception as error:  # as above
        raise _no_engine() from error


def _no_engine() -> ToolError:
    return ToolError(
        "Docker is not running here. Start Docker, or podman with its socket (systemctl --user "
        "start podman.socket), or use code_interpreter."
    )


def _podman_socket() -> Path | None:
    folders = [os.environ.get("XDG_RUNTIME_DIR", ""), "/run"]
    found = (Path(folder, "podman/podman.sock") for folder in folders if folder)
    return next((path for path in found if path.is_socket()), None)


def _logs(container: Any, *, stdout: bool) -> str:
    try:
        text = container.logs(stdout=stdout, stderr=not stdout)
    except Exception as error:
        raise ToolError(f"Docker did not give the output: {_short(error)}.") from error
    return bytes(text).decode("utf-8", errors="replace")


def _remove(container: Any) -> None:
    try:
        container.remove(force=True)
    except Exception as error:  # noqa: BLE001 - the result stands; whoever looks after it is told
        if type(error).__name__ != "NotFound":  # a call that was given up has removed it before
            _log.exception("A container could not be removed")


def _is_timeout(error: Exception) -> bool:
    return "timeout" in type(error).__name__.lower() or "timed out" in str(error).lower()


def _short(error: Exception) -> str:
    # The whole text may name hosts and paths; it is in the cause, for the local log.
    return type(error).__name__
