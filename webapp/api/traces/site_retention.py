"""Operations on the operator's retention rules, with a preview of the traces that they would delete."""

from __future__ import annotations

import msgspec
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.utils import timezone

from webapp.api.operators import checked_operator
from webapp.api.traces.retention import checked_days
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Body, Result
from webapp.traces.library.site_retention import Outdated, SiteRules, count_due, load_rules, save_rules
from webapp.traces.models import Trace

PERMISSION = "traces.change_siteretentionrule"
_REFUSAL = "Only operators with the permission to change retention rules see and set them."


class GroupRule(Result):
    """A group of users and its rule."""

    group: str
    num_users: int
    keep_days: int | None
    """Null: the group has no rule of its own."""


class SiteRetention(Result):
    """The operator's rules, and their effect. Of several rules that concern a user the shortest holds."""

    keep_days: int | None
    """For all users; null: no limit."""
    groups: list[GroupRule]
    """All groups, by name."""
    num_traces: int
    """Saved traces of all users."""


class RetentionPreview(Result):
    """The traces that rules would delete now."""

    num_traces: int
    num_users: int
    num_pinned: int
    """Of these traces, those that their users have pinned."""


class SiteRetentionChange(Body):
    """The rules to try or to set; they replace all others."""

    keep_days: int | None = None
    """1 to 3,650; null: no limit for all users."""
    groups: dict[str, int] = msgspec.field(default_factory=dict)
    """Days by the group's name; a group that is left out has no rule of its own."""


def show_site_retention(request: HttpRequest) -> SiteRetention:
    """Show the retention rules of all users and of groups, for operators. 403 `forbidden`."""
    checked_operator(request, PERMISSION, _REFUSAL)
    return _shown()


def preview_site_retention(request: HttpRequest, body: SiteRetentionChange) -> RetentionPreview:
    """Count the traces that such rules would delete now, for operators. 403 `forbidden`."""
    checked_operator(request, PERMISSION, _REFUSAL)
    due = count_due(_rules(body), timezone.now())
    return RetentionPreview(due.num_traces, due.num_users, due.num_pinned)


def change_site_retention(request: HttpRequest, body: SiteRetentionChange) -> SiteRetention:
    """Set the retention rules of all users and of groups, for operators. 403 `forbidden`; 409 `outdated`."""
    checked_operator(request, PERMISSION, _REFUSAL)
    try:
        save_rules(_rules(body))
    except Outdated:
        message = "Another operator has saved retention rules meanwhile. Reload the page, then change them again."
        raise ApiError(409, "outdated", message) from None
    return _shown()


def _shown() -> SiteRetention:
    rules = load_rules()
    groups = [
        GroupRule(group.name, group.user_set.count(), rules.group_days.get(group.pk))
        for group in Group.objects.order_by("name")
    ]
    return SiteRetention(rules.days, groups, Trace.objects.count())


def _rules(body: SiteRetentionChange) -> SiteRules:
    """The rules that the body names. Raises ApiError."""
    ids = dict(Group.objects.values_list("name", "pk"))
    if unknown := sorted(body.groups.keys() - ids.keys()):
        raise ApiError(400, "invalid", f"There is no group {unknown[0]!r}. Reload the page.", "groups")
    days = None if body.keep_days is None else checked_days(body.keep_days)
    return SiteRules(days, {ids[name]: checked_days(each, "groups") for name, each in body.groups.items()})
