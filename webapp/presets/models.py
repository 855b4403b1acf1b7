"""Named settings. Knows nothing of the conversations they are applied to."""

from __future__ import annotations

from typing import Any, ClassVar

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

    def as_json(self) -> dict[str, Any]:
        """Preset of the native API."""
        return {
            "id": self.pk,
            "name": self.name,
            "params": self.params,
            "system_prompt": self.system_prompt,
            "n": self.n,
        }
