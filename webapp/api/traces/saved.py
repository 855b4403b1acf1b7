"""The saved trace in its stored form. The page reads the columns itself: no event is decoded or encoded here."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse

from webapp.api.requests import find
from webapp.gateway.errors import not_found
from webapp.gateway.operation import answers
from webapp.traces.file.archive import packed, unpacked
from webapp.traces.models import Trace

OBSERVED = "Sightglass-Observed"
"""Header with the request.observed event as JSON; that event arrives after the trace was saved."""


@answers(200, media="application/vnd.msgpack")
def show_trace(request: HttpRequest, request_id: str) -> HttpResponse:
    """The saved trace: the msgpack of a .sgtrace file, with `Content-Encoding: zstd` where the client takes it.

    The header `Sightglass-Observed` has the event that came later. 404 while there is no trace; 409 `trace_unreadable`.
    """
    trace = Trace.objects.filter(pk=find(request, request_id).pk).first()
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
