"""The durable record of one request. The events themselves are in the log and the saved trace."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.identifiers import new_request_id
from webapp.requests.input import InputField, NoInput, RequestInput

MAX_IN_FLIGHT = 8
"""Requests that one user may have open at once."""
MAX_STEPPED = 2
"""Of them those in step mode: each keeps a thread of its worker while somebody thinks."""

IMPORTED = "import:"
"""How the source of a message begins that was said elsewhere."""

FILTERED = (
    "finished_at",
    "status",
    "finish_reason",
    "safety_verdict",
    "surface",
    "model",
    "first_token_us",
    "first_text_us",
    "duration_us",
    "cost_nano",
    "currency",
    "num_input_tokens",
    "num_output_tokens",
    "is_imported",
)
"""Fields of a request by which the trace library filters and sorts."""


class Request(models.Model):
    """One request and, once settled, its outcome."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        WITHHELD = "withheld"
        """The output check let no more of the answer out."""
        BLOCKED = "blocked"
        """The safety policy refused the message, or what the answer was to begin with."""
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=32, default=new_request_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="requests")
    surface = models.CharField(max_length=16)
    model = models.CharField(max_length=128)
    title = models.CharField(max_length=200)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    input: models.Field[RequestInput, RequestInput] = InputField(struct=RequestInput, default=NoInput)
    forked_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="forks")
    fork_position = models.PositiveIntegerField(null=True)
    """Where it left that one's answer; not null: this is a fork, also when the other is gone."""
    num_kept_tokens = models.PositiveIntegerField(null=True)
    """With how many tokens its answer began, those chosen or written included."""
    params = models.JSONField(default=dict)
    accepted_unix_us = models.BigIntegerField(default=0)
    output_text = models.TextField(blank=True)
    error_stage = models.CharField(max_length=32, blank=True)
    error_code = models.CharField(max_length=32, blank=True)
    error_message = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=16, blank=True)
    usage = models.JSONField(null=True)
    num_input_tokens = models.BigIntegerField(null=True)
    """Of the usage, all kinds of input together."""
    num_output_tokens = models.BigIntegerField(null=True)
    context = models.JSONField(null=True)
    """What its prompt was made of, in tokens: {"window", "num_prompt_tokens", "kinds": {"history": 80}, "num_dropped",
    "num_dropped_tokens"}; null: it had no prompt, or that was not recorded."""
    cost_nano = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3, blank=True)
    first_token_us = models.BigIntegerField(null=True)
    """When the first token was sampled, counted as the first text; null also where that was not recorded."""
    between_tokens_us = models.JSONField(null=True)
    """{"mean", "median", "p95", "worst"} of the times from each token to the next; the mean is the time per output
    token. null: there are fewer than two, or that was not recorded."""
    first_text_us = models.BigIntegerField(null=True)
    """When the first text was released, µs since acceptance, without the time a person took to choose tokens."""
    duration_us = models.BigIntegerField(null=True)
    num_events = models.PositiveIntegerField(default=0)
    safety_verdict = models.CharField(max_length=8, null=True)
    """The worst of all checks; null: none is recorded."""
    safety_layers = models.JSONField(null=True)
    """The worst verdict of each layer that was checked: {"input": "allow"}."""
    is_imported = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    """When it was made, also where that was elsewhere and it was imported later."""
    finished_at = models.DateTimeField(null=True)
    """When it was settled here; of an imported one, when it was imported."""

    class Meta:
        # The library reads its list in this order and finds in the index alone what a filter asks of a row: the rows
        # themselves are long, with all that the model was given.
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at", "-id", *FILTERED], name="library"),
            models.Index(fields=["user", "accepted_unix_us"], condition=models.Q(is_imported=True), name="imported"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_settled(self) -> bool:
        return self.finished_at is not None

    @property
    def principal(self) -> str:
        """Whose it is, as its events tell; also the salt that keeps users' prefix caches apart."""
        return f"user:{self.user_id}"

    def summary(self) -> dict[str, Any]:
        """RequestSummary of the native API; chat adds conversation_id and message_id."""
        return {
            "id": self.id,
            "status": self.status,
            "surface": self.surface,
            "model": self.model,
            "title": self.title,
            "created_at": self.created_at.isoformat(),
            "usage": self.usage,
            "cost_nano": self.cost_nano,
            "currency": self.currency,
            "finish_reason": self.finish_reason or None,
            "error": self.error(),
            "num_events": self.num_events,
            "duration_us": self.duration_us,
            "first_token_us": self.first_token_us,
            "first_text_us": self.first_text_us,
            "between_tokens_us": self.between_tokens_us,
            "safety": {"verdict": self.safety_verdict, "layers": self.safety_layers} if self.safety_verdict else None,
            "is_imported": self.is_imported,
            "imported_at": self.finished_at.isoformat() if self.is_imported and self.finished_at else None,
            **self.fork(),
        }

    def fork(self) -> dict[str, Any]:
        """Where it left another request's answer."""
        names = {"forked_from": "forked_from_id", "fork_position": "fork_position", "num_kept": "num_kept_tokens"}
        return {name: getattr(self, field) for name, field in names.items()}

    def figures(self) -> dict[str, Any]:
        """What the line below an answer needs of a settled request, so that its trace need not be read."""
        names = ("usage", "cost_nano", "currency", "first_text_us")
        figures = {name: getattr(self, name) for name in names}
        return figures | {"finish_reason": self.finish_reason or None, "max_tokens": self.params.get("max_tokens")}

    def error(self) -> dict[str, str] | None:
        if not self.error_code:
            return None
        return {"stage": self.error_stage, "code": self.error_code, "message": self.error_message}
