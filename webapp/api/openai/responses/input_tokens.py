"""`POST /v1/responses/input_tokens`: the length of a response's prompt. Nothing is stored, queued or generated."""

from __future__ import annotations

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.api.families.described import described
from webapp.api.families.waiting import refusal_of_failure
from webapp.api.openai.body import read
from webapp.api.openai.responses.parse import messages_for
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.middleware import key_of
from webapp.identity.keys.models import ApiKey
from webapp.models.registry.offered import chosen
from webapp.requests.failure import CannotPrepare
from webapp.requests.models import Request
from webapp.surfaces.calls.counting import count_prompt
from webapp.surfaces.calls.pictures import CallPictures, check_countable


class Count(msgspec.Struct):
    input_tokens: int
    object: str = "response.input_tokens"


@described(Count, takes=ResponseBody)
async def count_input_tokens(http: HttpRequest) -> HttpResponseBase:
    """Count the tokens of a response's prompt."""
    timing = ServerTiming(http)
    count = await sync_to_async(_count)(read(http, ResponseBody), user_id(http), key_of(http))
    timing.mark("count")
    return timing.apply(json_response(count))


def _count(body: ResponseBody, user_id: int, key: ApiKey | None) -> Count:
    check_scope(key, "chat", body.model)
    chosen(body.model)
    pictures = CallPictures(body.model)
    messages = messages_for(body, user_id, pictures, key)
    check_countable(pictures.found)
    call = Request(user_id=user_id, key=key, surface="openai", model=body.model)
    try:
        return Count(count_prompt(call, messages))
    except CannotPrepare as error:
        raise refusal_of_failure(error.failure.code, error.failure.message) from None
