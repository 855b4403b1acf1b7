"""The database row of one request. Its events are in the log and the saved trace."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.identifiers import new_request_id
from webapp.requests.input import InputField, NoInput, RequestInput

MAX_IN_FLIGHT = 8
"""Requests that one user may have open at once."""
MAX_STEPPED = 2
"""Limit of open requests in step mode: each occupies a thread of its worker while a person thinks."""

IMPORTED = "import:"
"""Prefix of an imported message's source."""

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
        """The output check withheld the rest of the answer."""
        BLOCKED = "blocked"
        """The safety policy refused the message, or the answer's given beginning."""
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=32, default=new_request_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="requests")
    key = models.ForeignKey("keys.ApiKey", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    """The key with which the request came; null: it came with a sign-in, or the key was deleted."""
    batch_id = models.CharField(max_length=40, null=True)
    """The batch of which it answers a line: it gives way to other requests and costs less. null: it is in none."""
    agent_of = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="agents", db_index=False)
    """The request that started this one as an agent; null: no request did."""
    surface = models.CharField(max_length=16)
    model = models.CharField(max_length=128)
    title = models.CharField(max_length=200)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    input: models.Field[RequestInput, RequestInput] = InputField(struct=RequestInput, default=NoInput)
    forked_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="forks")
    fork_position = models.PositiveIntegerField(null=True)
    """Position where this fork left the other answer; not null: this is a fork, also when the other is deleted."""
    num_kept_tokens = models.PositiveIntegerField(null=True)
    """Tokens with which the fork's answer began, including chosen or written ones."""
    params = models.JSONField(default=dict)
    accepted_unix_us = models.BigIntegerField(default=0)
    output_text = models.TextField(blank=True)
    error_stage = models.CharField(max_length=32, blank=True)
    error_code = models.CharField(max_length=32, blank=True)
    error_message = models.TextField(blank=True)
    thinking = models.JSONField(null=True)
    """What the model thought before its answers: text, num_tokens, duration_us and cause; null: nothing."""
    rounds = models.JSONField(null=True)
    """The generations before the last, each with its calls of the server's tools: [{"text": "…", "calls": [{"name",
    "arguments", "result", "is_error"}]}]. A round with "is_kept" is of the answer that a fork left, and its text is not
    in `output_text`. null: there was one generation, or it was not recorded."""
    finish_reason = models.CharField(max_length=16, blank=True)
    usage = models.JSONField(null=True)
    is_cache_known = models.BooleanField(null=True)
    """False: the remote back end did not report its cache, and `usage` counts all input as computed. null: no answer
    was generated, or not recorded."""
    num_input_tokens = models.BigIntegerField(null=True)
    """Input tokens of all kinds in `usage`."""
    num_output_tokens = models.BigIntegerField(null=True)
    context = models.JSONField(null=True)
    """The prompt's composition in tokens: {"window", "num_prompt_tokens", "kinds": {"history": 80}, "num_dropped",
    "num_dropped_tokens"}; null: the request had no prompt, or it was not recorded."""
    cost_nano = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3, blank=True)
    first_token_us = models.BigIntegerField(null=True)
    """Time of the first sampled token, counted like first_text_us; null: no token, or not recorded."""
    between_tokens_us = models.JSONField(null=True)
    """{"mean", "median", "p95", "worst"} of the times from each token to the next, in µs. The mean is the time per
    output token. null: there are fewer than two tokens, or they were not recorded."""
    first_text_us = models.BigIntegerField(null=True)
    """Time of the first released text, µs since acceptance, without the time a person took to choose tokens."""
    duration_us = models.BigIntegerField(null=True)
    num_events = models.PositiveIntegerField(default=0)
    safety_verdict = models.CharField(max_length=8, null=True)
    """The worst verdict of all checks; null: none is recorded."""
    safety_layers = models.JSONField(null=True)
    """The worst verdict of each layer that was checked: {"input": "allow"}."""
    is_imported = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    """Time of creation; for an imported request, its creation on the other server."""
    finished_at = models.DateTimeField(null=True)
    """Time of settlement here; for an imported request, the time of import."""

    class Meta:
        # The library reads its list in this order and filters on the index alone. The rows are long: they hold
        # the model's whole input.
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at", "-id", *FILTERED], name="library"),
            models.Index(fields=["user", "accepted_unix_us"], condition=models.Q(is_imported=True), name="imported"),
            models.Index(fields=["model"], condition=models.Q(finished_at=None), name="open_requests"),
            models.Index(fields=["agent_of"], condition=models.Q(agent_of__isnull=False), name="agents_of_requests"),
            models.Index(fields=["key"], condition=models.Q(key__isnull=False), name="requests_by_key"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_settled(self) -> bool:
        return self.finished_at is not None

    @property
    def principal(self) -> str:
        """The request's user, by whom prefix caches are separate and turns are fair, with any key."""
        return f"user:{self.user_id}"

    @property
    def last_text(self) -> str:
        """The text of the last generation."""
        own = (each for each in self.rounds or () if not each.get("is_kept"))
        return self.output_text[sum(len(each["text"]) for each in own) :]

    @property
    def caller(self) -> str:
        """The request's key, or else its user, as its events name them."""
        return self.principal if self.key is None else self.key.principal


class Delivery(models.Model):
    """A call that began work under an idempotency key, so that a repeat begins none; deleted with what it made."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deliveries")
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    """SHA-256 of the whole call."""
    first_id = models.CharField(max_length=32, db_index=True)
    """Id of the first row that the call made: a question, an answer or a set of runs."""
    ids = models.JSONField()
    """Ids of all rows that the call made, such as a question's answers; later answers are not listed."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "key"], name="call_key")]

    def __str__(self) -> str:
        return self.key
