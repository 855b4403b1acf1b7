"""Prices, the names of models, and the append-only ledger."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models


class Price(models.Model):
    """The price of one token of one kind, from a day on."""

    model = models.CharField(max_length=128)
    kind = models.CharField(
        max_length=20,
        choices=[
            (k, k)
            for k in (
                "uncached_input",
                "cache_read",
                "cache_write_5m",
                "cache_write_1h",
                "output",
            )
        ],
    )
    unit_price_nano = models.BigIntegerField(help_text="Price of one token in billionths of the currency unit.")
    currency = models.CharField(max_length=3, default="USD")
    effective_from = models.DateField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["model", "kind", "effective_from"], name="one_price_per_day"),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.kind} from {self.effective_from}"


class ModelName(models.Model):
    """A model's name for users. The model's id stays its name for programs."""

    model = models.CharField(max_length=128, unique=True)
    name = models.CharField(max_length=60)
    compared = models.TextField(unique=True)
    """The name as names are compared: see `webapp.models.billing.naming.compared`."""

    def __str__(self) -> str:
        return self.model


class LedgerIsAppendOnly(Exception):
    """A posted entry is never changed or deleted."""


class _Entries(models.QuerySet["LedgerEntry"]):
    """Entries that refuse updates and deletes in bulk, as each entry does."""

    def update(self, **_kwargs: Any) -> int:
        raise LedgerIsAppendOnly("posted entries stay as they are; post a correction instead")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise LedgerIsAppendOnly("posted entries stay")


class LedgerEntry(models.Model):
    """One request's bill. The request id is kept as text: the entry outlives the request."""

    request_id = models.CharField(max_length=32, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="ledger_entries")
    model = models.CharField(max_length=128)
    posted_at = models.DateTimeField()
    uncached_input = models.PositiveIntegerField()
    cache_read = models.PositiveIntegerField()
    cache_write_5m = models.PositiveIntegerField()
    cache_write_1h = models.PositiveIntegerField()
    output = models.PositiveIntegerField()
    total_nano = models.BigIntegerField()
    saved_nano = models.BigIntegerField(null=True)
    """Cost of the same tokens without a cache, minus the total; null: unpriced, or posted before this was kept."""
    currency = models.CharField(max_length=3)
    price_version = models.CharField(max_length=64)
    lines = models.JSONField()

    objects = _Entries.as_manager()

    class Meta:
        verbose_name_plural = "ledger entries"
        indexes: ClassVar = [models.Index(fields=["posted_at"])]

    def __str__(self) -> str:
        return self.request_id

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise LedgerIsAppendOnly(f"{self.request_id} is posted; post a correction instead")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise LedgerIsAppendOnly(f"{self.request_id} is posted and stays")
