"""`generate` and `agenerate`: ask the model, run its calls, until it answers or the steps end."""

from contextlib import suppress
from typing import Any, Unpack

from openjarvis.core.workers import run_in_worker
from openjarvis.engine.base import InferenceEngine
from openjarvis.llm.loop import Conversation
from openjarvis.llm.request import RequestFields, prepare
from openjarvis.llm.response import Response


def generate(**request: Unpack[RequestFields]) -> Response:
    """Return the model's answer, having run the tools it called on the way.

    ```python
    response = llm.generate(messages=[llm.user("Where is TH-1042?")], tools=[status], max_steps=5)
    ```

    The keywords are those of `RequestFields`. The model gets at most `max_steps` turns; without it
    there is no loop: its calls come back in `tool_calls` as `NOT_RUN`.

    Raises:
        LLMError: when there is no answer; its `response` holds what had been gathered. So does the
            `response` of a `KeyboardInterrupt` that breaks off the run.
    """
    return converse(Conversation(prepare(**request)))


async def agenerate(**request: Unpack[RequestFields]) -> Response:
    """Return what `generate` returns; async tools and the engine run in the caller's loop.

    Raises:
        LLMError: as `generate`; a cancellation carries `response` too.
    """
    return await aconverse(Conversation(prepare(**request)))


def converse(conversation: Conversation) -> Response:
    """Drive `conversation` to its end."""
    request, run = conversation.request, conversation.run
    ask = request.engine.generate
    try:
        while not conversation.has_ended:
            conversation.ask()
            calls = conversation.take_reply(ask(conversation.prompt, **conversation.options))
            if calls:
                conversation.take_results(request.executor.perform_all(calls, run))
    except BaseException as error:
        leave_response(error, conversation.interrupt())
        raise
    return conversation.response()


async def aconverse(conversation: Conversation) -> Response:
    """Drive `conversation` to its end, without blocking the event loop."""
    request, run = conversation.request, conversation.run
    try:
        while not conversation.has_ended:
            conversation.ask()
            calls = conversation.take_reply(await areply(conversation))
            if calls:
                conversation.take_results(await request.executor.aperform_all(calls, run))
    except BaseException as error:
        leave_response(error, conversation.interrupt())
        raise
    return conversation.response()


async def areply(conversation: Conversation) -> Any:
    """Return the engine's next reply; an engine without an async form answers in a worker."""
    engine = conversation.request.engine
    messages, options = conversation.prompt, conversation.options
    if isinstance(engine, InferenceEngine):
        return await engine.agenerate(messages, **options)
    return await run_in_worker(lambda: engine.generate(messages, **options))


def leave_response(error: BaseException, response: Response) -> None:
    """Put what a run had gathered on the error that broke it off, so that nothing is lost."""
    with suppress(AttributeError):  # an exception with slots takes no attribute
        error.response = response  # type: ignore[attr-defined]
