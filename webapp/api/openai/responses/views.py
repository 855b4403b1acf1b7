"""`/v1/responses`: create, read, resume, cancel and delete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from inference.protocol.events import AnyEvent
from webapp.api.families.described import described
from webapp.api.families.family import arrival_of, note_begun, traced
from webapp.api.families.stream import Stream, place_for, place_if
from webapp.api.families.waiting import all_of, ready, refusal_of_failure, resumed
from webapp.api.openai.body import read
from webapp.api.openai.choices import KEEP_ALIVE
from webapp.api.openai.responses.answer import ErrorEvent, Response
from webapp.api.openai.responses.head import projection_of
from webapp.api.openai.responses.history import body_of
from webapp.api.openai.responses.ids import request_id
from webapp.api.openai.responses.parse import call_of
from webapp.api.openai.responses.projection import ResponseProjection
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_query
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.keys import check_scope, may
from webapp.identity.keys.middleware import key_of
from webapp.lifecycle.stop import stop
from webapp.lifecycle.stream.places import Place
from webapp.lifecycle.stream.session import ending_of
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.calls.call import Begun, begin
from webapp.surfaces.calls.models import StoredResponse
from webapp.surfaces.calls.relay import Lost, Source, attended, relay
from webapp.surfaces.calls.stored import find_stored, store
from webapp.traces.store import load_frames

_STOP_S = 5.0
"""Longest wait for the end of a response that was cancelled. Its usual time is a tenth of a second."""


class ReadQuery(msgspec.Struct):
    """The query of a response that is read again. Others are accepted, without an effect."""

    stream: bool = False
    starting_after: int | None = None


class Deleted(msgspec.Struct):
    id: str
    object: str = "response"
    deleted: bool = True


@described(Response, takes=ResponseBody, is_streamed=True, begins_work=True)
async def create_response(http: HttpRequest) -> HttpResponseBase:
    """Answer a text, or a conversation."""
    timing = ServerTiming(http)
    body = read(http, ResponseBody)
    with place_if(bool(body.stream), http) as place:
        if body.background:
            begun = await sync_to_async(_begin)(http, body, timing)
        else:
            begun = await attended(lambda: _begin(http, body, timing))
        note_begun(http, begun.requests)
        projection = projection_of(begun.requests[0], body)
        is_background = bool(body.background) or begun.is_repeat  # the first call may still be read
        source = relay(begun.requests, ending_of(http), is_background)
        response = await _answer(body, source, projection, place, is_background)
    if begun.is_repeat:
        response[REPLAYED] = "true"
    return traced(response, http, begun.requests, timing, begun.limits)  # type: ignore[no-any-return]


async def _answer(
    body: ResponseBody, source: Source, projection: ResponseProjection, place: Place | None, is_background: bool
) -> HttpResponseBase:
    if place is not None:
        return await _stream(place, source, projection, is_background)
    if body.background:
        return json_response(projection.response)
    return await _whole(source, projection)


@described(Response, query=ReadQuery, is_streamed=True)
async def show_response(http: HttpRequest, response_id: str) -> HttpResponseBase:
    """Show a stored response as far as it is, or stream its events after a number."""
    timing = ServerTiming(http)
    query = read_query(http, ReadQuery)
    stored = await sync_to_async(find)(http, response_id)
    request, projection = stored.request, projection_of(stored.request, body_of(stored))
    if query.stream:
        after = -1 if query.starting_after is None else query.starting_after
        response: HttpResponseBase = Stream(
            _events(relay([request], ending_of(http), True), projection, after), place_for(http)
        )
    else:
        response = json_response(await sync_to_async(_so_far)(request, projection))
    return traced(response, http, [request], timing)  # type: ignore[no-any-return]


@described(Deleted)
async def delete_response(http: HttpRequest, response_id: str) -> HttpResponseBase:
    """Delete a stored response. One that is still made is stopped. Its trace stays in the user's library."""
    stored = await sync_to_async(find)(http, response_id)
    await sync_to_async(_delete)(stored)
    return json_response(Deleted(response_id))


