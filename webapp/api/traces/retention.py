"""Operations on the retention rule, with a preview of the traces that a rule would delete."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone

from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.traces.library import listing as library
from webapp.traces.library.retention import MAX_DAYS, due
from webapp.traces.library.site_retention import load_rules
from webapp.traces.models import RetentionRule


class RetentionChange(Body):
    """The new rule; null ends it."""

    keep_days: int | None


class RetentionQuery(Query):
    """A rule to try."""

    keep_days: str = ""
    """1 to 3,650."""


class Retention(Result):
    """The rule in force, and its effect."""

    keep_days: int | None
    """Null: traces are kept forever."""
    site_days: int | None
    """The operator deletes the user's traces after so many days, pinned ones too; null: no limit."""
    num_due: int
    """Traces that the rule asked about would delete now."""
    num_traces: int
    num_pinned: int


def show_retention(request: HttpRequest, query: RetentionQuery) -> Retention:
    """Show the retention rule. With `keep_days`, `num_due` counts for that rule."""
    asked = request.GET.get("keep_days")
    return _shown(user_id(request), None if asked is None else checked_days(_number(asked)))


def change_retention(request: HttpRequest, body: RetentionChange) -> Retention:
    """Set the retention rule."""
    _set(user_id(request), body.keep_days)
    return _shown(user_id(request), None)


def _shown(owner: int, asked: int | None) -> Retention:
    rule = RetentionRule.objects.filter(pk=owner).first()
    keep_days = rule.keep_days if rule else None
    tried = keep_days if asked is None else asked
    saved = library.listed(owner).filter(trace__isnull=False)
    return Retention(
        keep_days=keep_days,
        site_days=load_rules().of_user(owner),
        num_due=due(owner, tried, timezone.now()).count() if tried else 0,
        num_traces=saved.count(),
        num_pinned=saved.filter(trace__entry__is_pinned=True).count(),
    )


def _set(owner: int, keep_days: int | None) -> None:
    if keep_days is None:
        RetentionRule.objects.filter(pk=owner).delete()
    else:
        RetentionRule.objects.update_or_create(pk=owner, defaults={"keep_days": checked_days(keep_days)})


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def checked_days(days: int, field: str = "keep_days") -> int:
    """The days of a rule. Raises ApiError."""
    if not 1 <= days <= MAX_DAYS:
        raise ApiError(400, "invalid", f"{field} must be between 1 and {MAX_DAYS}, or null.", field)
    return days
