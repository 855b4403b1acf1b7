"""`POST /v1/messages`: streaming and not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from inference.protocol.events import (
    AnyEvent,
    CacheLookedUp,
    RequestFailed,
    RequestFinished,
    TextReleased,
    ThinkingReleased,
)
from webapp.api.anthropic.call import call_of
from webapp.api.anthropic.errors import error_of
from webapp.api.anthropic.events import Message, Ping, frame
from webapp.api.anthropic.projection import MessageProjection, message_of
from webapp.api.anthropic.shapes import MessageBody
from webapp.api.anthropic.thinking import is_omitted, signature
from webapp.api.families.described import described
from webapp.api.families.family import arrival_of, note_begun, traced
from webapp.api.families.stream import Stream, place_if
from webapp.api.families.waiting import all_of, ready, refusal_of_failure, resumed
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_body
from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.ground.gateway.timing import ServerTiming
from webapp.lifecycle.stream.places import Place
from webapp.lifecycle.stream.session import ending_of
from webapp.requests.models import Request
from webapp.surfaces.calls.call import Begun, begin
from webapp.surfaces.calls.relay import Arrived, Lost, Source, attended, relay

_BEGUN = (CacheLookedUp, ThinkingReleased, TextReleased, RequestFinished, RequestFailed)
"""Events with which a message begins. A failure before them has a status of its own."""


@described(Message, takes=MessageBody, is_streamed=True, begins_work=True)
async def create_message(http: HttpRequest) -> HttpResponseBase:
    """Answer a list of messages."""
    timing = ServerTiming(http)
    body = read_body(http, MessageBody)
    with place_if(body.stream, http) as place:
        begun = await attended(lambda: _begin(http, body, timing))
        note_begun(http, begun.requests)
        projection = projection_of(begun.requests[0], body)
        # The first call of a repeat may still be read.
        source = relay(begun.requests, ending_of(http), is_background=begun.is_repeat)
        response = await (_whole(source, projection) if place is None else _stream(source, projection, place))
    if begun.is_repeat:
        response[REPLAYED] = "true"
    return traced(response, http, begun.requests, timing, begun.limits)  # type: ignore[no-any-return]


def _begin(http: HttpRequest, body: MessageBody, timing: ServerTiming) -> Begun:
    key = read_key(http, "create_message", {"body": body})
    call = call_of(body)
    timing.mark("validate")
    begun = begin(call, user_id(http), arrival_of(http, timing, "anthropic"), key)
    timing.mark("start")
    return begun


def projection_of(request: Request, body: MessageBody) -> MessageProjection:
    """Return the projection of the request's events as a message."""
    own = request.pk.removeprefix("req_")
    return MessageProjection(f"msg_{own}", request.model, f"toolu_{own}", signature, is_omitted(body))


async def _whole(source: Source, projection: MessageProjection) -> HttpResponseBase:
    (events,) = await all_of(source, 1)
    return json_response(whole(projection, events))


def whole(projection: MessageProjection, events: Sequence[AnyEvent]) -> Message:
    """Return the whole message, from all events. Raises ApiError where it failed."""
    message = message_of(projection, events)
    if message is None:
        failed = projection.failed
        assert failed is not None
        raise refusal_of_failure(failed.code, failed.message)
    return message


async def _stream(source: Source, projection: MessageProjection, place: Place) -> HttpResponseBase:
    try:
        came = await _begun(source)
    except BaseException:
        await source.aclose()
        raise
    return Stream(frames(resumed(came, source), projection), place)


async def _begun(source: Source) -> list[Arrived]:
    """Wait until the message begins, or is silent for long. Raises ApiError where it failed before."""
    try:
        came = await ready(source, 1)
        item: Arrived | None = came[-1]
        while item is not None and not any(isinstance(event, _BEGUN) for event in item.events):
            item = await anext(source)
            came += [] if item is None else [item]
    except Lost as error:
        raise refusal_of_failure(error.code, str(error)) from None
    failed = [event for each in came for event in each.events if isinstance(event, RequestFailed)]
    if failed and failed[0].code != "blocked":
        raise refusal_of_failure(failed[0].code, failed[0].message)
    return came


async def frames(source: Source, projection: MessageProjection) -> AsyncIterator[bytes]:
    """The stream's events. A client takes no event before the first, so that a comment fills the silence."""
    try:
        async for item in source:
            if item is None:
                yield frame(Ping()) if projection.has_started else b": keep-alive\n\n"
                continue
            if made := projection.feed(item.events):
                yield b"".join(map(frame, made))
        failed = projection.failed
    except Lost as error:
        yield frame(error_of(refusal_of_failure(error.code, str(error))))
        return
    finally:
        await source.aclose()
    if failed is not None:
        yield frame(error_of(refusal_of_failure(failed.code, failed.message)))
