"""The ledger's entry of one request, so that a reader can check a bill against it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from webapp.api.requests import find
from webapp.api.view import api
from webapp.billing.models import LedgerEntry
from webapp.gateway.errors import not_found


@api("GET")
def ledger(request: HttpRequest, request_id: str) -> HttpResponse:
    """Return the entry; 404 also when nothing was posted: nothing was computed, or the trace was imported."""
    entry = LedgerEntry.objects.filter(request_id=find(request, request_id).pk).first()
    if entry is None:
        raise not_found("ledger entry")
    shown = ("total_nano", "currency", "price_version", "lines")
    return JsonResponse({name: getattr(entry, name) for name in shown} | {"posted_at": entry.posted_at.isoformat()})
