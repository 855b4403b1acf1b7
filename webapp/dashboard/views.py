"""The operator's usage page in the admin."""

from __future__ import annotations

from datetime import date, timedelta

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from webapp.dashboard import totals

_DEFAULT_DAYS = 30


def usage(request: HttpRequest) -> HttpResponse:
    """GET /admin/usage/?from=&to=: requests, tokens and cost by day, user and model."""
    today = timezone.now().date()
    start = _day(request.GET.get("from"), today - timedelta(days=_DEFAULT_DAYS))
    end = _day(request.GET.get("to"), today)
    entries = totals.entries_between(start, end)
    days = totals.by_day(entries)
    context = admin.site.each_context(request) | {
        "title": "Usage and cost",
        "start": start,
        "end": end,
        "total": totals.total(entries),
        "most": max((day.num_input_tokens + day.num_output_tokens for day in days), default=0),
        "tables": [("By day", days), ("By user", totals.by_user(entries)), ("By model", totals.by_model(entries))],
    }
    return render(request, "usage.html", context)


def _day(text: str | None, default: date) -> date:
    try:
        return date.fromisoformat(text) if text else default
    except ValueError:
        return default
