"""`POST /v1/completions`: streaming and not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from inference.protocol.events import AnyEvent
from webapp.api.families.described import described
from webapp.api.families.family import arrival_of, note_begun, traced
from webapp.api.families.stream import place_if
from webapp.api.families.waiting import all_of, refusal_of_failure
from webapp.api.openai.body import read
from webapp.api.openai.chat_projection import Head
from webapp.api.openai.choices import stream
from webapp.api.openai.completions import CompletionsBody, plain_call_of
from webapp.api.openai.completions_projection import (
    Choice,
    Completion,
    CompletionProjection,
    choice_of,
    usage_of_prompts,
)
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.ground.gateway.timing import ServerTiming
from webapp.lifecycle.stream.places import Place
from webapp.lifecycle.stream.session import ending_of
from webapp.requests.models import Request
from webapp.surfaces.calls.answer import Ended
from webapp.surfaces.calls.call import Begun, PlainCall, begin
from webapp.surfaces.calls.relay import Source, attended, relay


@described(Completion, takes=CompletionsBody, is_streamed=True, begins_work=True)
async def create_completion(http: HttpRequest) -> HttpResponseBase:
    """Go on with a text."""
    timing = ServerTiming(http)
    body = read(http, CompletionsBody)
    with place_if(bool(body.stream), http) as place:
        call = await sync_to_async(plain_call_of)(body)
        timing.mark("validate")
        begun = await attended(lambda: _begin(http, body, call, timing))
        note_begun(http, begun.requests)
        projections = projections_of(body, begun.requests)
        # The first call of a repeat may still be read.
        source = relay(begun.requests, ending_of(http), is_background=begun.is_repeat)
        response = await (
            _whole(body, source, projections) if place is None else _stream(place, body, source, projections)
        )
    if begun.is_repeat:
        response[REPLAYED] = "true"
    return traced(response, http, begun.requests, timing, begun.limits)  # type: ignore[no-any-return]


def _begin(http: HttpRequest, body: CompletionsBody, call: PlainCall, timing: ServerTiming) -> Begun:
    key = read_key(http, "create_completion", {"body": body})
    begun = begin(call, user_id(http), arrival_of(http, timing, "openai"), key, "completions")
    timing.mark("start")
    return begun


def projections_of(body: CompletionsBody, requests: Sequence[Request]) -> list[CompletionProjection]:
    """Return the projection of each request as one choice."""
    first = requests[0]
    created = first.accepted_unix_us // 1_000_000
    head = Head(f"cmpl-{first.pk.removeprefix('req_')}", created, first.model, body.logprobs)
    texts = [each.input.messages[0].content if body.echo else "" for each in requests]
    return [CompletionProjection(head, index, text) for index, text in enumerate(texts)]


async def _whole(body: CompletionsBody, source: Source, projections: list[CompletionProjection]) -> HttpResponseBase:
    return json_response(completion_of(body, projections, await all_of(source, len(projections))))


def completion_of(
    body: CompletionsBody, projections: Sequence[CompletionProjection], events: Sequence[Sequence[AnyEvent]]
) -> Completion:
    """Return the whole completion, from all events of each choice. Raises ApiError where one failed."""
    choices = [choice_of(each, found) for each, found in zip(projections, events, strict=True)]
    if failed := next((each.failed for each in projections if each.failed), None):
        raise refusal_of_failure(failed.code, failed.message)
    head = projections[0].head
    usage = usage_of_prompts([each.ended for each in projections if each.ended], body.n or 1)
    return Completion(head.id, head.created, head.model, choices, usage)


async def _stream(
    place: Place, body: CompletionsBody, source: Source, projections: list[CompletionProjection]
) -> HttpResponseBase:
    has_usage = body.stream_options is not None and body.stream_options.include_usage
    head = projections[0].head

    def chunk(choices: list[Choice], ended: list[Ended] | None) -> Completion:
        usage = usage_of_prompts(ended, body.n or 1) if ended is not None else None if has_usage else msgspec.UNSET
        return Completion(head.id, head.created, head.model, choices, usage)

    return await stream(source, place, projections, chunk, has_usage)
