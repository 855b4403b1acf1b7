"""Reads the requests of a period with their saved prompts. Knows nothing of prices to come and of simulations."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import islice

from django.db.models import QuerySet

from inference.protocol.events import (
    CacheLookedUp,
    ContextAssembled,
    GenerationFinished,
    GenerationForked,
    PromptTokenized,
    RequestAccepted,
    first,
)
from inference.protocol.generations import last_number
from webapp.traces.file.archive import TraceFileError, Turn, decode_turn
from webapp.traces.models import Trace
from webapp.usage.models import UsageRecord
from webapp.usage.period import Period
from webapp.usage.repricing.records import Group, Read
from webapp.usage.sums import Filter

MAX_REQUESTS = 2000
"""Of one period: some seconds of one core."""
_AT_ONCE = 50


@dataclass(frozen=True)
class Unknown:
    """A request of which no saved trace tells what the cache did."""

    group: Group
    billed_nano: int
    currency: str


def records_of(period: Period, chosen: Filter) -> QuerySet[UsageRecord]:
    """The requests that used tokens."""
    found = UsageRecord.objects.filter(accepted_at__gte=period.start, accepted_at__lt=period.end, is_demo=False)
    return found.filter(**chosen.conditions()).exclude(price_version="").order_by("accepted_at", "id")


def read_all(records: QuerySet[UsageRecord]) -> Iterator[Read | Unknown]:
    """Yield each request, in the order in which they came."""
    left = records.iterator()
    while some := list(islice(left, _AT_ONCE)):
        blobs = dict(Trace.objects.filter(pk__in=[each.request_id for each in some]).values_list("pk", "blob"))
        for record in some:
            yield _read(record, blobs.get(record.request_id))


def _read(record: UsageRecord, blob: bytes | memoryview | None) -> Read | Unknown:
    group = Group(record.model, record.user_id, record.key_id)
    unknown = Unknown(group, record.cost_nano or 0, record.currency)
    if blob is None:
        return unknown
    try:
        return _told(record, group, decode_turn(bytes(blob))) or unknown
    except TraceFileError:
        return unknown


def _told(record: UsageRecord, group: Group, turn: Turn) -> Read | None:
    """None: the trace lacks a part, or the request has several prompts."""
    events = turn.events
    accepted, prompt = first(events, RequestAccepted), first(events, PromptTokenized)
    context = first(events, ContextAssembled)
    cache, finished = first(events, CacheLookedUp), first(events, GenerationFinished)
    if accepted is None or context is None or prompt is None or cache is None or finished is None:
        return None
    if last_number(events):
        return None
    forked = first(events, GenerationForked)
    return Read(
        group=group,
        day=record.accepted_at.astimezone(UTC).date(),
        begun_s=(accepted.accepted_unix_us + cache.at) / 1e6,
        ended_s=(accepted.accepted_unix_us + finished.at) / 1e6,
        ids=array("q", [*prompt.ids, *(token for token, _ in turn.answer)]),
        num_read=len(prompt.ids) + (len(forked.ids) if forked else 0),
        block_size=cache.block_size,
        num_found=cache.num_cached_tokens // cache.block_size,
        marks=cache.marks,
        system_end=_end(context, ("system", "tools")),
        history_end=_end(context, ("system", "tools", "memory", "summary", "history", "attachment")),
        num_output=finished.usage.output,
        billed_nano=record.cost_nano or 0,
        currency=record.currency,
        is_batch=record.is_batch,
    )


def _end(context: ContextAssembled, kinds: Sequence[str]) -> int:
    return max((each.end for each in context.segments if each.kind in kinds), default=0)
