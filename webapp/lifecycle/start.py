"""Starts a request: the public entry of the lifecycle. Knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import QuerySet
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.eventlog.clock import RequestClock
from inference.protocol.events import ClientTiming, GatewayChecked, Limit, RequestAccepted, Surface
from inference.protocol.request import SamplingParams
from webapp.lifecycle import handover
from webapp.requests import services
from webapp.requests.models import MAX_IN_FLIGHT, MAX_STEPPED, Request


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
    is_stepped: bool = False
    """The reader wants to choose each token."""


class TooManyOpen(Exception):
    """The user has as many requests open, or open in step mode, as one may have."""


def admit(user_id: int, num_new: int, is_stepped: bool) -> list[Limit]:
    """Where the limit stands for each of so many requests, to be asked in the transaction that creates them.

    Raises TooManyOpen when they do not all fit.
    """
    limits = places(room(user_id), num_new)
    if is_stepped and _open(user_id).filter(input__is_stepped=True).count() + num_new > MAX_STEPPED:
        few = f"At most {MAX_STEPPED} answers may be open whose tokens you choose."
        raise TooManyOpen(f"{few} Let one run to its end, or stop one.")
    return limits


def places(free: int, num_new: int) -> list[Limit]:
    """As concurrency. Raises TooManyOpen when they do not all fit."""
    if num_new > free:
        raise TooManyOpen(_too_many(free, num_new))
    return concurrency(free, num_new)


def concurrency(free: int, num_new: int) -> list[Limit]:
    """Where the limit of open requests stands for each of so many that begin together."""
    return [
        Limit(name="concurrency", limit=MAX_IN_FLIGHT, remaining=free - before, num_taken=1, refill_per_s=0)
        for before in range(num_new)
    ]


def room(user_id: int) -> int:
    """How many requests the user may still open, to be asked in the transaction that creates them."""
    take_turns(user_id)
    return num_free(user_id)


def take_turns(user_id: int) -> None:
    """Whoever else asks for the same user's turn waits until this transaction ends."""
    # By the user's row here, on SQLite by the one lock that every writer takes.
    if connection.features.has_select_for_update:
        # Rows that only refer to the user, bills and requests, are written meanwhile.
        get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=user_id)


def num_free(user_id: int) -> int:
    """As room, at a glance: another may take it at the same time."""
    return MAX_IN_FLIGHT - _open(user_id).count()


def _open(user_id: int) -> QuerySet[Request]:
    return Request.objects.filter(user_id=user_id, finished_at=None)


def _too_many(free: int, num_new: int) -> str:
    num_open = MAX_IN_FLIGHT - free
    if num_new == 1:
        return f"You have {num_open} requests open. Wait for one to end, or stop one."
    few = f"at most {free}" if free > 0 else "none"
    why = f"You asked for {num_new} answers and have {num_open} of {MAX_IN_FLIGHT} requests open: {few} can be begun."
    return f"{why} Ask for fewer, wait for some to end, or stop some."


def announce(requests: list[Request]) -> float | None:
    """Have a request prepared while it is saved; it is to be started then, or revoked. Raises QueueUnavailable.

    Returns when it was announced, for `start`; None: it was not. Only a single short one is: of what is refused after
    all, little has been computed.
    """
    if len(requests) > 1 or not handover.is_short(requests[0]):
        return None
    try:
        return handover.announce(requests[0])
    except (OperationalError, RedisError, OSError) as error:
        raise QueueUnavailable(str(error)) from error


def start(
    request: Request,
    params: SamplingParams,
    arrival: Arrival,
    limits: tuple[Limit, ...],
    replay_of: str | None = None,
    announced: float | None = None,
) -> None:
    """Open the log of a saved request, have it prepared and call a worker for it. Raises QueueUnavailable.

    announced: when it was, from `announce`.
    """
    clock = RequestClock(request.accepted_unix_us)
    accepted = RequestAccepted(
        at=0,
        request_id=request.id,
        surface=cast(Surface, request.surface),
        model=request.model,
        params=params,
        accepted_unix_us=request.accepted_unix_us,
        client=arrival.client,
        http_version=arrival.http_version,
        tls_version=arrival.tls_version,
        received_at=arrival.received_unix_us - request.accepted_unix_us,
        replay_of=replay_of,
    )
    checked = GatewayChecked(
        at=clock.at(),
        principal=request.principal,
        limits=limits,
        duration_us=clock.at() - accepted.received_at,
    )
    try:
        services.event_log().append(request.id, [accepted, checked], request.attempt)
        handover.call(request, announced)
    except (OperationalError, RedisError, OSError) as error:
        handover.revoke(request)
        raise QueueUnavailable(str(error)) from error
