"""Queues a request's preparation and its generation. Knows nothing of how either is done."""

from __future__ import annotations

from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import EXPIRY_S
from inference.protocol.codec import encode_generation
from inference.protocol.events import AnyEvent, GenerationQueued
from inference.protocol.request import GenerationRequest
from webapp.celery import app
from webapp.requests import services


def queue_preparation(request_id: str) -> None:
    """Queue the preparation. Raises OperationalError, RedisError, OSError."""
    app.send_task("lifecycle.prepare", args=[request_id])


def queue_generation(events: list[AnyEvent], generation: GenerationRequest, after: int) -> None:
    """Log the preparation's events and queue the generation, once: a second call for the same log raises Fenced.

    after: the log's last seq before them. Raises Fenced, OperationalError, RedisError, OSError.
    """
    at = RequestClock(generation.accepted_unix_us).at
    queued = GenerationQueued(at=at(), attempt=generation.attempt, queue_depth=num_waiting())
    services.event_log().append(generation.request_id, [*events, queued], generation.attempt, after)
    payload = encode_generation(generation)
    # Celery repeats a message's arguments in its headers, for monitors: keep the user's text out of them.
    app.send_task("inference.generate", args=[payload], expires=EXPIRY_S, argsrepr="", kwargsrepr="")


def num_waiting() -> int:
    """Queued generations that no worker has taken yet."""
    with app.connection_or_acquire() as connection:
        return int(connection.default_channel.client.llen("generate"))