@described(Response)
async def cancel_response(http: HttpRequest, response_id: str) -> HttpResponseBase:
    """Stop a response that runs in the background, and show it."""
    timing = ServerTiming(http)
    stored = await sync_to_async(find)(http, response_id)
    body = body_of(stored)
    if not body.background:
        raise ApiError(400, "invalid", "Only a response that runs in the background can be cancelled.")
    request = stored.request
    if not request.is_settled:
        await sync_to_async(stop)(request)
        await _end_of(request)
    answer = json_response(await sync_to_async(_so_far)(request, projection_of(request, body)))
    return traced(answer, http, [request], timing)  # type: ignore[no-any-return]


def _begin(http: HttpRequest, body: ResponseBody, timing: ServerTiming) -> Begun:
    key = read_key(http, "create_response", {"body": body})
    call = call_of(body, user_id(http), key_of(http))
    timing.mark("validate")
    begun = begin(
        call,
        user_id(http),
        arrival_of(http, timing, "openai"),
        key,
        save=lambda requests: store_if_wanted(body, requests[0]),
    )
    timing.mark("start")
    return begun


def store_if_wanted(body: ResponseBody, request: Request) -> None:
    """Store the response with its request, in the transaction that saves this, unless the client wants it not to be."""
    if body.store is not False:
        store(request, {name: value for name, value in msgspec.to_builtins(body).items() if value is not None})


def find(http: HttpRequest, response_id: str) -> StoredResponse:
    """Return the user's own stored response. Raises ApiError, OutOfScope where the key neither chats nor reads."""
    stored = find_stored(user_id(http), request_id(response_id))
    if stored is None:
        raise ApiError(404, "not_found", f"Response with id {response_id[:100]!r} not found.")
    model, key = stored.request.model, key_of(http)
    if http.method != "GET" or key is None or not may(key, "read", model):
        check_scope(key, "chat", model)
    return stored


def _delete(stored: StoredResponse) -> None:
    if not stored.request.is_settled:
        stop(stored.request)
    stored.delete()


def _so_far(request: Request, projection: ResponseProjection) -> Response:
    frames = services.event_log().read(request.pk) or load_frames(request.pk)
    projection.feed([event for frame in frames for event in frame.events])
    return projection.response


async def _end_of(request: Request) -> None:
    with suppress(TimeoutError, Lost):
        async with asyncio.timeout(_STOP_S), aclosing(relay([request], None, True)) as source:
            async for _ in source:
                pass


async def _whole(source: Source, projection: ResponseProjection) -> HttpResponseBase:
    (events,) = await all_of(source, 1)
    return json_response(whole(projection, events))


def whole(projection: ResponseProjection, events: Sequence[AnyEvent]) -> Response:
    """Return the whole response, from all events. Raises ApiError where it failed."""
    projection.feed(events)
    if failed := projection.failed:
        raise refusal_of_failure(failed.code, failed.message)
    return projection.response


async def _stream(
    place: Place, source: Source, projection: ResponseProjection, is_background: bool
) -> HttpResponseBase:
    """Return the events as they come. Raises ApiError where the answer fails before its first token.

    In the background the events begin at once, as the client may leave after the first.
    """
    try:
        came = [] if is_background else await ready(source, 1)
    except BaseException:
        await source.aclose()
        raise
    return Stream(_events(resumed(came, source), projection, -1), place)


async def _events(source: Source, projection: ResponseProjection, after: int) -> AsyncIterator[bytes]:
    """Yield the events whose number is greater than `after`."""
    try:
        async for item in source:
            if item is None:
                yield KEEP_ALIVE
                continue
            made = [event for event in projection.feed(item.events) if event.sequence_number > after]
            if made:
                yield b"".join(map(frame, made))
    except Lost as error:
        number = projection.num_events
        yield frame(
            ErrorEvent(type="error", sequence_number=number, code="server_error", message=str(error), param=None)
        )
    finally:
        await source.aclose()


def frame(event: Any) -> bytes:
    """Return a server-sent event with its name."""
    return b"event: %s\ndata: %s\n\n" % (event.type.encode(), msgspec.json.encode(event))
