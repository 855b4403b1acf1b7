"""Links to traces: their owner's operations, and the page that a link opens without sign-in."""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.traces import models, store
from webapp.traces.export.redact import redact, redact_summary
from webapp.traces.file.archive import TraceFileError
from webapp.traces.file.htmlfile import PageNotBuilt, policy, read_page, to_html
from webapp.traces.library import sharing
from webapp.traces.models import Trace
from webapp.usage.limits.rules import check_flag, effective_of

_PRIVATE = {
    # No cache keeps the page, no search engine lists it, and no later site learns the address.
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex, nofollow, noarchive, nosnippet",
    "Referrer-Policy": "no-referrer",
}


class ShareBody(Body):
    """A link to make."""

    expires_in_s: int
    """From 300 to 31,536,000 seconds."""
    is_redacted: bool
    """The link shows the trace without texts and tokens."""


class Share(Result):
    """A link that shows a trace to any person who has it."""

    id: int
    request_id: str
    title: str
    is_redacted: bool
    created_at: datetime
    expires_at: datetime


class NewShare(Share):
    """A new link."""

    path: str
    """The link's path; no other answer has it."""


class ShareList(Result):
    """The user's links that can still be opened."""

    shares: list[Share]


def list_shares(request: HttpRequest) -> ShareList:
    """List all the user's links."""
    rows = sharing.shares_of(user_id(request), timezone.now())
    return ShareList(shares=[Share(**_fields(row)) for row in rows])


def list_request_shares(request: HttpRequest, request_id: str) -> ShareList:
    """List the links to one request's trace."""
    found = find(request, request_id)
    rows = sharing.shares_of(user_id(request), timezone.now()).filter(trace_id=found.pk)
    return ShareList(shares=[Share(**_fields(row)) for row in rows])


@answers(201)
def create_share(request: HttpRequest, request_id: str, body: ShareBody) -> NewShare:
    """Make a link to a request's trace. 403 `switched_off`; 409 `too_many`."""
    found, now = find(request, request_id), timezone.now()
    check_flag(found.user_id, "may_share")
    lifetime = _checked_lifetime(body.expires_in_s)
    trace = Trace.objects.filter(pk=found.pk).defer("blob").first()
    if trace is None:
        raise not_found("saved trace")
    if sharing.shares_of(user_id(request), now).filter(trace_id=found.pk).count() >= sharing.MAX_SHARES:
        message = f"There are {sharing.MAX_SHARES} links to this trace, the limit. Take one back first."
        raise ApiError(409, "too_many", message)
    made = sharing.share(trace, lifetime, body.is_redacted, now)
    return NewShare(**_fields(made.share), path=f"/shared/{made.token}")


def _checked_lifetime(seconds: int) -> timedelta:
    least, most = (int(limit.total_seconds()) for limit in (sharing.MIN_LIFETIME, sharing.MAX_LIFETIME))
    if not least <= seconds <= most:
        message = f"expires_in_s must be between {least} (5 minutes) and {most} (365 days)."
        raise ApiError(400, "invalid", message, "expires_in_s")
    return timedelta(seconds=seconds)


def delete_share(request: HttpRequest, share_id: int) -> None:
    """Delete a link, which opens nothing from now on."""
    if not models.Share.objects.filter(pk=share_id, trace__request__user_id=user_id(request)).delete()[0]:
        raise not_found("link")


def _fields(row: models.Share) -> dict[str, Any]:
    """The fields of Share."""
    return {
        "id": row.pk,
        "request_id": row.trace_id,
        "title": row.trace.request.title,
        "is_redacted": row.is_redacted,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }


@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """GET /shared/<token>: the inspector with this one trace inside; it sends no request to the server."""
    found = sharing.opened(token, timezone.now())
    if found is not None and not effective_of(found.trace.request.user_id).may_share:
        found = None
    response = render(request, "share_gone.html", status=404) if found is None else _page(request, found)
    for name, value in _PRIVATE.items():
        response[name] = value
    return response


def _page(request: HttpRequest, found: models.Share) -> HttpResponse:
    try:
        page = read_page()
        frames = store.load_frames(found.trace_id)
    except PageNotBuilt:
        return HttpResponse("The replay page is not built on this server.", status=503)
    except TraceFileError:
        return HttpResponse("The saved trace cannot be read.", status=409)
    summary: dict[str, Any] = {"title": found.trace.request.title}
    if found.is_redacted:
        frames, summary = redact(frames), redact_summary(summary)
    shared = {"expires_at": found.expires_at.isoformat(), "is_redacted": found.is_redacted}
    response = HttpResponse(to_html(page, frames, summary, shared), content_type="text/html; charset=utf-8")
    response["Content-Security-Policy"] = f"{policy(page)}; frame-ancestors 'none'"
    return _zipped(request, response)


def _zipped(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Gzip the page: thousands of tokens with candidates are megabytes of JSON, which shrink to a tenth."""
    patch_vary_headers(response, ("Accept-Encoding",))
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = gzip.compress(response.content, compresslevel=5)
        response["Content-Encoding"] = "gzip"
    return response
