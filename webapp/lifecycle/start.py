"""Starts a saved request: the public entry of the lifecycle. Knows nothing of HTTP."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import Fenced
from inference.logs.request import name_request
from inference.protocol.events import AnyEvent, ClientTiming, GatewayChecked, Limit, RequestAccepted, SentCall, Surface
from inference.protocol.request import SamplingParams
from webapp.ground.gateway.refusal import QUEUE_UNREACHABLE, Refusal
from webapp.identity.keys.models import ApiKey
from webapp.lifecycle import dispatch
from webapp.requests import services
from webapp.requests.input import features_of
from webapp.requests.models import Request
from webapp.usage.limits.taking import give_back

MAX_KEPT_BYTES = 1 << 18
"""Of a body that a trace keeps."""


class QueueUnavailable(Refusal):
    """The queue cannot be reached, so nothing was started."""

    status, code, words = 503, "queue_unavailable", QUEUE_UNREACHABLE


@dataclass(frozen=True)
class Arrival:
    """Facts about a request that only the HTTP layer knows."""

    received_unix_us: int
    surface: str
    client: ClientTiming | None = None
    http_version: str | None = None
    tls_version: str | None = None
    is_stepped: bool = False
    """The reader wants to choose each token."""
    api_key: ApiKey | None = None
    """The key with which the request came; None: it came with a sign-in."""
    batch_id: str | None = None
    """The batch of which the request answers a line."""
    sent: SentCall | None = None
    """The call as its client wrote it; None: there is none to keep."""
    recording: str | None = None
    """The name of the recording that it joins; None: its address names none."""


def sent_call(path: str, body: bytes) -> SentCall | None:
    """Return a call that was read, to be kept with the trace; None: it is too long for that."""
    return SentCall(path=path, body=body.decode()) if len(body) <= MAX_KEPT_BYTES else None


def start(
    request: Request,
    params: SamplingParams,
    arrival: Arrival,
    limits: tuple[Limit, ...],
    replay_of: str | None = None,
) -> None:
    """Open the log of a saved request and queue its preparation.

    Raises QueueUnavailable; the caller then takes the request back.
    """
    name_request(request.pk)
    events = opening(request, params, arrival, limits, replay_of)
    try:
        services.event_log().append(request.id, events, request.attempt)
        dispatch.queue_preparation(request)
    except Fenced:
        return  # the watchdog was quicker to begin it, or it was ended
    except (OperationalError, RedisError, OSError) as error:
        raise QueueUnavailable(str(error)) from error


def opening(
    request: Request,
    params: SamplingParams,
    arrival: Arrival,
    limits: tuple[Limit, ...],
    replay_of: str | None = None,
) -> list[AnyEvent]:
    """The first events of an admitted request."""
    clock = RequestClock(request.accepted_unix_us)
    accepted = RequestAccepted(
        at=0,
        request_id=request.id,
        surface=cast(Surface, request.surface),
        model=request.model,
        params=params,
        features=features_of(request.input),
        accepted_unix_us=request.accepted_unix_us,
        client=arrival.client,
        http_version=arrival.http_version,
        tls_version=arrival.tls_version,
        received_at=arrival.received_unix_us - request.accepted_unix_us,
        replay_of=replay_of,
        sent=arrival.sent,
        batch_id=request.batch_id,
        agent_of=request.agent_of_id,
    )
    checked = GatewayChecked(
        at=clock.at(),
        principal=request.caller,
        limits=limits,
        duration_us=clock.at() - accepted.received_at,
    )
    return [accepted, checked]


def take_back(request: Request) -> None:
    """Delete a request that could not be started, then its log. A worker that has its message does nothing.

    The row goes first: a watchdog carries on a request that has a row and no log.
    """
    Request.objects.filter(pk=request.pk).delete()
    give_back([request.pk])
    with suppress(RedisError):
        services.event_log().forget(request.pk)
        services.leases().end(request.pk)
