"""Lists the requests behind the figures of a period, from their records. Knows nothing of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import F, QuerySet
from django.db.models.functions import ExtractHour, ExtractIsoWeekDay

from webapp.ground.gateway.structs import Result
from webapp.requests.models import Request
from webapp.usage.models import NUM_INPUT, UsageRecord
from webapp.usage.period import Period
from webapp.usage.report import Amount
from webapp.usage.sums import Filter

Order = Literal["newest", "cost", "first_token", "input", "output"]
MAX_LISTED = 50


@dataclass(frozen=True)
class Slot:
    """A time of the week in the period's zone."""

    weekday: int | None = None
    """0: Monday. None: every day."""
    hour: int | None = None
    """0 to 23. None: every hour."""


class UsedRequest(Result):
    """What one request used."""

    request_id: str
    accepted_at: datetime
    user: str
    model: str
    surface: str
    status: str
    error_code: str
    verdict: str
    uncached_input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    cost: Amount | None
    """null: unpriced, or no token was used."""
    queue_us: int | None
    first_token_us: int | None
    per_token_us: int | None
    is_own: bool
    """It is the reader's own request, and is there."""
    has_trace: bool
    """False: no trace of it is kept. It was deleted, or there was none, as of most demonstration data."""
    is_readable: bool
    """The reader may read it: as the owner, or as an operator who may read any trace, which is then recorded."""


class UsedRequestList(Result):
    """The first requests of a period in the asked order."""

    requests: list[UsedRequest]
    num_requests: int
    """Requests of the period, also those that are not listed."""


@dataclass(frozen=True)
class Reader:
    """The user who reads the list."""

    user_id: int
    reads_all: bool = False
    """The user may read the traces of other users."""
    reads_superusers: bool = False
    """Also those of superusers."""

    def may_read(self, is_superusers: bool) -> bool:
        """True if the reader may read another user's trace. is_superusers: that user is a superuser."""
        return self.reads_all and (self.reads_superusers or not is_superusers)


@dataclass(frozen=True)
class _Reading:
    """What of a request the reader may read."""

    is_own: bool
    has_trace: bool
    is_readable: bool


def listing(
    period: Period, chosen: Filter, slot: Slot, order: Order, names: Mapping[int, str], reader: Reader
) -> UsedRequestList:
    """Return the first requests in this order."""
    records = UsageRecord.objects.filter(
        accepted_at__gte=period.start, accepted_at__lt=period.end, **chosen.conditions()
    )
    if slot.weekday is not None:
        # ISO counts from Monday as 1.
        local = ExtractIsoWeekDay("accepted_at", tzinfo=period.zone)
        records = records.annotate(weekday=local).filter(weekday=slot.weekday + 1)
    if slot.hour is not None:
        records = records.annotate(hour=ExtractHour("accepted_at", tzinfo=period.zone)).filter(hour=slot.hour)
    shown = list(_ordered(records, order)[:MAX_LISTED])
    return UsedRequestList(requests=used_requests(shown, names, reader), num_requests=records.count())


def used_requests(records: Iterable[UsageRecord], names: Mapping[int, str], reader: Reader) -> list[UsedRequest]:
    """Return what the reader may know of these requests."""
    found = list(records)
    ids = [record.request_id for record in found]
    own = set(Request.objects.filter(pk__in=ids, user_id=reader.user_id).values_list("pk", flat=True))
    traced = dict(Request.objects.filter(pk__in=ids, trace__isnull=False).values_list("pk", "user__is_superuser"))
    readable = own | {pk for pk, is_superusers in traced.items() if reader.may_read(is_superusers)}
    return [
        _used(each, names, _Reading(each.request_id in own, each.request_id in traced, each.request_id in readable))
        for each in found
    ]


def _ordered(records: QuerySet[UsageRecord], order: Order) -> QuerySet[UsageRecord]:
    if order == "input":
        # Requests are compared by all of their input, also that from the cache.
        records = records.annotate(num_input=NUM_INPUT)
    columns = {"cost": "cost_nano", "first_token": "first_token_us", "input": "num_input", "output": "output"}
    first = [F(columns[order]).desc(nulls_last=True)] if order in columns else []
    return records.order_by(*first, "-accepted_at", "-pk")


def _used(record: UsageRecord, names: Mapping[int, str], reading: _Reading) -> UsedRequest:
    return UsedRequest(
        request_id=record.request_id,
        accepted_at=record.accepted_at,
        user=names.get(record.user_id, str(record.user_id)),
        model=record.model,
        surface=record.surface,
        status=record.status,
        error_code=record.error_code,
        verdict=record.verdict,
        uncached_input=record.uncached_input,
        cache_read=record.cache_read,
        cache_write_5m=record.cache_write_5m,
        cache_write_1h=record.cache_write_1h,
        output=record.output,
        cost=None if record.cost_nano is None else Amount(record.currency, record.cost_nano),
        queue_us=record.queue_us,
        first_token_us=record.first_token_us,
        per_token_us=record.per_token_us,
        is_own=reading.is_own,
        has_trace=reading.has_trace,
        is_readable=reading.is_readable,
    )
