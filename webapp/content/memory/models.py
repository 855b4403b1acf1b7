"""A user's memories and their mode. Knows nothing of search and prompts."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.identifiers import new_memory_id

MAX_CHARS = 2000
"""Of one memory: a fact, or a few, and no document."""


class MemorySettings(models.Model):
    """A user's choice, and the version of the user's memories. A user without a row has the defaults."""

    class Mode(models.TextChoices):
        OFF = "off"
        ASK = "ask"
        ON = "on"

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="memory_settings"
    )
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.ASK)
    version = models.PositiveBigIntegerField(default=0)
    """Drawn anew with each change of a memory, so that no process searches vectors of before.

    A count would come again after a transaction that is rolled back, or a backup that is restored.
    """

    class Meta:
        verbose_name_plural = "memory settings"

    def __str__(self) -> str:
        return self.mode


class Memory(models.Model):
    """One text that its user saved."""

    id = models.CharField(primary_key=True, max_length=32, default=new_memory_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories")
    text = models.TextField(max_length=MAX_CHARS)
    message_id = models.CharField(max_length=32, blank=True)
    """The message that it comes from; empty: the user wrote it on the page of memories."""
    is_enabled = models.BooleanField(default=True)
    vector = models.BinaryField()
    """The text's embedding, float32[384] little-endian."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    """Time of the last edit of the text."""
    used_at = models.DateTimeField(null=True)
    """Time of the last request whose prompt had it; null: none yet."""

    class Meta:
        verbose_name_plural = "memories"
        indexes: ClassVar = [models.Index(fields=["user", "-created_at"])]

    def __str__(self) -> str:
        return self.id
