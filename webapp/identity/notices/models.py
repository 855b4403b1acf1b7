"""Notices that an operator shows to all people who use the site, also before they sign in. Knows nothing of pages."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import QuerySet


class Notice(models.Model):
    """A short plain text, shown from one moment to another."""

    class Severity(models.TextChoices):
        INFO = "info"
        WARNING = "warning"
        URGENT = "urgent"

    text = models.CharField(max_length=300)
    severity = models.CharField(max_length=8, choices=Severity.choices, default=Severity.INFO)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["ends_at"])]

    def __str__(self) -> str:
        return self.text


def shown_at(now: datetime) -> QuerySet[Notice]:
    """Notices of this moment, the newest first."""
    return Notice.objects.filter(starts_at__lte=now, ends_at__gt=now).order_by("-starts_at", "-pk")
