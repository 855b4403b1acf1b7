"""The whole texts of the messages that a request's prompt left out."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.requests.requests import find
from webapp.ground.gateway.structs import Result
from webapp.surfaces.chat.left_out import texts_of


class LeftOut(Result):
    """Texts by source. A text that was deleted is missing."""

    texts: dict[str, str]


def show_left_out(request: HttpRequest, request_id: str) -> LeftOut:
    """Show the whole texts of the messages that were dropped or summarised. 409 `trace_unreadable`."""
    return LeftOut(texts=texts_of(find(request, request_id)))
