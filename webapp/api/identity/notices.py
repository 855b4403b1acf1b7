"""Operations on notices: a page reads those of now, an operator makes and ends them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from django.http import HttpRequest
from django.utils import timezone

from webapp.api.operators import checked_operator
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.notices import models
from webapp.identity.notices.models import shown_at

_MAX_CHARS = 300
_MAX_AT_ONCE = 5
_MAX_DAYS = 366
_LISTED_DAYS = 90
Severity = Literal["info", "warning", "urgent"]


class NoticeBody(Body):
    """A notice to show to all people who use the site, also on the page where they sign in."""

    text: str
    """Plain, at most 300 characters."""
    severity: Severity
    starts_at: datetime
    """With its time zone, such as 2026-11-24T08:00:00+01:00."""
    ends_at: datetime


class ShownNotice(Result):
    """A notice that is shown now."""

    id: int
    text: str
    severity: Severity


class NoticeList(Result):
    """The notices that are shown now, the newest first."""

    notices: list[ShownNotice]


class PlannedNotice(ShownNotice):
    """A notice with its times."""

    starts_at: datetime
    ends_at: datetime
    state: Literal["to_come", "now", "over"]


class NoticePlan(Result):
    """Notices of now, to come and of the last 90 days, the latest first."""

    notices: list[PlannedNotice]


def list_notices(request: HttpRequest) -> NoticeList:
    """List the notices that are shown now."""
    return NoticeList(notices=[ShownNotice(row.pk, row.text, _severity(row)) for row in shown_at(timezone.now())])


def list_planned_notices(request: HttpRequest) -> NoticePlan:
    """List notices with their times, for operators. 403 `forbidden`."""
    checked_operator(request, "notices.view_notice", "Only operators with the permission to view notices list them.")
    now = timezone.now()
    rows = models.Notice.objects.filter(ends_at__gt=now - timedelta(days=_LISTED_DAYS)).order_by("-starts_at", "-pk")
    return NoticePlan(notices=[_planned(row, now) for row in rows])


@answers(201)
def create_notice(request: HttpRequest, body: NoticeBody) -> NoticePlan:
    """Show a notice from one moment to another. 403 `forbidden`; 409 `too_many` (5 at once)."""
    checked_operator(request, "notices.add_notice", "Only operators with the permission to add notices make them.")
    text, now = _checked_text(body.text), timezone.now()
    _check_times(body, now)
    at_once = models.Notice.objects.filter(starts_at__lt=body.ends_at, ends_at__gt=max(body.starts_at, now))
    if at_once.count() >= _MAX_AT_ONCE:
        raise ApiError(409, "too_many", f"{_MAX_AT_ONCE} notices are shown at that time, the limit. End one first.")
    models.Notice.objects.create(text=text, severity=body.severity, starts_at=body.starts_at, ends_at=body.ends_at)
    return list_planned_notices(request)


def end_notice(request: HttpRequest, notice_id: int) -> NoticePlan:
    """End a notice now; one that has not begun is removed. 403 `forbidden`."""
    checked_operator(request, "notices.delete_notice", "Only operators with the permission to delete notices end them.")
    row, now = models.Notice.objects.filter(pk=notice_id).first(), timezone.now()
    if row is None:
        raise not_found("notice")
    if row.starts_at > now:
        row.delete()
    elif row.ends_at > now:
        row.ends_at = now
        row.save()
    return list_planned_notices(request)


def _checked_text(given: str) -> str:
    text = " ".join(given.split())
    if not 0 < len(text) <= _MAX_CHARS or not text.isprintable():
        raise ApiError(400, "invalid", f"A notice has 1 to {_MAX_CHARS} printable characters.", "text")
    return text


def _check_times(body: NoticeBody, now: datetime) -> None:
    if body.starts_at.tzinfo is None or body.ends_at.tzinfo is None:
        raise ApiError(400, "invalid", "Give both times with their zone, such as 2026-11-24T08:00:00Z.", "starts_at")
    if body.ends_at <= body.starts_at:
        raise ApiError(400, "invalid", "The notice ends before it begins. Choose a later end.", "ends_at")
    if body.ends_at <= now:
        raise ApiError(400, "invalid", "The notice's end is past. Choose a later end.", "ends_at")
    if body.starts_at < now - timedelta(days=_MAX_DAYS):
        raise ApiError(400, "invalid", "A notice begins within the last year, or later.", "starts_at")
    if body.ends_at > now + timedelta(days=_MAX_DAYS):
        raise ApiError(400, "invalid", "A notice ends within a year. Choose an earlier end.", "ends_at")


def _planned(row: models.Notice, now: datetime) -> PlannedNotice:
    state: Literal["to_come", "now", "over"] = (
        "to_come" if row.starts_at > now else "now" if row.ends_at > now else "over"
    )
    return PlannedNotice(row.pk, row.text, _severity(row), row.starts_at, row.ends_at, state)


def _severity(row: models.Notice) -> Severity:
    return row.severity  # type: ignore[return-value]
