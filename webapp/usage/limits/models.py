"""An operator's rules for a user, a group, the whole site or shared use, and the reservations of budgets."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request

AMOUNTS = (
    "max_open",
    "requests_per_minute",
    "input_tokens_per_minute",
    "output_tokens_per_minute",
    "tokens_per_day",
    "daily_budget_nano",
    "monthly_budget_nano",
)
FLAGS = ("may_share", "may_probe", "may_rerun")


class _Amounts(models.Model):
    """Amounts that a rule may name. null: this rule does not say."""

    max_open = models.PositiveIntegerField(null=True)
    """Requests that may be open at once."""
    requests_per_minute = models.PositiveIntegerField(null=True)
    input_tokens_per_minute = models.PositiveIntegerField(null=True)
    """Tokens of prompts; those that the prefix cache holds do not count."""
    output_tokens_per_minute = models.PositiveIntegerField(null=True)
    tokens_per_day = models.PositiveBigIntegerField(null=True)
    """Tokens of all kinds on one day of UTC."""
    daily_budget_nano = models.PositiveBigIntegerField(null=True)
    """Billionths of a unit of each currency, on one day of UTC."""
    monthly_budget_nano = models.PositiveBigIntegerField(null=True)
    """The same in one month of UTC."""

    class Meta:
        abstract = True


class Rule(_Amounts):
    """What one user, the members of one group, or by default all users may do. null: this rule does not say."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="limits_rule"
    )
    group = models.OneToOneField(Group, null=True, on_delete=models.CASCADE, related_name="limits_rule")
    is_site = models.BooleanField(default=False)
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


class SharedRule(_Amounts):
    """Amounts that requests take from together: all of a key, of a model, of a group's members, or of the site.

    With a model and a user it bounds that user's requests to the model. Owners of a group have a rule beside the
    operators' own; both hold.
    """

    subject = models.CharField(max_length=160, unique=True)
    """`model:<id>`, `model:<id> user:<id>`, `group:<id>`, `group:<id> owners`, `key:<prefix>` or `site`.

    Its buckets have this name.
    """
    model = models.CharField(max_length=128, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, null=True, on_delete=models.CASCADE, related_name="+")
    is_of_owners = models.BooleanField(default=False)
    """The group's owners set it, not the operators."""
    key = models.OneToOneField(ApiKey, null=True, on_delete=models.CASCADE, related_name="limits_rule")

    def __str__(self) -> str:
        return self.subject


class _Reserved(models.Model):
    """A part of budgets, with the prices by which the bill is made."""

    nano = models.PositiveBigIntegerField()
    currency = models.CharField(max_length=3, blank=True)
    """Empty: the model has no prices."""
    price_version = models.CharField(max_length=64, blank=True)
    """Of the prices by which the bill is made; empty: the request began before this was kept."""
    unit_nano = models.JSONField(default=dict)
    """The price of each kind of token; empty: the model has none."""

    class Meta:
        abstract = True


class Reservation(_Reserved):
    """The most that an open request may cost. It counts until its request is settled, and goes with it."""

    request = models.OneToOneField(Request, primary_key=True, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return self.request_id


class Hold(_Reserved):
    """The cost of work that a process computes at once: its request has no row before its end."""

    request_id = models.CharField(primary_key=True, max_length=32)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL, related_name="+")
    model = models.CharField(max_length=128)
    ends_at = models.DateTimeField()
    """It counts no longer: the process that held it has died."""

    def __str__(self) -> str:
        return self.request_id
