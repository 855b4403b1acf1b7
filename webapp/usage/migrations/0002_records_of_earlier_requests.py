"""Gives each request that settled before a record of its use, as far as its row and its bill tell."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import migrations

KINDS = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


def cost_of(entry: Any) -> dict[str, Any]:
    if entry is None:
        return {}
    if entry.price_version == "unpriced":
        return {"price_version": "unpriced"}
    return {"price_version": entry.price_version, "currency": entry.currency, "cost_nano": entry.total_nano}


def of_request(record: Any, request: Any, entry: Any) -> Any:
    layers = request.safety_layers or {}
    accepted = request.accepted_unix_us
    return record(
        request_id=request.pk,
        user_id=request.user_id,
        surface=request.surface,
        model=request.model,
        accepted_at=datetime.fromtimestamp(accepted / 10**6, UTC) if accepted else request.created_at,
        status=request.status,
        error_code=request.error_code,
        finish_reason=request.finish_reason,
        verdict=request.safety_verdict or "",
        input_verdict=layers.get("input", ""),
        output_verdict=layers.get("output", ""),
        is_cache_known=request.is_cache_known,
        first_token_us=request.first_token_us,
        first_text_us=request.first_text_us,
        per_token_us=(request.between_tokens_us or {}).get("mean"),
        duration_us=request.duration_us,
        **{kind: (request.usage or {}).get(kind, 0) for kind in KINDS},
        **cost_of(entry),
    )


def of_entry(record: Any, entry: Any) -> Any:
    """The request was deleted. Its surface and status are unknown."""
    return record(
        request_id=entry.request_id,
        user_id=entry.user_id,
        surface="",
        model=entry.model,
        accepted_at=entry.posted_at,
        status="",
        **{kind: getattr(entry, kind) for kind in KINDS},
        **cost_of(entry),
    )


def records(apps: Any) -> Iterator[Any]:
    record = apps.get_model("usage", "UsageRecord")
    entries = apps.get_model("billing", "LedgerEntry").objects
    requests = apps.get_model("lifecycle", "Request").objects.exclude(finished_at=None).filter(is_imported=False)
    seen = set()
    for request in requests.defer("input", "output_text").iterator(chunk_size=500):
        seen.add(request.pk)
        yield of_request(record, request, entries.filter(request_id=request.pk).first())
    for entry in entries.iterator(chunk_size=500):
        if entry.request_id not in seen:
            yield of_entry(record, entry)


def write_records(apps: Any, _: Any) -> None:
    apps.get_model("usage", "UsageRecord").objects.bulk_create(records(apps), batch_size=500)


class Migration(migrations.Migration):
    dependencies = [
        ("usage", "0001_initial"),
        ("billing", "0003_ledgerentry_saved_nano"),
        ("lifecycle", "0010_cache_known"),
    ]
    operations = [migrations.RunPython(write_records, migrations.RunPython.noop, elidable=True)]
