"""The operator's limits on how long traces are kept. Of several rules that concern a user the shortest holds.

The limits take pinned traces too: a promise that a user's pin could break is none. Bills and usage stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet

from webapp.requests.models import Request
from webapp.traces.models import SiteRetentionRule


@dataclass(frozen=True)
class SiteRules:
    """The days for all users and for those of groups."""

    days: int | None = None
    """None: no limit for all users."""
    group_days: Mapping[int, int] = field(default_factory=dict)
    """By the group's id."""

    def of_user(self, user_id: int) -> int | None:
        """The shortest limit that concerns the user; None: there is none."""
        groups = User.groups.through.objects.filter(user_id=user_id).values_list("group_id", flat=True)
        found = [self.group_days[each] for each in groups if each in self.group_days]
        return min([*found, *([] if self.days is None else [self.days])], default=None)

    def due(self, now: datetime) -> QuerySet[Request]:
        """The traces that these rules delete now, the oldest first."""
        met = Q(pk__in=[])
        if self.days is not None:
            met |= Q(finished_at__lt=now - timedelta(days=self.days))
        for group_id, days in self.group_days.items():
            members = User.groups.through.objects.filter(group_id=group_id).values("user_id")
            met |= Q(finished_at__lt=now - timedelta(days=days), user_id__in=members)
        return Request.objects.filter(met, trace__isnull=False).order_by("finished_at")


@dataclass(frozen=True)
class Due:
    """The traces that rules would delete now."""

    num_traces: int
    num_users: int
    num_pinned: int


def count_due(rules: SiteRules, now: datetime) -> Due:
    pinned = Count("pk", filter=Q(trace__entry__is_pinned=True))
    found = rules.due(now).order_by().aggregate(traces=Count("pk"), users=Count("user", distinct=True), pinned=pinned)
    return Due(found["traces"], found["users"], found["pinned"])


def load_rules() -> SiteRules:
    found = list(SiteRetentionRule.objects.values_list("group_id", "keep_days"))
    for_all = next((days for group, days in found if group is None), None)
    return SiteRules(for_all, {group: days for group, days in found if group is not None})


class Outdated(Exception):
    """Another operator has saved rules, or deleted a group, meanwhile."""


def save_rules(rules: SiteRules) -> None:
    """Put these rules in the place of the others. Raises Outdated."""
    try:
        _replace(rules)
    except IntegrityError:
        raise Outdated from None


def _replace(rules: SiteRules) -> None:
    """Row by row, so that the audit log tells each change."""
    wanted: dict[int | None, int] = {group: days for group, days in rules.group_days.items()}  # noqa: C416
    if rules.days is not None:
        wanted[None] = rules.days
    with transaction.atomic():
        # All savers lock and insert in one order, so that none waits for another in a circle.
        for rule in SiteRetentionRule.objects.select_for_update().order_by("pk"):
            days = wanted.pop(rule.group_id, None)
            if days is None:
                rule.delete()
            elif days != rule.keep_days:
                rule.keep_days = days
                rule.save()
        for group_id, days in sorted(wanted.items(), key=lambda each: each[0] or 0):
            SiteRetentionRule.objects.create(group_id=group_id, keep_days=days)
