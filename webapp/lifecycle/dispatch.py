"""Queues a request's preparation and its generation. Knows nothing of how either is done."""

from __future__ import annotations

import msgspec

from inference.eventlog.clock import RequestClock
from inference.protocol.codec import encode_generation
from inference.protocol.events import AnyEvent, GenerationQueued
from inference.protocol.request import GenerationRequest
from webapp.celery import app
from webapp.requests import services

_EXPIRY_S = 3600
"""Lifetime of a queued generation, in seconds. The watchdog has ended its request long before."""


def queue_preparation(request_id: str) -> None:
    """Queue the preparation. Raises OperationalError, RedisError, OSError."""
    app.send_task("lifecycle.prepare", args=[request_id])


def queue_generation(events: list[AnyEvent], generation: GenerationRequest, after: int) -> None:
    """Log the preparation's events and queue the generation, once: a second call for the same log raises Fenced.

    after: the log's last seq before them. Raises Fenced, LogLost, OperationalError, RedisError, OSError.
    """
    at = RequestClock(generation.accepted_unix_us).at
    queued = GenerationQueued(at=at(), attempt=generation.attempt, queue_depth=num_waiting())
    last = services.event_log().append(
        generation.request_id, [*events, queued], generation.attempt, after, is_next=True
    )
    payload = encode_generation(msgspec.structs.replace(generation, log_seq=last))
    # Celery repeats a message's arguments in its headers, for monitors: keep the user's text out of them.
    app.send_task("inference.generate", args=[payload], expires=_EXPIRY_S, argsrepr="", kwargsrepr="")


def num_waiting() -> int:
    """Queued generations that no worker has taken yet."""
    with app.connection_or_acquire() as connection:
        return int(connection.default_channel.client.llen("generate"))
