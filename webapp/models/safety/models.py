"""The saved safety policies. The newest is in force; without one the file's policy is."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class PolicyVersion(models.Model):
    """A policy with its author. It is never changed: going back saves a new version."""

    policy = models.JSONField()
    """Policy as JSON."""
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    saved_at = models.DateTimeField(auto_now_add=True)
    note = models.TextField(blank=True)
    """The author's reason."""

    class Meta:
        verbose_name = "safety policy"
        default_permissions: ClassVar = ("change",)

    def __str__(self) -> str:
        return f"version {self.pk}"
