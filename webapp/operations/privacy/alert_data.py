"""Alerts that name a user in their text, or go to the user's address. No foreign key leads to them.

Knows nothing of what is found, and of how alerts are sent.
"""

from __future__ import annotations

from auditlog.context import disable_auditlog
from django.contrib.auth.models import User

from webapp.operations.privacy.audit_data import forget_names_in
from webapp.operations.privacy.texts import pattern_of, without
from webapp.usage.alerts.models import AlertRule, Delivery

_AT_ONCE = 100
_TEXTS = ("rule_name", "title", "content", "answer")


def forget_in_alerts(user: User, new_name: str) -> dict[str, int]:
    """Replace the account's name and address in all alerts; delete the rules that send to it. Return what was deleted.

    First and last names stand in no alert, and a name such as Mark could be another word there.
    """
    deleted = _delete_rules(user, new_name) if user.email else {}
    pattern = pattern_of([name for name in (user.username, user.email) if name])
    for delivery in Delivery.objects.order_by("pk").iterator(_AT_ONCE):
        before = {name: getattr(delivery, name) for name in _TEXTS}
        after = {name: without(value, pattern, new_name) for name, value in before.items()}
        if after != before:
            Delivery.objects.filter(pk=delivery.pk).update(**after)
    return deleted


def _delete_rules(user: User, new_name: str) -> dict[str, int]:
    rules = AlertRule.objects.filter(channel="email", address__iexact=user.email)
    # The audit log would tell every value of each row.
    with disable_auditlog():
        forget_names_in(AlertRule, rules.values_list("pk", flat=True), user, new_name)
        return rules.delete()[1]
