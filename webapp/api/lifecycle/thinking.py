"""The operation that ends a model's thinking while it runs."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest

from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Result
from webapp.lifecycle import answer_now as thinking


class Answering(Result):
    """The thinking ends within a few engine steps."""

    status: Literal["answering"] = "answering"


@answers(202)
def answer_now(request: HttpRequest, request_id: str) -> Answering:
    """End the model's thinking, so that it answers now. 409 `not_thinking`."""
    if not thinking.answer_now(find(request, request_id)):
        raise ApiError(409, "not_thinking", "This request's model does not think now.")
    return Answering()
