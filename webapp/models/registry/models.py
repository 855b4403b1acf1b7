"""The row of one model: where its files are, what is offered of it, and how its last check ended."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

MAX_WORKERS = 8
FACTS = (
    "run",
    "check_request_id",
    "checker",
    "check_begun_at",
    "checked_at",
    "first_token_ms",
    "tokens_per_s",
    "text",
)
"""Fields that a check writes."""


class RegisteredModel(models.Model):
    """One model of the registry."""

    class Kind(models.TextChoices):
        GGUF = "gguf"
        SAFETENSORS = "safetensors"
        REMOTE = "remote"

    class State(models.TextChoices):
        CHECKING = "checking"
        """Its workers run. Only the test generation reaches it."""
        FAILED = "failed"
        """The check failed. Its workers are stopped."""
        ENABLED = "enabled"
        DRAINED = "drained"
        """It is offered no more. Its open requests end, and its workers stay."""
        RETIRED = "retired"
        """Its workers are stopped."""

    id = models.CharField(primary_key=True, max_length=128)
    """Its id in the API, in prices and in the names of queues."""
    kind = models.CharField(max_length=16, choices=Kind.choices)
    path = models.CharField(max_length=1000)
    """A GGUF file or a folder. Of a remote model: the same model's, for tokenizer and template."""
    url = models.CharField(max_length=500, blank=True)
    """Address of the remote server."""
    key = models.CharField(max_length=500, blank=True)
    """The remote server's key. Only the model's own workers get it."""
    has_vision = models.BooleanField(default=False)
    """Its remote server takes pictures, as an operator says. No other kind of model does."""
    state = models.CharField(max_length=16, choices=State.choices)
    is_default = models.BooleanField(default=False)
    """New conversations begin with it. It is enabled."""
    is_configured = models.BooleanField(default=False)
    """It is the model of SIGHTGLASS_MODEL, whose workers start with the product."""
    num_workers = models.PositiveSmallIntegerField(default=1)
    run = models.PositiveIntegerField(default=0)
    """Counts up where its workers must start anew: those of an earlier run may have another file, address or key."""
    message = models.TextField(blank=True)
    """Why the last check failed."""
    check_request_id = models.CharField(max_length=32, blank=True)
    """The test generation; empty: it has not begun."""
    checker = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    """The operator who asked for the last check."""
    check_begun_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    """The end of the last check; null: it was never checked."""
    first_token_ms = models.FloatField(null=True)
    tokens_per_s = models.FloatField(null=True)
    text = models.TextField(blank=True)
    """The answer of the last check."""

    class Meta:
        verbose_name = "model"
        default_permissions: ClassVar = ("change",)
        ordering: ClassVar = ["-is_default", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["is_default"], condition=models.Q(is_default=True), name="one_default"),
            models.UniqueConstraint(
                fields=["is_configured"], condition=models.Q(is_configured=True), name="one_configured"
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def has_server(self) -> bool:
        """True: a remote server generates the tokens."""
        return self.kind == self.Kind.REMOTE
