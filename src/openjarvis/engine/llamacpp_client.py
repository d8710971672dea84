"""llama.cpp in this process, by `xllamacpp`: chat completions without a server in between.

The model is loaded with the first request. A generation that nobody reads any more is stopped at
its next token; a process does not end before, for the library would crash it.
"""

import asyncio
import atexit
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Generator
from queue import SimpleQueue
from threading import Event, Lock
from time import monotonic
from typing import Any
from weakref import WeakSet

from openjarvis.core import workers
from openjarvis.core.errors import LLMError, LLMErrorCode, invalid_request
from openjarvis.engine.errors import Server, reported_error
from openjarvis.engine.gguf import Gguf
from openjarvis.engine.library import load_library
from openjarvis.engine.wire import mapping

EXTRA = "local"
_END = object()
_PATIENCE_SECONDS = 60.0
"""How long the end of a generation is waited for: it may be reading a long prompt, or loading."""


class LlamaCppClient:
    """Runs one model. Any thread and any event loop may use it; requests take turns."""

    def __init__(
        self, model: Gguf, server: Server, *, context_length: int, threads: int, template: str
    ) -> None:
        self._model = model
        self._server = server
        self._context_length = context_length
        self._threads = threads
        self._template = template
        self._lock = Lock()
        self._runner: Any = None
        self._owner = os.getpid()
        self._under_way: dict[Event, Event] = {}  # what stops each, and what it sets at its end
        _clients.add(self)

    def complete(self, body: dict[str, Any]) -> list[Any]:
        """Return the pieces of the whole answer; an interrupted wait stops the generation."""
        return list(self.events(body))

    async def acomplete(self, body: dict[str, Any]) -> list[Any]:
        """Return the pieces of the whole answer; a cancelled wait stops the generation."""
        return [piece async for piece in self.aevents(body)]

    def events(self, body: dict[str, Any]) -> Generator[Any]:
        """Yield the pieces of an answer; closing it stops the generation."""
        pieces: SimpleQueue[Any] = SimpleQueue()
        job, stop = self._started(_streamed(body), pieces.put)
        try:
            while (piece := pieces.get()) is not _END:
                yield self._checked(piece)
            self._finished(job)
        finally:
            stop.set()

    async def aevents(self, body: dict[str, Any]) -> AsyncGenerator[Any]:
        """Yield what `events` yields."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[Any] = asyncio.Queue()

        def put(piece: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        job, stop = self._started(_streamed(body), put)
        try:
            while (piece := await pieces.get()) is not _END:
                yield self._checked(piece)
            self._finished(job)
        finally:
            stop.set()

    def models(self) -> list[str]:
        """Return the name of the model."""
        return [self._model.name]

    def is_alive(self) -> bool:
        """Tell whether the file is still there."""
        return self._model.path.is_file()

    def close(self) -> None:
        """Stop what is under way, and give the model's memory back."""
        self.stop(within=_PATIENCE_SECONDS)
        with self._lock:
            self._runner = None

    def stop(self, *, within: float) -> None:
        """Stop every generation, and wait for their ends for as many seconds."""
        if self._owner != os.getpid():
            return  # the threads of a fork's parent are not here
        deadline = monotonic() + within
        under_way = list(self._under_way.items())
        for stop, _ in under_way:
            stop.set()
        for _, ended in under_way:
            ended.wait(max(0.0, deadline - monotonic()))

    def _started(
        self, body: dict[str, Any], put: Callable[[Any], None]
    ) -> tuple[workers.Job, Event]:
        stop, ended = Event(), Event()

        def hear(piece: Any) -> bool:
            put(piece)
            return stop.is_set()

        def run() -> None:
            if stop.is_set():
                return
            answer = self._loaded().handle_chat_completions(body, hear)
            if answer is not None:  # an error is not streamed
                put(answer)

        def end() -> None:
            self._under_way.pop(stop, None)
            ended.set()
            put(_END)

        self._under_way[stop] = ended
        try:
            return workers.start(run, end), stop
        except BaseException:
            self._under_way.pop(stop)
            raise

    def _checked(self, piece: Any) -> Any:
        error = mapping(mapping(piece).get("error"))
        if error:
            raise reported_error(error, self._server)
        return piece

    def _finished(self, job: workers.Job) -> None:
        """Raise what ended a generation early."""
        try:
            job.result()
        except LLMError:
            raise
        except (ValueError, RuntimeError) as error:
            said = self._server.quote(str(error))
            message = f"{self._server.name} rejected the request: {said}"
            raise LLMError(LLMErrorCode.REQUEST_REJECTED, message, 400) from error

    def _loaded(self) -> Any:
        with self._lock:
            if self._runner is None:
                self._runner = self._load()
            return self._runner

    def _load(self) -> Any:
        xllamacpp = load_library("xllamacpp", extra=EXTRA)
        settings = xllamacpp.CommonParams()
        settings.model.path = str(self._model.path)
        settings.n_ctx = self._context_length
        settings.n_parallel = 1
        settings.use_jinja = True
        settings.warmup = False
        settings.verbosity = -1
        # It listens on a port of this machine as well; nobody is told the key to it.
        settings.api_keys = [secrets.token_urlsafe(32)]
        if self._template:
            settings.chat_template = self._template
        if self._threads:
            settings.cpuparams.n_threads = self._threads
            settings.cpuparams_batch.n_threads = self._threads
        try:
            return xllamacpp.Server(settings)
        except RuntimeError as error:
            raise invalid_request(
                f"llama.cpp cannot load {self._model.path.name!r}: the file may be cut short, need "
                "more memory than there is, or be newer than the installed xllamacpp."
            ) from error


_clients: WeakSet[LlamaCppClient] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for client in list(_clients):
        client.stop(within=_PATIENCE_SECONDS)


def _streamed(body: dict[str, Any]) -> dict[str, Any]:
    """Return the request for a stream: only between its pieces can a generation be stopped."""
    return {**body, "stream": True, "stream_options": {"include_usage": True}}
