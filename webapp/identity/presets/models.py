"""Named settings. Knows nothing of the conversations they are applied to."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class Preset(models.Model):
    """A user's named settings for answers."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="presets")
    name = models.CharField(max_length=80)
    params = models.JSONField()
    """SamplingParams at the time of saving; a parameter added later is missing."""
    system_prompt = models.TextField(blank=True)
    n = models.PositiveSmallIntegerField(default=1)
    """Number of answers to each message."""

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="a_preset_once")]

    def __str__(self) -> str:
        return self.name
