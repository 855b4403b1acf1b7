"""Looks for findings of the last days, and notes an alert for each rule that one meets, once."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User

from webapp.usage.alerts.content import content_of
from webapp.usage.alerts.models import AlertRule, Delivery
from webapp.usage.alerts.site import site_address
from webapp.usage.findings.find import findings
from webapp.usage.findings.finding import SEVERITIES, Finding
from webapp.usage.findings.reading import Records
from webapp.usage.listing import Reader
from webapp.usage.period import Period
from webapp.usage.sums import Filter

_DAYS = 7
_NO_READER = Reader(0)
"""No user has this id: an alert goes to an address."""
_FRESH = timedelta(hours=24)
"""A finding that ended longer ago is no news."""


def check(now: datetime) -> int:
    """Note what is to be sent; an alert that was noted before is not noted again. Returns the number of new ones."""
    rules = list(AlertRule.objects.filter(is_enabled=True))
    if not rules:
        return 0
    found = [finding for finding in _recent(now) if finding.end > now - _FRESH]
    return sum(_note(rule, finding, now) for rule in rules for finding in found if is_met(rule, finding))


def is_met(rule: AlertRule, finding: Finding) -> bool:
    """True if the rule wants to tell of this finding."""
    is_severe = SEVERITIES.index(finding.severity) <= SEVERITIES.index(rule.least_severity)
    return is_severe and (not rule.kinds or finding.kind in rule.kinds) and finding.end > rule.created_at - _FRESH


def _recent(now: datetime) -> list[Finding]:
    last = now.astimezone(ZoneInfo("UTC")).date()
    period = Period(last - timedelta(days=_DAYS - 1), last, ZoneInfo("UTC"))
    names = dict(User.objects.values_list("pk", "username"))
    return findings(period, Filter(), Records(Filter(), names, _NO_READER, is_own=False)).findings


def _note(rule: AlertRule, finding: Finding, now: datetime) -> bool:
    content = content_of(finding, rule.name, site_address())
    _, is_new = Delivery.objects.get_or_create(
        rule=rule,
        finding_key=finding.key[:300],
        defaults={
            "rule_name": rule.name,
            "title": finding.title,
            "content": content,
            "status": "waiting",
            "created_at": now,
            "due_at": now,
        },
    )
    return is_new
