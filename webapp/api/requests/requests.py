"""Operations on one request: show it, stop it, report its browser timing."""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import User
from django.http import HttpRequest

from inference.protocol.events import ClientTiming
from webapp.api.operators import signed_in_user
from webapp.api.requests.places import PlacedRequest, placed
from webapp.ground.gateway.body import checked_timing
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.stop import stop
from webapp.requests.models import Request
from webapp.requests.progress import note_started
from webapp.traces import store
from webapp.usage.models import UsageRecord

READ_ANY = "traces.view_any_trace"
"""Allows an operator to read the traces of all users. Each reading is in the audit log."""


def find(request: HttpRequest, request_id: str) -> Request:
    """Return the user's own request. Raises ApiError."""
    found = Request.objects.filter(pk=request_id, user_id=user_id(request)).select_related("message", "run").first()
    if found is None:
        raise not_found("request")
    return found


def find_of_other(request: HttpRequest, request_id: str) -> Request:
    """Return another user's request with a saved trace, for an operator to read. Raises ApiError.

    404 `no_trace`: only a record of its use is left. To all others it is not there. Nothing else of its user opens by
    it. Only superusers read those of a superuser.
    """
    reader = signed_in_user(request)
    found = Request.objects.filter(pk=request_id, trace__isnull=False).exclude(user=reader).select_related("user")
    if not reader.is_superuser:
        found = found.exclude(user__is_superuser=True)
    if not reader.has_perm(READ_ANY):
        raise not_found("request")
    first = found.first()
    if first is None:
        raise _without_trace(request_id, reader)
    return first


def _without_trace(request_id: str, reader: User) -> ApiError:
    """The answer to an operator: a request without a trace may still have a record of its use."""
    records = UsageRecord.objects.filter(request_id=request_id).exclude(user=reader)
    record = (records if reader.is_superuser else records.exclude(user__is_superuser=True)).first()
    if record is None:
        return not_found("request")
    kept = "Its record of use stays on the desk."
    if record.is_demo:
        return ApiError(404, "no_trace", f"The demonstration has no trace of this request. {kept}")
    return ApiError(404, "no_trace", f"No trace of this request is kept. {kept}")


class Stopping(Result):
    """The request ends within one engine step."""

    status: Literal["stopping"] = "stopping"


def show_request(request: HttpRequest, request_id: str) -> PlacedRequest:
    """Show one request in brief."""
    note_started(user_id(request))
    return placed(find(request, request_id))


@answers(202)
def cancel_request(request: HttpRequest, request_id: str) -> Stopping:
    """Stop a request; does nothing when it has ended."""
    stop(find(request, request_id))
    return Stopping()


def observe_request(request: HttpRequest, request_id: str, body: ClientTiming) -> None:
    """Save the browser's own timing, once per request."""
    timing = checked_timing(body)
    assert timing is not None
    store.add_observed(find(request, request_id), timing)
