"""The saved trace in its stored form. The page reads the columns itself: no event is decoded or encoded here."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse

from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import not_found
from webapp.ground.gateway.operation import answers
from webapp.traces.file.archive import packed, unpacked
from webapp.traces.models import Trace

OBSERVED = "Sightglass-Observed"
"""Header with the request.observed event as JSON; that event arrives after the trace was saved."""


@answers(200, 204, media="application/vnd.msgpack")
def show_trace(request: HttpRequest, request_id: str) -> HttpResponse:
    """The saved trace: the msgpack of a .sgtrace file, with `Content-Encoding: zstd` where the client takes it.

    The header `Sightglass-Observed` has the event that came later. 204 until the request is settled; 404 once its
    trace is deleted; 409 `trace_unreadable`.
    """
    found = find(request, request_id)
    trace = Trace.objects.filter(pk=found.pk).first()
    if trace is None and not found.is_settled:
        return HttpResponse(status=204)  # a page that asks early is no fault, which a 404 would be in its log
    if trace is None:
        raise not_found("saved trace")
    takes_zstd = "zstd" in request.headers.get("Accept-Encoding", "")
    body = packed(bytes(trace.blob)) if takes_zstd else unpacked(bytes(trace.blob))
    response = HttpResponse(body, content_type="application/vnd.msgpack")
    response["Vary"] = "Accept-Encoding"
    if takes_zstd:
        response["Content-Encoding"] = "zstd"
    if trace.observed is not None:
        response[OBSERVED] = json.dumps(trace.observed)
    return response
