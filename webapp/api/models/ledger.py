"""The operation that shows a request's ledger entry, so that a reader can check a bill against it."""

from __future__ import annotations

from datetime import datetime

import msgspec
from django.http import HttpRequest

from inference.protocol.events import BillLine
from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import not_found
from webapp.ground.gateway.structs import Result
from webapp.models.billing import models


class LedgerEntry(Result):
    """The posted bill of one request."""

    total_nano: int
    """Billionths of the currency's unit."""
    currency: str
    price_version: str
    lines: tuple[BillLine, ...]
    posted_at: datetime


def show_ledger_entry(request: HttpRequest, request_id: str) -> LedgerEntry:
    """Show a request's ledger entry; 404 also where nothing was posted: nothing was computed, or it was imported."""
    entry = models.LedgerEntry.objects.filter(request_id=find(request, request_id).pk).first()
    if entry is None:
        raise not_found("ledger entry")
    return LedgerEntry(
        total_nano=entry.total_nano,
        currency=entry.currency,
        price_version=entry.price_version,
        lines=msgspec.convert(entry.lines, tuple[BillLine, ...]),
        posted_at=entry.posted_at,
    )
