"""The JSON API of the retention rule, with a preview of the traces that a rule would delete."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, user_id
from webapp.traces.library import listing as library
from webapp.traces.library.retention import MAX_DAYS, due
from webapp.traces.models import RetentionRule


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    keep_days: int | None


@api("GET", "PUT")
def retention(request: HttpRequest) -> HttpResponse:
    """GET: the rule, and how many traces it (or `?keep_days=`) would delete now. PUT: set it; null ends it."""
    owner = user_id(request)
    if request.method == "PUT":
        _set(owner, read_body(request, Rule).keep_days)
    rule = RetentionRule.objects.filter(pk=owner).first()
    keep_days = rule.keep_days if rule else None
    asked = request.GET.get("keep_days")
    looked_at = keep_days if asked is None else _checked_days(_number(asked))
    saved = library.listed(owner).filter(trace__isnull=False)
    return JsonResponse(
        {
            "keep_days": keep_days,
            "num_due": due(owner, looked_at, timezone.now()).count() if looked_at else 0,
            "num_traces": saved.count(),
            "num_pinned": saved.filter(trace__entry__is_pinned=True).count(),
        }
    )


def _set(owner: int, keep_days: int | None) -> None:
    if keep_days is None:
        RetentionRule.objects.filter(pk=owner).delete()
    else:
        RetentionRule.objects.update_or_create(pk=owner, defaults={"keep_days": _checked_days(keep_days)})


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _checked_days(days: int) -> int:
    if not 1 <= days <= MAX_DAYS:
        raise ApiError(400, "invalid", f"keep_days must be between 1 and {MAX_DAYS}, or null.", "keep_days")
    return days
