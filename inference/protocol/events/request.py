"""Events of a request as a whole: accepted, cancelled, failed, finished, observed. Knows nothing of its generation."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown
from inference.protocol.request import FinishReason, SamplingParams, Usage


class ServerInterval(Value, frozen=True, kw_only=True):
    """One entry of a Server-Timing header."""

    name: str
    duration_us: int | None = None
    """None: the server named no duration."""

    unredacted: ClassVar = "name duration_us"


class ClientTiming(Value, frozen=True, kw_only=True):
    """The browser's measurements, in µs since the epoch by its own clock, except durations and clock offsets."""

    keydown_unix_us: int | None = None
    """When the key (or button) that sent the message was pressed."""
    sent_unix_us: int | None = None
    """When the browser handed the request to the network."""
    responded_unix_us: int | None = None
    """When the reply to the POST was complete."""
    connected_unix_us: int | None = None
    """When the request's first event arrived."""
    first_frame_unix_us: int | None = None
    """When the frame with the first token arrived."""
    first_paint_unix_us: int | None = None
    """When the first released text had been painted."""
    last_frame_unix_us: int | None = None
    """When the last frame with text arrived."""
    last_paint_unix_us: int | None = None
    """When the last text had been painted."""
    clock_offset_us: int | None = None
    """Server clock minus browser clock: the middle of the range that the send and arrival times allow."""
    clock_offset_error_us: int | None = None
    """Largest possible error of clock_offset_us. None: not recorded."""
    dns_us: int | None = None
    """Resource Timing: name look-up, a duration."""
    tcp_us: int | None = None
    """Resource Timing: TCP connection, a duration."""
    tls_us: int | None = None
    """Resource Timing: TLS handshake, a duration."""
    http_version: str | None = None
    """Resource Timing: nextHopProtocol."""
    server_timing: tuple[ServerInterval, ...] | None = None
    """The Server-Timing header on the reply to the POST; None: not recorded."""

    unredacted: ClassVar = (
        "keydown_unix_us sent_unix_us responded_unix_us connected_unix_us first_frame_unix_us "
        "first_paint_unix_us last_frame_unix_us last_paint_unix_us clock_offset_us clock_offset_error_us "
        "dns_us tcp_us tls_us http_version server_timing"
    )


class SentCall(Value, frozen=True, kw_only=True):
    """The call of an API client, as it was sent."""

    path: str
    """The address below the site's."""
    body: str
    """JSON, as the client wrote it."""


Surface = Literal["chat", "anthropic", "openai", "replay", "check", "summary", "agent"]


class RequestAccepted(Event, frozen=True, kw_only=True, tag="request.accepted"):
    """The request is well-formed and on its way."""

    request_id: str
    surface: Surface
    """The API that received the request."""
    model: str
    params: SamplingParams
    accepted_unix_us: int
    """Wall clock at acceptance, µs since the epoch: the zero of every `at`."""
    features: tuple[str, ...] = ()
    """Feature flags that travel with the request."""
    client: ClientTiming | None = None
    """The browser's timing, as known when it sent the request."""
    tls_version: str | None = None
    """None: the connection to us was not encrypted, or a proxy in front did not say."""
    http_version: str | None = None
    """HTTP version of the connection to us."""
    received_at: int = 0
    """When the first byte of the request reached the application (at most 0: before acceptance)."""
    replay_of: str | None = None
    """The saved request that this one runs again, with the same prompt. None: this is no rerun."""
    sent: SentCall | None = None
    """The client's call. None: the page sent the message, or the body is too long to be kept with the trace."""
    batch_id: str | None = None
    """The batch of which it answers a line, at half the price. None: it is in none, or this was not recorded."""
    agent_of: str | None = None
    """The request that started this one as an agent. None: no request did."""

    unredacted: ClassVar = (
        "request_id surface model accepted_unix_us client tls_version http_version received_at agent_of"
    )
    shown: ClassVar = Shown(lane="gateway", scene="gateway", replay_ms=1200)


class RequestCancelled(Event, frozen=True, kw_only=True, tag="request.cancelled"):
    """A user, an operator or the worker stopped the request. The generation ends within one engine step."""

    by: str
    """`user`, `operator`, `parent` (the request that started it has ended), or the worker's reason."""

    unredacted: ClassVar = "by"
    shown: ClassVar = Shown(
        lane="gateway",
        is_mark=True,
        label="stopped by {by}",
        meaning="Generation ends within one engine step.",
    )


class RequestFailed(Event, frozen=True, kw_only=True, tag="request.failed"):
    """Last event of a request that could not be answered."""

    stage: str
    """Stage of the failure, one of FailureStage; an imported request may have another."""
    code: str
    """Stable word for programs, one of FailureCode; an imported request may have another."""
    message: str
    """The cause and the remedy, for people."""

    unredacted: ClassVar = "stage code"
    shown: ClassVar = Shown(
        lane="bill",
        is_mark=True,
        label="failed: {code}",
        meaning="The request ended without an answer.",
        replay_ms=800,
    )


class RequestFinished(Event, frozen=True, kw_only=True, tag="request.finished"):
    """Last event of an answered (or stopped) request."""

    finish_reason: FinishReason
    usage: Usage

    unredacted: ClassVar = "finish_reason usage"
    shown: ClassVar = Shown(lane="bill", replay_ms=600)


class RequestObserved(Event, frozen=True, kw_only=True, tag="request.observed"):
    """The browser's own timing of this request, reported after the last paint."""

    client: ClientTiming

    unredacted: ClassVar = "client"
    shown: ClassVar = Shown(lane="browser")
