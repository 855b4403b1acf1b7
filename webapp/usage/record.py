"""Writes the record of one request's use, with its place in the sums. Knows nothing of bills and logs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from django.db import transaction
from django.utils import timezone

from inference.protocol.request import Usage
from webapp.identifiers import new_request_id
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome
from webapp.usage.models import UsageRecord
from webapp.usage.roll_up import add

REFUSED = "refused"
"""Status of a request that was not taken up: the gateway did not accept it, or its prompt does not fit the model.

A request that was billed was taken up."""
_TOO_LONG = "prompt_too_long"


@dataclass(frozen=True)
class Cost:
    """A bill's figures. Amounts are billionths of the currency unit."""

    total_nano: int | None
    """None: unpriced."""
    saved_nano: int | None
    currency: str
    price_version: str


NO_COST = Cost(None, None, "", "")
"""There is no bill: no token was used, or the answer failed. No token counts then."""


def record_use(request: Request, outcome: Outcome, cost: Cost) -> None:
    """Write the record of a request that settles, in the transaction that settles it."""
    record = use_of(request, outcome, cost)
    record.save(force_insert=True)
    add(record)


def use_of(request: Request, outcome: Outcome, cost: Cost) -> UsageRecord:
    """Return the record of a settled request, not saved yet."""
    return UsageRecord(
        request_id=request.pk,
        user_id=request.user_id,
        key_id=request.key_id,
        surface=request.surface,
        model=request.model,
        accepted_at=_accepted_at(request),
        status=REFUSED if request.error_code == _TOO_LONG and not cost.price_version else request.status,
        error_code=request.error_code,
        finish_reason=request.finish_reason,
        verdict=outcome.safety_verdict or "",
        input_verdict=outcome.safety_layers.get("input", ""),
        output_verdict=outcome.safety_layers.get("output", ""),
        thinking=outcome.billable_thinking if cost.price_version else 0,
        is_cache_known=outcome.is_cache_known,
        price_version=cost.price_version,
        is_batch=request.batch_id is not None,
        currency=cost.currency,
        cost_nano=cost.total_nano,
        saved_nano=None if outcome.is_cache_known is False else cost.saved_nano,
        queue_us=outcome.queue_us,
        first_token_us=outcome.first_token_us,
        first_text_us=outcome.first_text_us,
        per_token_us=(outcome.between_tokens_us or {}).get("mean"),
        duration_us=outcome.duration_us,
        worker=outcome.worker or "",
        num_attempts=outcome.num_attempts,
        **_tokens(outcome.billable if cost.price_version else Usage()),
    )


def record_refusal(user_id: int, surface: str, model: str, code: str, key_id: int | None = None) -> None:
    """Write the record of a request that the gateway refuses."""
    record = UsageRecord(
        request_id=new_request_id(),
        user_id=user_id,
        key_id=key_id,
        surface=surface,
        model=model,
        accepted_at=timezone.now(),
        status=REFUSED,
        error_code=code,
        thinking=0,
    )
    with transaction.atomic():
        record.save(force_insert=True)
        add(record)


def _accepted_at(request: Request) -> datetime:
    return datetime.fromtimestamp(request.accepted_unix_us / 10**6, UTC)


def _tokens(usage: Usage) -> dict[str, int]:
    counts: dict[str, int] = msgspec.to_builtins(usage)
    return counts
