"""The saved trace in its stored form. The page reads the columns itself: no event is decoded or encoded here."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse

from webapp.api.requests import find
from webapp.api.view import api
from webapp.gateway.errors import not_found
from webapp.traces.file.archive import packed, unpacked
from webapp.traces.models import Trace

OBSERVED = "Sightglass-Observed"
"""Header with the request.observed event as JSON; that event arrives after the trace was saved."""


@api("GET")
def saved(request: HttpRequest, request_id: str) -> HttpResponse:
    """The msgpack of a .sgtrace file. 404 while there is no trace; 409 when it is damaged."""
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
