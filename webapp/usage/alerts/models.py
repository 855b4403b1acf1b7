"""Rules of alerts, and the log of their deliveries."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class AlertRule(models.Model):
    """Findings of these kinds, from a severity on, are sent to one address."""

    name = models.CharField(max_length=80, unique=True)
    kinds = models.JSONField(default=list)
    """Kinds of findings; empty: all."""
    least_severity = models.CharField(max_length=8)
    channel = models.CharField(max_length=8, choices=[("email", "email"), ("webhook", "webhook")])
    address = models.CharField(max_length=500)
    """An e-mail address, or a webhook's URL, which can hold a password."""
    secret = models.CharField(max_length=64, blank=True)
    """Signs the bodies of a webhook. Empty for e-mail."""
    is_enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One alert of one rule: what is sent, and what became of it."""

    rule = models.ForeignKey(AlertRule, on_delete=models.SET_NULL, null=True, related_name="deliveries")
    rule_name = models.CharField(max_length=80)
    """Outlives the rule."""
    finding_key = models.CharField(max_length=300)
    """Empty: a test."""
    title = models.TextField()
    content = models.JSONField()
    """The alert as `webapp.usage.alerts.content` makes it."""
    status = models.CharField(max_length=8, choices=[(each, each) for each in ("waiting", "sent", "failed")])
    num_attempts = models.PositiveSmallIntegerField(default=0)
    answer = models.CharField(max_length=300, blank=True)
    """The receiver's last answer in one line, or the reason why there was none."""
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    """Time of the next attempt. Null: there is none."""
    attempted_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["rule", "finding_key"], name="one_alert_per_finding", condition=~models.Q(finding_key="")
            )
        ]
        indexes: ClassVar = [models.Index(fields=["due_at"]), models.Index(fields=["created_at"])]

    def __str__(self) -> str:
        return f"{self.rule_name}: {self.title}"
