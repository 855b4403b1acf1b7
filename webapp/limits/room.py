"""A user's room for requests under the rates: how many fit, and what they take. Call it under the user's lock.

The lock makes it exact: no other transaction of the user reads or writes in between. The state is in the database, so
it needs no Redis, and a transaction that fails takes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Sum
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.protocol.events import Limit
from webapp.billing.bill import KINDS
from webapp.limits.effective import Effective
from webapp.limits.models import Meter
from webapp.limits.rate import Bucket
from webapp.limits.refusal import day_used_up, forms_too_complex, sending_stopped, too_fast
from webapp.usage.models import UsageRecord, UserSum

_S = 1_000_000
MAX_TOO_COMPLEX = 10
"""Answers of a user that may fail in the time below as their form was too complex. Such answers cost nothing."""
TOO_COMPLEX_TIME = timedelta(minutes=10)


@dataclass(frozen=True)
class Room:
    """The state of a user's rates at one moment."""

    effective: Effective
    bucket: Bucket | None
    """None: requests have no rate."""
    tokens_today: int | None
    """Tokens of the requests that ended today in UTC; null: tokens have no limit."""
    forms_wait_s: int = 0
    """Time until the user may send again after answers whose form was too complex."""

    def check(self, num_new: int) -> None:
        """Raises Refused unless so many requests fit."""
        if self.effective.stop_reason is not None:
            raise sending_stopped(self.effective.stop_reason)
        limit = self.effective.tokens_per_day
        if limit is not None and self.tokens_today is not None and self.tokens_today >= limit:
            raise day_used_up(limit, self.tokens_today, _s_to_midnight())
        if self.forms_wait_s:
            raise forms_too_complex(MAX_TOO_COMPLEX, self.forms_wait_s)
        if self.bucket is not None and num_new > self.bucket.remaining:
            wait_us = self.bucket.wait_us(min(num_new, self.bucket.per_minute))
            raise too_fast(self.bucket.per_minute, num_new, -(-wait_us // _S))

    def num_free(self) -> int | None:
        """Requests that fit; None: any number does."""
        limit = self.effective.tokens_per_day
        is_used_up = limit is not None and (self.tokens_today or 0) >= limit
        if self.effective.stop_reason is not None or is_used_up or self.forms_wait_s:
            return 0
        return None if self.bucket is None else self.bucket.remaining

    def limits(self, num_before: int) -> list[Limit]:
        """The state of each rate for a request that begins after so many of the same send."""
        found = []
        if self.bucket is not None:
            taken = self.bucket.after(num_before) if num_before else self.bucket
            found.append(_rate_limit(taken))
        if self.effective.tokens_per_day is not None and self.tokens_today is not None:
            found.append(_day_limit(self.effective.tokens_per_day, self.tokens_today))
        return found


def room_of(user_id: int, effective: Effective) -> Room:
    """Read the state of the user's rates."""
    bucket = None
    if effective.requests_per_minute is not None:
        meter = Meter.objects.filter(user_id=user_id).first() or Meter()
        before = Bucket(meter.per_minute, meter.full_at_unix_us, unix_us())
        bucket = before.at_rate(effective.requests_per_minute)
    today = None if effective.tokens_per_day is None else _tokens_today(user_id)
    return Room(effective, bucket, today, _forms_wait_s(user_id))


def take(user_id: int, room: Room, num_new: int) -> None:
    """Take so many requests from the user's bucket."""
    if room.bucket is not None and num_new:
        after = room.bucket.after(num_new)
        values = {"full_at_unix_us": after.full_at, "per_minute": after.per_minute}
        Meter.objects.update_or_create(user_id=user_id, defaults=values)


def _forms_wait_s(user_id: int) -> int:
    """Return the time until fewer than MAX_TOO_COMPLEX such answers are recent enough to count."""
    now = timezone.now()
    failed = UsageRecord.objects.filter(user_id=user_id, error_code="grammar_too_complex", is_demo=False)
    recent = failed.filter(accepted_at__gt=now - TOO_COMPLEX_TIME).order_by("-accepted_at")
    last = recent.values_list("accepted_at", flat=True)[MAX_TOO_COMPLEX - 1 : MAX_TOO_COMPLEX].first()
    return 0 if last is None else int((last + TOO_COMPLEX_TIME - now).total_seconds()) + 1


def _tokens_today(user_id: int) -> int:
    sums = UserSum.objects.filter(span="day", start=_midnight(), user_id=user_id)
    found = sums.aggregate(**{kind: Sum(kind, default=0) for kind in KINDS})
    return sum(found.values())


def _midnight() -> datetime:
    """The beginning of today in UTC."""
    return timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _s_to_midnight() -> int:
    return int((_midnight() + timedelta(days=1) - timezone.now()).total_seconds()) + 1


def _rate_limit(bucket: Bucket) -> Limit:
    return Limit(
        name="requests",
        limit=bucket.per_minute,
        remaining=bucket.remaining,
        reset_unix_us=max(bucket.full_at, bucket.now),
        num_taken=1,
        refill_per_s=_S / bucket.interval_us,
    )


def _day_limit(limit: int, used: int) -> Limit:
    """Nothing is taken yet: the tokens count when the request ends."""
    end = _midnight() + timedelta(days=1)
    return Limit(
        name="daily_tokens",
        limit=limit,
        remaining=max(0, limit - used),
        reset_unix_us=int(end.timestamp()) * _S,
        num_taken=0,
        refill_per_s=0.0,
    )
