"""Links to traces: their owner's JSON API, and the page that a link opens without sign-in."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from webapp.api.requests import find
from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, not_found, user_id
from webapp.traces import store
from webapp.traces.export.redact import redact, redact_summary
from webapp.traces.file.archive import TraceFileError
from webapp.traces.file.htmlfile import PageNotBuilt, policy, read_page, to_html
from webapp.traces.library import sharing
from webapp.traces.models import Share, Trace

_PRIVATE = {
    # No cache keeps the page, no search engine lists it, and no later site learns the address.
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex, nofollow, noarchive, nosnippet",
    "Referrer-Policy": "no-referrer",
}


class NewShare(msgspec.Struct, forbid_unknown_fields=True):
    expires_in_s: int
    is_redacted: bool


@api("GET")
def shares(request: HttpRequest) -> HttpResponse:
    """List all the user's links that can still be opened."""
    rows = sharing.shares_of(user_id(request), timezone.now())
    return JsonResponse({"shares": [_as_json(row) for row in rows]})


@api("GET", "POST")
def shares_of_trace(request: HttpRequest, request_id: str) -> HttpResponse:
    """GET: the trace's links. POST: make one; only this answer shows its path."""
    found, now = find(request, request_id), timezone.now()
    rows = sharing.shares_of(user_id(request), now).filter(trace_id=found.pk)
    if request.method == "GET":
        return JsonResponse({"shares": [_as_json(row) for row in rows]})
    body = read_body(request, NewShare)
    lifetime = _checked_lifetime(body.expires_in_s)
    trace = Trace.objects.filter(pk=found.pk).defer("blob").first()
    if trace is None:
        raise not_found("saved trace")
    if rows.count() >= sharing.MAX_SHARES:
        message = f"There are {sharing.MAX_SHARES} links to this trace, the limit. Take one back first."
        raise ApiError(409, "too_many", message)
    made = sharing.share(trace, lifetime, body.is_redacted, now)
    return JsonResponse(_as_json(made.share) | {"path": f"/shared/{made.token}"}, status=201)


def _checked_lifetime(seconds: int) -> timedelta:
    least, most = (int(limit.total_seconds()) for limit in (sharing.MIN_LIFETIME, sharing.MAX_LIFETIME))
    if not least <= seconds <= most:
        message = f"expires_in_s must be between {least} (5 minutes) and {most} (365 days)."
        raise ApiError(400, "invalid", message, "expires_in_s")
    return timedelta(seconds=seconds)


@api("DELETE")
def share(request: HttpRequest, share_id: int) -> HttpResponse:
    """Delete the link, which opens nothing from now on."""
    if not Share.objects.filter(pk=share_id, trace__request__user_id=user_id(request)).delete()[0]:
        raise not_found("link")
    return HttpResponse(status=204)


def _as_json(row: Share) -> dict[str, Any]:
    return {
        "id": row.pk,
        "request_id": row.trace_id,
        "title": row.trace.request.title,
        "is_redacted": row.is_redacted,
        "created_at": row.created_at.isoformat(),
        "expires_at": row.expires_at.isoformat(),
    }


@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """GET /shared/<token>: the inspector with this one trace inside; it sends no request to the server."""
    found = sharing.opened(token, timezone.now())
    response = render(request, "share_gone.html", status=404) if found is None else _page(request, found)
    for name, value in _PRIVATE.items():
        response[name] = value
    return response


def _page(request: HttpRequest, found: Share) -> HttpResponse:
    try:
        page = read_page()
        frames = store.load_frames(found.trace_id)
    except PageNotBuilt:
        return HttpResponse("The replay page is not built on this server.", status=503)
    except TraceFileError:
        return HttpResponse("The saved trace is damaged and cannot be read.", status=409)
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
