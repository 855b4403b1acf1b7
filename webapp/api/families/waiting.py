"""The events of a call until a family can answer: a failure before the first token is a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from inference.protocol.events import AnyEvent, GenerationQueued, RequestFailed, RequestFinished
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.relay import Arrived, Lost, Source

_STATUSES = {
    "blocked": 400,
    "prompt_too_long": 400,
    "invalid_grammar": 400,
    "messages_refused": 400,
    "grammar_too_complex": 400,
    "unsupported": 400,
    "cancelled": 400,
    "revoked_key": 401,
    "overloaded": 529,
    "no_worker": 503,
    "queue_unavailable": 503,
    "model_unavailable": 503,
    "service_stopped": 503,
    "worker_lost": 503,
}
"""The status of an answer that failed before its first token; of another failure: 500."""


def refusal_of_failure(code: str, message: str) -> ApiError:
    """The refusal that stands for a request's failure before its first token."""
    return ApiError(_STATUSES.get(code, 500), code, message)


async def ready(source: Source, num: int) -> list[Arrived]:
    """Wait until each of the requests is with a worker, or is over, and return what came.

    Raises ApiError where one failed before: the answer then has no 200.
    """
    came: list[Arrived] = []
    waiting = set(range(num))
    while waiting:
        try:
            item = await anext(source, None)
        except Lost as error:
            raise refusal_of_failure(error.code, str(error)) from None
        if item is None:
            continue
        came.append(item)
        _check(item.events)
        for event in item.events:
            if isinstance(event, GenerationQueued | RequestFinished | RequestFailed):
                waiting.discard(item.index)
    return came


async def resumed(came: Sequence[Arrived], source: Source) -> Source:
    """What came, then the rest."""
    async with aclosing(source):
        for item in came:
            yield item
        async for later in source:
            yield later


async def all_of(source: Source, num: int) -> list[list[AnyEvent]]:
    """All events of each request, once all have ended. Raises ApiError at the first that fails, or is lost."""
    events: list[list[AnyEvent]] = [[] for _ in range(num)]
    try:
        async with aclosing(source):
            async for item in source:
                if item is not None:
                    events[item.index] += item.events
                    _check(item.events)
    except Lost as error:
        raise refusal_of_failure(error.code, str(error)) from None
    return events


def _check(events: Sequence[AnyEvent]) -> None:
    """Raises ApiError where a request failed. A blocked prompt is an answer."""
    for event in events:
        if isinstance(event, RequestFailed) and event.code != "blocked":
            raise refusal_of_failure(event.code, event.message)
