"""One record per request of what it used, and the sums of these records by hour and by day.

Knows nothing of how a request runs. A record outlives its request and trace.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F

SUMMED = (
    "num_requests",
    "num_unpriced",
    "uncached_input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "output",
    "cache_unknown_input",
    "cost_nano",
    "saved_nano",
)
"""Columns that are added up."""
NUM_INPUT = F("uncached_input") + F("cache_read") + F("cache_write_5m") + F("cache_write_1h")
"""All tokens of a request's prompt, as a column of a query."""
DEMO_MODELS = ("demo-small", "demo-large")
"""Models of the demonstration. Sums have no mark, so these names tell demonstration data apart."""


class _Kind(models.Model):
    """The model that was asked, and the surface by which."""

    model = models.CharField(max_length=128)
    surface = models.CharField(max_length=16)

    class Meta:
        abstract = True


class _Ending(models.Model):
    """How a request ended."""

    status = models.CharField(max_length=16)
    """The request's final status, or `refused`: the gateway did not accept it, or its prompt is too long."""
    error_code = models.CharField(max_length=32, blank=True)
    """Cause of a failure or refusal."""
    verdict = models.CharField(max_length=8, blank=True)
    """The worst verdict of the safety checks; empty: none is recorded."""
    currency = models.CharField(max_length=3, blank=True)
    """Empty: nothing was priced."""

    class Meta:
        abstract = True


class _Tokens(models.Model):
    """The five kinds of tokens, which never overlap."""

    uncached_input = models.BigIntegerField(default=0)
    cache_read = models.BigIntegerField(default=0)
    cache_write_5m = models.BigIntegerField(default=0)
    cache_write_1h = models.BigIntegerField(default=0)
    output = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class UsageRecord(_Kind, _Ending, _Tokens):
    """One request's use, written in the transaction that settles it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    key = models.ForeignKey("keys.ApiKey", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    """The key with which the request came; null: it came with a sign-in, or the key was deleted."""
    request_id = models.CharField(max_length=32, unique=True)
    """Kept as text: the record outlives the request."""
    accepted_at = models.DateTimeField()
    """Time of the request's arrival; sums count it in this hour."""
    thinking = models.BigIntegerField(null=True)
    """Part of output that is the model's thinking; null: not recorded, as before this column."""
    is_cache_known = models.BooleanField(null=True)
    """False: a remote back end did not report its cache."""
    price_version = models.CharField(max_length=64, blank=True)
    """`unpriced`: the model had no price. Empty: there is no bill, and no token counts."""
    is_batch = models.BooleanField(default=False)
    """It answers a line of a batch, at a lower price. The sums do not tell these apart."""
    cost_nano = models.BigIntegerField(null=True)
    saved_nano = models.BigIntegerField(null=True)
    """Cost of the same tokens without a cache, minus the cost. Writing to the cache may cost more than it saves."""
    queue_us = models.BigIntegerField(null=True)
    """Time from the queue to a worker's engine."""
    first_token_us = models.BigIntegerField(null=True)
    first_text_us = models.BigIntegerField(null=True)
    per_token_us = models.BigIntegerField(null=True)
    """Time per output token: the mean time from each token to the next."""
    duration_us = models.BigIntegerField(null=True)
    finish_reason = models.CharField(max_length=16, blank=True)
    input_verdict = models.CharField(max_length=8, blank=True)
    output_verdict = models.CharField(max_length=8, blank=True)
    worker = models.CharField(max_length=64, blank=True)
    """The last worker that began it; empty: none began."""
    num_attempts = models.PositiveIntegerField(default=0)
    """Workers' engines that began it."""
    is_demo = models.BooleanField(default=False)
    """Made by `manage.py seed_demo`."""

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["accepted_at"]),
            models.Index(fields=["user", "accepted_at"]),
            models.Index(fields=["key", "accepted_at"], condition=models.Q(key__isnull=False), name="usage_by_key"),
        ]

    def __str__(self) -> str:
        return self.request_id


class _Sums(_Tokens):
    """Sums of the records that were accepted in an hour or a day of UTC."""

    span = models.CharField(max_length=4, choices=[("hour", "hour"), ("day", "day")])
    start = models.DateTimeField()
    num_requests = models.BigIntegerField(default=0)
    num_unpriced = models.BigIntegerField(default=0)
    """Requests that used tokens without a price."""
    cache_unknown_input = models.BigIntegerField(default=0)
    """Part of uncached_input for which the use of a cache is unknown."""
    cost_nano = models.BigIntegerField(default=0)
    saved_nano = models.BigIntegerField(default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.span} {self.start:%Y-%m-%d %H:%M}"


class UsageSum(_Sums, _Kind, _Ending):
    """Requests of all users that agree in these columns."""

    GROUPED: ClassVar = ("model", "surface", "status", "error_code", "verdict", "currency")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["span", "start", "model", "surface", "status", "error_code", "verdict", "currency"],
                name="one_usage_sum",
            )
        ]


class UserSum(_Sums):
    """Requests of one user that agree in these columns. Few rows per user, so that a year is read at once."""

    GROUPED: ClassVar = ("user_id", "status", "currency")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=16)
    currency = models.CharField(max_length=3, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["span", "start", "user", "status", "currency"], name="one_user_sum")
        ]


class SpeedSketch(models.Model):
    """How long requests took that were accepted in an hour or a day of UTC: a mergeable sketch of each time."""

    span = models.CharField(max_length=4, choices=[("hour", "hour"), ("day", "day")])
    start = models.DateTimeField()
    model = models.CharField(max_length=128)
    surface = models.CharField(max_length=16)
    sketch = models.BinaryField()
    """See `webapp.usage.sketch`."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["span", "start", "model", "surface"], name="one_speed_sketch")
        ]

    def __str__(self) -> str:
        return f"{self.span} {self.start:%Y-%m-%d %H:%M} {self.model}"
