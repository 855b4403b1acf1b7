"""Queues a request's preparation and its generation. Knows nothing of how either is done.

Each gives the request a lease until its next step is due. Where that step is lost, `advance` finds it by the lease.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inference.eventlog.clock import RequestClock
from inference.protocol.codec import encode_generation
from inference.protocol.events import AnyEvent, GenerationQueued
from webapp.celery import app
from webapp.lifecycle.generation_request import generation_request
from webapp.requests import services
from webapp.requests.models import Request

_EXPIRY_S = 3600
"""Lifetime of a queued generation, in seconds. The watchdog has ended its request long before."""
_PREPARATION_S = 5.0
"""A preparation takes milliseconds, or seconds where many wait."""
_REPORT_S = 10.0
"""A settlement takes a fraction of a second, or seconds where many wait."""
_QUEUED_S = 4.0
"""Interval at which a generation that no worker has claimed is looked for in its queue."""


def queue_preparation(request: Request) -> None:
    """Queue the preparation. Raises OperationalError, RedisError, OSError."""
    services.leases().grant(request.pk, request.attempt, _PREPARATION_S)
    app.send_task("lifecycle.prepare", args=[request.pk])


def queue_generation(request: Request, events: Sequence[AnyEvent], num_logged: int) -> None:
    """Log the last of the events and queue the generation, once: a second call for the same log raises Fenced.

    events: all of the request's, of which the log has num_logged. Raises Fenced, LogLost, OperationalError, RedisError,
    OSError.
    """
    at = RequestClock(request.accepted_unix_us).at
    generation = generation_request(request, events)
    queued = GenerationQueued(
        at=at(), generation=generation.generation, attempt=request.attempt, queue_depth=num_waiting()
    )
    new = [*events[num_logged:], queued]
    last = services.event_log().append(request.pk, new, request.attempt, num_logged, is_next=True)
    payload = encode_generation(msgspec.structs.replace(generation, log_seq=last))
    services.leases().grant(request.pk, request.attempt, _QUEUED_S)
    # Celery repeats a message's arguments in its headers, for monitors: keep the user's text out of them.
    app.send_task("inference.generate", args=[payload], expires=_EXPIRY_S, argsrepr="", kwargsrepr="")


def queue_report(request: Request) -> None:
    """Queue the report that the generation is over, in place of one that was lost. Raises as queue_preparation."""
    services.leases().grant(request.pk, request.attempt, _REPORT_S)
    app.send_task("lifecycle.advance", args=[request.pk])


def keep_waiting(request: Request) -> None:
    """Give a request that waits in the queue a lease until the next look. Raises RedisError."""
    services.leases().grant(request.pk, request.attempt, _QUEUED_S)


def num_waiting() -> int:
    """Queued generations that no worker has taken yet."""
    with app.connection_or_acquire() as connection:
        return int(connection.default_channel.client.llen("generate"))
