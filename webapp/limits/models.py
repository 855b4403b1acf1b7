"""An operator's rules for a user, a group or the whole site, and each user's place in the minute."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

AMOUNTS = ("max_open", "requests_per_minute", "tokens_per_day")
FLAGS = ("may_share", "may_probe", "may_rerun")


class Rule(models.Model):
    """What one user, the members of one group, or by default all users may do. null: this rule does not say."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="limits_rule"
    )
    group = models.OneToOneField(Group, null=True, on_delete=models.CASCADE, related_name="limits_rule")
    is_site = models.BooleanField(default=False)
    max_open = models.PositiveIntegerField(null=True)
    """Requests that may be open at once."""
    requests_per_minute = models.PositiveIntegerField(null=True)
    tokens_per_day = models.PositiveBigIntegerField(null=True)
    """Tokens of all kinds on one day of UTC."""
    may_share = models.BooleanField(null=True)
    """Links to traces may be made, and those that there are open."""
    may_probe = models.BooleanField(null=True)
    may_rerun = models.BooleanField(null=True)
    is_stopped = models.BooleanField(default=False)
    """No request may be sent."""
    stop_reason = models.TextField(blank=True)
    """Shown to the user."""

    class Meta:
        permissions: ClassVar = [("stop_user", "Can stop a user's requests and sending")]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="a_rule_has_one_subject",
                condition=models.Q(user__isnull=False, group=None, is_site=False)
                | models.Q(user=None, group__isnull=False, is_site=False)
                | models.Q(user=None, group=None, is_site=True),
            ),
            models.UniqueConstraint(name="one_rule_of_the_site", fields=["is_site"], condition=models.Q(is_site=True)),
        ]

    def __str__(self) -> str:
        if self.user is not None:
            return self.user.get_username()
        return self.group.name if self.group is not None else "the site"


class Meter(models.Model):
    """A user's use of the minute. Written under the user's lock only."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+")
    full_at_unix_us = models.BigIntegerField(default=0)
    """Moment at which the whole minute's requests are there again. See `webapp.limits.rate`."""
    per_minute = models.PositiveIntegerField(default=1)
    """The rate by which that moment was computed."""

    def __str__(self) -> str:
        return f"{self.user_id}"
