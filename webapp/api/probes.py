"""The probes' JSON API: returns a saved probe at once, or queues a new one for the probe worker."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse

from inference.eventlog.keys import probe_key
from inference.protocol.codec import encode_request
from inference.protocol.request import ProbeKind
from webapp.api.requests import find
from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, not_found
from webapp.probes import models
from webapp.probes.board import Board, Look, Overloaded
from webapp.probes.subject import CannotProbe, build
from webapp.requests import services
from webapp.requests.models import Request
from webapp.traces import store

_PATIENCE_S = {"queued": 60.0, "running": 300.0}
"""Seconds per state, longer than the queue takes. A probe has the lowest priority: minutes beside a busy engine."""


class ProbeBody(msgspec.Struct, forbid_unknown_fields=True):
    """The probe's kind and token."""

    kind: ProbeKind
    position: int
    """Index into prompt and answer together."""


@api("POST")
def probe(request: HttpRequest, request_id: str) -> HttpResponse:
    """200 with the probe's event, or 202 with its state: ask again."""
    found = find(request, request_id)
    if found.is_settled and not hasattr(found, "trace"):
        raise not_found("saved trace")
    body = read_body(request, ProbeBody)
    if not 0 <= body.position < 1 << 31:
        raise ApiError(400, "invalid", "position must be the index of a token.", "position")
    event = models.load(found.pk, body.kind, body.position)
    if event is not None:
        return HttpResponse(event, content_type="application/json")
    return _asked(found, body)


def _asked(found: Request, body: ProbeBody) -> HttpResponse:
    board = Board(probe_key(found.pk, body.kind, body.position))
    look = board.look()
    if look is None:
        _ask(board, found, body)
        return JsonResponse({"state": "queued"}, status=202)
    if look.state == "done":
        if models.save(found.pk, body.kind, body.position, look.event):
            board.clear()
        return HttpResponse(look.event, content_type="application/json")
    if look.state == "failed":
        board.clear()
        raise ApiError(409, look.code, look.message)
    if look.waited_s > _PATIENCE_S[look.state]:
        board.clear()
        raise _given_up(look)
    return JsonResponse({"state": look.state}, status=202)


def _ask(board: Board, found: Request, body: ProbeBody) -> None:
    try:
        frames = store.load_frames(found.pk) if found.is_settled else services.event_log().read(found.pk)
        events = [event for frame in frames for event in frame.events]
        board.ask(encode_request(build(found.pk, events, body.kind, body.position, found.principal)))
    except CannotProbe as error:
        is_field = error.code == "unknown_position"
        raise ApiError(400 if is_field else 409, error.code, str(error), "position" if is_field else None) from None
    except Overloaded:
        message = "Too many probes are waiting. Try again in a minute."
        raise ApiError(503, "overloaded", message, retry_after_s=60) from None


def _given_up(look: Look) -> ApiError:
    if look.state == "queued":
        message = f"No probe worker took this in {look.waited_s:.0f} s. Is the `probes` process running?"
        return ApiError(503, "no_worker", f"{message} Its log says why not.")
    return ApiError(
        503, "worker_lost", f"The probe worker began {look.waited_s:.0f} s ago and has not ended. Try again."
    )
