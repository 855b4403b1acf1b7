"""`POST /v1/chat/completions`: streaming and not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.api.families.family import arrival_of, traced
from webapp.api.families.stream import Stream, place_for
from webapp.api.families.waiting import all_of, ready, refusal_of_failure, resumed
from webapp.api.openai.chat import call_of
from webapp.api.openai.chat_projection import (
    ChatCompletion,
    ChoiceProjection,
    Chunk,
    Head,
    choice_of,
    usage_of,
)
from webapp.api.openai.errors import error_of
from webapp.api.openai.shapes import ChatBody
from webapp.calls.call import Begun, begin
from webapp.calls.relay import Arrived, Lost, relay
from webapp.gateway.answer import json_response
from webapp.gateway.body import read_body
from webapp.gateway.errors import user_id
from webapp.gateway.idempotency import REPLAYED, read_key
from webapp.gateway.timing import ServerTiming
from webapp.requests.models import Request

_DONE = b"data: [DONE]\n\n"


async def create_chat(http: HttpRequest) -> HttpResponseBase:
    """Answer a list of messages."""
    timing = ServerTiming(http)
    body = read_body(http, ChatBody)
    begun = await sync_to_async(_begin)(http, body, timing)
    projections = _projections(body, begun.requests)
    response = await (_stream if body.stream else _whole)(http, body, begun, projections)
    if begun.is_repeat:
        response[REPLAYED] = "true"
    return traced(response, http, begun.requests, timing)  # type: ignore[no-any-return]


def _begin(http: HttpRequest, body: ChatBody, timing: ServerTiming) -> Begun:
    key = read_key(http, "create_chat", {"body": body})
    call = call_of(body)
    timing.mark("validate")
    begun = begin(call, user_id(http), arrival_of(http, timing, "openai"), key)
    timing.mark("start")
    return begun


def _projections(body: ChatBody, requests: Sequence[Request]) -> list[ChoiceProjection]:
    num_top = (body.top_logprobs or 0) if body.logprobs else None
    first = requests[0]
    head = Head(f"chatcmpl-{first.pk.removeprefix('req_')}", first.accepted_unix_us // 1_000_000, first.model, num_top)
    return [
        ChoiceProjection(head, index, f"call_{request.pk.removeprefix('req_')}")
        for index, request in enumerate(requests)
    ]


async def _whole(
    _http: HttpRequest, _body: ChatBody, begun: Begun, projections: list[ChoiceProjection]
) -> HttpResponseBase:
    events = await all_of(relay(begun.requests), len(begun.requests))
    choices = [choice_of(each, found) for each, found in zip(projections, events, strict=True)]
    if failed := next((each.failed for each in projections if each.failed), None):
        raise refusal_of_failure(failed.code, failed.message)
    head = projections[0].head
    usage = usage_of([each.ended for each in projections if each.ended])
    return json_response(ChatCompletion(head.id, head.created, head.model, choices, usage))


async def _stream(
    http: HttpRequest, body: ChatBody, begun: Begun, projections: list[ChoiceProjection]
) -> HttpResponseBase:
    place = place_for(http)
    source = relay(begun.requests)
    try:
        came = await ready(source, len(begun.requests))
    except BaseException:
        place.leave()
        await source.aclose()
        raise
    has_usage = body.stream_options is not None and body.stream_options.include_usage
    return Stream(_chunks(resumed(came, source), projections, has_usage), place)


async def _chunks(
    source: AsyncGenerator[Arrived | None, None], projections: list[ChoiceProjection], has_usage: bool
) -> AsyncIterator[bytes]:
    head = projections[0].head
    usage = None if has_usage else msgspec.UNSET
    try:
        async for item in source:
            if item is None:
                yield b": keep-alive\n\n"
                continue
            for choice in projections[item.index].feed(item.events):
                yield frame(Chunk(head.id, head.created, head.model, [choice], usage=usage))
            if failed := projections[item.index].failed:
                yield frame(error_of(refusal_of_failure(failed.code, failed.message)))
                return
    except Lost as error:
        yield frame(error_of(refusal_of_failure("worker_lost", str(error))))
        return
    finally:
        await source.aclose()
    if has_usage:
        ended = [each.ended for each in projections if each.ended]
        yield frame(Chunk(head.id, head.created, head.model, [], usage=usage_of(ended)))
    yield _DONE


def frame(value: object) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: %s\n\n" % msgspec.json.encode(value)
