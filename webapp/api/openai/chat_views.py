"""`POST /v1/chat/completions`: streaming and not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from inference.protocol.events import AnyEvent
from webapp.api.families.described import described
from webapp.api.families.family import arrival_of, note_begun, traced
from webapp.api.families.stream import place_if
from webapp.api.families.waiting import all_of, refusal_of_failure
from webapp.api.openai.body import read
from webapp.api.openai.chat import call_of
from webapp.api.openai.chat_projection import (
    ChatCompletion,
    ChoiceProjection,
    Chunk,
    ChunkChoice,
    Head,
    choice_of,
    usage_of,
)
from webapp.api.openai.choices import stream
from webapp.api.openai.shapes import ChatBody
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.ground.gateway.timing import ServerTiming
from webapp.lifecycle.stream.places import Place
from webapp.lifecycle.stream.session import ending_of
from webapp.requests.models import Request
from webapp.surfaces.calls.answer import Ended
from webapp.surfaces.calls.call import Begun, begin
from webapp.surfaces.calls.relay import Source, attended, relay


@described(ChatCompletion, takes=ChatBody, is_streamed=True, begins_work=True)
async def create_chat(http: HttpRequest) -> HttpResponseBase:
    """Answer a list of messages."""
    timing = ServerTiming(http)
    body = read(http, ChatBody)
    with place_if(bool(body.stream), http) as place:
        begun = await attended(lambda: _begin(http, body, timing))
        note_begun(http, begun.requests)
        projections = projections_of(body, begun.requests)
        # The first call of a repeat may still be read.
        source = relay(begun.requests, ending_of(http), is_background=begun.is_repeat)
        response = await (_whole(source, projections) if place is None else _stream(place, body, source, projections))
    if begun.is_repeat:
        response[REPLAYED] = "true"
    return traced(response, http, begun.requests, timing, begun.limits)  # type: ignore[no-any-return]


def _begin(http: HttpRequest, body: ChatBody, timing: ServerTiming) -> Begun:
    key = read_key(http, "create_chat", {"body": body})
    call = call_of(body)
    timing.mark("validate")
    begun = begin(call, user_id(http), arrival_of(http, timing, "openai"), key)
    timing.mark("start")
    return begun


def projections_of(body: ChatBody, requests: Sequence[Request]) -> list[ChoiceProjection]:
    """Return the projection of each request as one choice."""
    num_top = (body.top_logprobs or 0) if body.logprobs else None
    first = requests[0]
    head = Head(f"chatcmpl-{first.pk.removeprefix('req_')}", first.accepted_unix_us // 1_000_000, first.model, num_top)
    return [
        ChoiceProjection(head, index, f"call_{request.pk.removeprefix('req_')}")
        for index, request in enumerate(requests)
    ]


async def _whole(source: Source, projections: list[ChoiceProjection]) -> HttpResponseBase:
    return json_response(completion_of(projections, await all_of(source, len(projections))))


def completion_of(projections: Sequence[ChoiceProjection], events: Sequence[Sequence[AnyEvent]]) -> ChatCompletion:
    """Return the whole completion, from all events of each choice. Raises ApiError where one failed."""
    choices = [choice_of(each, found) for each, found in zip(projections, events, strict=True)]
    if failed := next((each.failed for each in projections if each.failed), None):
        raise refusal_of_failure(failed.code, failed.message)
    head = projections[0].head
    usage = usage_of([each.ended for each in projections if each.ended])
    return ChatCompletion(head.id, head.created, head.model, choices, usage)


async def _stream(
    place: Place, body: ChatBody, source: Source, projections: list[ChoiceProjection]
) -> HttpResponseBase:
    has_usage = body.stream_options is not None and body.stream_options.include_usage
    head = projections[0].head

    def chunk(choices: list[ChunkChoice], ended: list[Ended] | None) -> Chunk:
        usage = usage_of(ended) if ended is not None else None if has_usage else msgspec.UNSET
        return Chunk(head.id, head.created, head.model, choices, usage=usage)

    return await stream(source, place, projections, chunk, has_usage)
