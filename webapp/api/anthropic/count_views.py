"""`POST /v1/messages/count_tokens`: the length of a prompt, which is assembled as it would be sent."""

from __future__ import annotations

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.api.anthropic.call import prompt_of
from webapp.api.anthropic.shapes import CountBody
from webapp.api.anthropic.thinking import thinking_tokens
from webapp.api.families.described import described
from webapp.api.families.waiting import refusal_of_failure
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_body
from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.middleware import key_of
from webapp.models.registry.offered import chosen
from webapp.requests.failure import CannotPrepare
from webapp.requests.models import Request
from webapp.surfaces.calls.counting import count_prompt
from webapp.surfaces.calls.pictures import check_countable
from webapp.surfaces.calls.settings import thinks


class Count(msgspec.Struct):
    """The length of a prompt."""

    input_tokens: int


@described(Count, takes=CountBody)
async def count_tokens(http: HttpRequest) -> HttpResponseBase:
    """Count the tokens of a prompt. Nothing is stored, queued or generated."""
    timing = ServerTiming(http)
    count = await sync_to_async(_count)(http, read_body(http, CountBody))
    timing.mark("count")
    return timing.apply(json_response(count))


def _count(http: HttpRequest, body: CountBody) -> Count:
    key = key_of(http)
    check_scope(key, "chat", body.model)
    chosen(body.model)
    is_able = thinks(body.model)
    prompt = prompt_of(body, is_able)
    check_countable(prompt.pictures)
    call = Request(user_id=user_id(http), key=key, surface="anthropic", model=body.model)
    try:
        return Count(count_prompt(call, prompt.messages, may_think=thinking_tokens(body, is_able) != 0))
    except CannotPrepare as error:
        raise refusal_of_failure(error.failure.code, error.failure.message) from None
