"""The JSON API of one request: stop it, report its browser timing, read its summary."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from inference.protocol.events import ClientTiming
from webapp.api.places import places
from webapp.api.view import api
from webapp.gateway.body import checked_timing, read_body
from webapp.gateway.errors import not_found, user_id
from webapp.lifecycle.stop import stop
from webapp.requests.models import Request
from webapp.requests.progress import note_started
from webapp.traces import store


def find(request: HttpRequest, request_id: str) -> Request:
    """Return the user's own request. Raises ApiError."""
    found = Request.objects.filter(pk=request_id, user_id=user_id(request)).select_related("message", "run").first()
    if found is None:
        raise not_found("request")
    return found


def summary(found: Request) -> dict[str, Any]:
    """RequestSummary, with the request's place in the chat or in its set of runs."""
    return found.summary() | places([found])[found.pk]


@api("GET")
def show(request: HttpRequest, request_id: str) -> HttpResponse:
    note_started(user_id(request))
    return JsonResponse(summary(find(request, request_id)))


@api("POST")
def cancel(request: HttpRequest, request_id: str) -> HttpResponse:
    """Stop the request; does nothing when it has ended."""
    stop(find(request, request_id))
    return JsonResponse({"status": "stopping"}, status=202)


@api("POST")
def observed(request: HttpRequest, request_id: str) -> HttpResponse:
    """Save the browser's own timing, once per request."""
    timing = checked_timing(read_body(request, ClientTiming))
    assert timing is not None
    store.add_observed(find(request, request_id), timing)
    return HttpResponse(status=204)
