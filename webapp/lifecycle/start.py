"""Starts a request: the public entry of the lifecycle. Knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import connection
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.eventlog.clock import RequestClock
from inference.protocol.events import ClientTiming, GatewayChecked, Limit, RequestAccepted
from inference.protocol.request import SamplingParams
from webapp.celery import app
from webapp.lifecycle import services
from webapp.lifecycle.models import Request

MAX_IN_FLIGHT = 8
"""Requests that one user may have open at once."""


class QueueUnavailable(Exception):
    """The queue cannot be reached: nothing was started."""


@dataclass(frozen=True)
class Arrival:
    """What the edge knows of a request."""

    received_unix_us: int
    surface: str
    client: ClientTiming | None = None
    http_version: str | None = None
    tls_version: str | None = None


class TooManyOpen(Exception):
    """The user has as many requests open as one may have."""


def admit(user_id: int) -> Limit:
    """How many more requests the user may open; to be asked in the transaction that creates one. Raises TooManyOpen."""
    # Two that come at once take turns: by the user's row here, on SQLite by the one lock that every writer takes.
    if connection.features.has_select_for_update:
        get_user_model().objects.select_for_update().only("pk").get(pk=user_id)
    num_open = Request.objects.filter(user_id=user_id, finished_at=None).count()
    if num_open >= MAX_IN_FLIGHT:
        raise TooManyOpen(f"You have {num_open} requests open. Wait for one to end, or stop one.")
    return Limit(name="concurrency", limit=MAX_IN_FLIGHT, remaining=MAX_IN_FLIGHT - num_open)


def start(request: Request, params: SamplingParams, arrival: Arrival, limits: tuple[Limit, ...]) -> None:
    """Open the log of a saved request and hand it to `prepare`. Raises QueueUnavailable."""
    clock = RequestClock(request.accepted_unix_us)
    accepted = RequestAccepted(
        at=0,
        request_id=request.id,
        surface="chat",
        model=request.model,
        params=params,
        accepted_unix_us=request.accepted_unix_us,
        client=arrival.client,
        http_version=arrival.http_version,
        tls_version=arrival.tls_version,
        received_at=arrival.received_unix_us - request.accepted_unix_us,
    )
    checked = GatewayChecked(
        at=clock.at(),
        principal=f"user:{request.user_id}",
        limits=limits,
        duration_us=clock.at() - accepted.received_at,
    )
    try:
        services.event_log().append(request.id, [accepted, checked], request.attempt)
        app.send_task("lifecycle.prepare", args=[request.id])
    except (OperationalError, RedisError, OSError) as error:
        raise QueueUnavailable(str(error)) from error
