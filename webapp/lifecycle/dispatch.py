"""Queues a request's preparation and its generation. Knows nothing of how either is done.

Each gives the request a lease until its next step is due. Where that step is lost, `advance` finds it by the lease.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import Mark
from inference.eventlog.keys import model_queue, worker_queue
from inference.eventlog.pictures import NoRoomForPictures
from inference.protocol.codec import encode_generation
from inference.protocol.events import AnyEvent, GenerationQueued
from inference.protocol.generations import last_number
from inference.protocol.request import GenerationRequest
from webapp.celery import app
from webapp.content.attachments.store import picture_bytes
from webapp.lifecycle.generation_request import generation_request, tokenizer_version
from webapp.lifecycle.placement import is_served, place
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import cache_hint
from webapp.requests.models import Request
from webapp.requests.queues import GENERATION_EXPIRY_S, add_generate_queue, num_generations, queue_lengths

_PREPARATION_S = 5.0
"""A preparation takes milliseconds, or seconds where many wait."""
_REPORT_S = 10.0
"""A settlement takes a fraction of a second, or seconds where many wait."""
CALLS_S = 15.0
"""The calls of one round take milliseconds, or seconds where many wait. The lease is renewed while they run."""
_CALLS = "tools"
"""The queue of calls."""
_QUEUED_S = 4.0
"""Interval at which a generation that no worker has claimed is looked for in its queue."""
_TAKEN_S = 2.0
"""Longest time in which one worker claims what was sent to it alone."""
_PICTURES_S = 300
"""Life of pictures that lie ready. A generation that still waits in its queue has it renewed at each look."""


def queue_preparation(request: Request) -> None:
    """Queue the preparation. Raises OperationalError, RedisError, OSError."""
    services.leases().grant(request.pk, request.attempt, _PREPARATION_S)
    app.send_task("lifecycle.prepare", args=[request.pk])


def queue_generation(request: Request, events: Sequence[AnyEvent], logged: Mark) -> None:
    """Log the last of the events and queue the generation, once: a second call for the same log raises Fenced.

    events: all of the request's, of which the log has those up to `logged`. Raises CannotPrepare, Fenced, LogLost,
    OperationalError, RedisError, OSError.
    """
    at = RequestClock(request.accepted_unix_us).at
    generation, version = generation_request(request, events), tokenizer_version(events)
    _lay_ready(request, generation)  # before the lease, which ends where a slow database takes long
    worker = place(generation, version, cache_hint(request.input))
    queue = worker_queue(worker) if worker else model_queue(request.model, version)
    depth = num_generations(queue)
    queued = GenerationQueued(at=at(), generation=generation.generation, attempt=request.attempt, queue_depth=depth)
    new = [*events[logged.seq :], queued]
    entry = services.event_log().append(request.pk, new, request.attempt, logged, is_next=True)
    payload = encode_generation(msgspec.structs.replace(generation, log_seq=entry.last_seq))
    services.leases().grant(request.pk, request.attempt, _TAKEN_S if worker else _QUEUED_S, worker)
    add_generate_queue(queue)
    # Celery repeats a message's arguments in its headers, for monitors: keep the user's text out of them.
    app.send_task(
        "inference.generate", args=[payload], queue=queue, expires=GENERATION_EXPIRY_S, argsrepr="", kwargsrepr=""
    )


def _lay_ready(request: Request, generation: GenerationRequest) -> None:
    """Lay the user's own pictures ready for the worker, as its message only names them.

    One that is not kept any more is missing there, and the worker says so. Raises CannotPrepare, RedisError.
    """
    names = {part.image for message in generation.chat for part in message.parts if part.image}
    found = {name: data for name in names if (data := picture_bytes(request.user_id, name)) is not None}
    if not found:
        return
    try:
        services.pictures().put(request.pk, request.attempt, found, _PICTURES_S)
    except NoRoomForPictures as error:
        raise CannotPrepare("generation", "overloaded", str(error)) from None


def queue_calls(request: Request) -> None:
    """Queue the calls of the last generation, for the request's new attempt. Raises as queue_preparation."""
    services.event_log().fence(request.pk, request.attempt)
    keep_calls_waiting(request)
    app.send_task("lifecycle.call", args=[request.pk, request.attempt])


def are_calls_waiting() -> bool:
    """Return whether calls may still be in their queue. Raises RedisError."""
    return bool(sum(queue_lengths(_CALLS)))


def keep_calls_waiting(request: Request) -> None:
    """Give a request whose calls wait a lease until the next look. Raises RedisError."""
    services.leases().grant(request.pk, request.attempt, CALLS_S, "")


def is_waiting(request: Request, events: Sequence[AnyEvent]) -> bool:
    """Return whether the generation may still be in the queue that several workers take from. Raises RedisError.

    A worker with free places takes what its own queue has at once. So a generation that was sent to one worker and not
    taken is lost.
    """
    if services.leases().worker_of(request.pk) is not None:
        return False
    return bool(num_generations(model_queue(request.model, tokenizer_version(events))))


def queue_report(request: Request) -> None:
    """Queue the report that the generation is over, in place of one that was lost. Raises as queue_preparation."""
    services.leases().grant(request.pk, request.attempt, _REPORT_S)
    app.send_task("lifecycle.advance", args=[request.pk])


def keep_waiting(request: Request, events: Sequence[AnyEvent], logged: Mark) -> None:
    """Give a request that waits in the queue a lease until the next look; log that it waits for a busy worker.

    logged: the log's end. Without a worker the log stays silent, and the watchdog ends the request. Raises Fenced,
    LogLost, RedisError.
    """
    services.leases().grant(request.pk, request.attempt, _QUEUED_S)
    services.pictures().keep(request.pk, _PICTURES_S)
    version = tokenizer_version(events)
    if is_served(request.model, version):
        depth = num_generations(model_queue(request.model, version))
        at = RequestClock(request.accepted_unix_us).at()
        number = last_number(events)
        queued = GenerationQueued(at=at, generation=number, attempt=request.attempt, queue_depth=depth)
        services.event_log().append(request.pk, [queued], request.attempt, logged, is_next=True)
