"""The operation by which an operator reads another user's trace. Each reading is in the audit log."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse

from inference.protocol.codec import encode_frame
from webapp.api.requests.requests import find_of_other
from webapp.ground.audit.log import record
from webapp.ground.gateway.operation import answers
from webapp.traces import store
from webapp.usage.models import UsageRecord


@answers(200, media="application/json")
def read_trace(request: HttpRequest, request_id: str) -> HttpResponse:
    """Read another user's saved trace, for operators: `user`, `title`, `is_demo` and `frames`. The audit log tells it.

    404 without the permission to read any trace, and `no_trace` where none is kept; 409 `trace_unreadable`.
    """
    found = find_of_other(request, request_id)
    record(found.user, "read a request of", after={"request": found.pk})
    frames = [msgspec.Raw(encode_frame(frame)) for frame in store.load_frames(found.pk)]
    is_demo = UsageRecord.objects.filter(request_id=found.pk, is_demo=True).exists()
    body = {"user": found.user.get_username(), "title": found.title, "is_demo": is_demo, "frames": frames}
    response = HttpResponse(msgspec.json.encode(body), content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
