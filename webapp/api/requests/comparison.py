"""The turn before's text where a prompt differs from it. Only that turn's trace holds it; deleting that removes it."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest

from inference.protocol.events import ContextCompared, first
from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.lifecycle.turn_before import TurnBeforeGone, with_texts
from webapp.requests.models import Request
from webapp.traces import store


def show_comparison(request: HttpRequest, request_id: str) -> ContextCompared:
    """Show a request's context.compared event with the texts that only the turn before's trace has.

    404 until the request is settled; 409 `imported`, `trace_unreadable`; 410 `deleted`.
    """
    found = find(request, request_id)
    if not found.is_settled and not _is_settled_now(found):
        raise not_found("comparison")
    try:
        frames = store.load_frames(found.pk)
        known = first((event for frame in frames for event in frame.events), ContextCompared)
        if known is None:
            raise not_found("comparison")
        if found.is_imported:
            raise ApiError(409, "imported", "An imported trace does not contain the turn before.")
        return with_texts(found.user_id, frames, known)
    except TurnBeforeGone:
        raise ApiError(410, "deleted", "The turn before was deleted, together with its text.") from None


def _is_settled_now(found: Request) -> bool:
    """Wait for settle and tell if the request is settled.

    The page gets the last event a moment earlier: settle locks the row until the trace is saved.
    """
    with transaction.atomic():
        current = Request.objects.select_for_update().only("finished_at").filter(pk=found.pk).first()
    return current is not None and current.is_settled
