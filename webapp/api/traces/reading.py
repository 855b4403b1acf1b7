"""The operation by which an operator reads another user's trace. Each reading is in the audit log."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse

from inference.protocol.codec import encode_frame
from webapp.api.requests import find_of_other
from webapp.audit.log import record
from webapp.gateway.operation import answers
from webapp.traces import store


@answers(200, media="application/json")
def read_trace(request: HttpRequest, request_id: str) -> HttpResponse:
    """Read another user's saved trace, for operators: `user`, `title` and `frames`. The audit log tells of it.

    404 without the permission to read any trace, and `no_trace` where none is kept; 409 `trace_unreadable`.
    """
    found = find_of_other(request, request_id)
    record(found.user, "read a request of", after={"request": found.pk})
    frames = [msgspec.Raw(encode_frame(frame)) for frame in store.load_frames(found.pk)]
    body = {"user": found.user.get_username(), "title": found.title, "frames": frames}
    response = HttpResponse(msgspec.json.encode(body), content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
