"""Rows of the trace library: selection, lists, marks and tags. Knows nothing of HTTP."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Annotated

import msgspec
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Length

from webapp.ground.gateway.structs import Body, Result
from webapp.requests.models import Request
from webapp.requests.summary import Status, status
from webapp.traces.library.filters import NOT_CHECKED, conditions_of
from webapp.traces.models import Entry, Tag, Trace

_TEXTS = ("input", "output_text", "thinking", "params")
MAX_SELECTED = 1000
"""Traces that one request may change or export."""
_FEW = {
    "status": "status",
    "finish_reason": "finish_reason",
    "verdict": "safety_verdict",
    "surface": "surface",
    "model": "model",
    "is_imported": "is_imported",
    "currency": "currency",
}
"""Filters with few possible texts, and their fields; also the currency of costs."""
MAX_TAGS = 20
MAX_TAG_CHARS = 40


class Selection(Body):
    """Traces by their ids, or all traces that match a filter."""

    ids: Annotated[list[str], msgspec.Meta(max_length=MAX_SELECTED)] | None = None
    query: str | None = None


class Marks(Result):
    """The owner's marks on a saved trace."""

    is_pinned: bool
    note: str
    tags: list[str]


class RunsOfSet(Result):
    """The runs of a set that meet a list's filter."""

    ids: list[str]
    """In the order of the runs."""
    status: dict[Status, int]
    """Number of requests by status."""
    cost_nano: int | None
    """Cost of the billed runs. Null: there is no bill, or there are two currencies."""
    currency: str


class TagCount(Result):
    """A tag, and the number of its traces."""

    name: str
    num_traces: int


class Choices(Result):
    """The values in use of each filter with few values, and the currencies of costs."""

    status: list[str]
    finish_reason: list[str]
    verdict: list[str]
    surface: list[str]
    model: list[str]
    is_imported: list[str]
    currency: list[str]


class SelectionError(Exception):
    """The selection is empty or too large; the message has advice."""


def listed(user_id: int) -> QuerySet[Request]:
    """The user's requests that are open or have their trace, newest first, without their texts."""
    rows = Request.objects.filter(Q(finished_at=None) | Q(trace__isnull=False), user_id=user_id)
    return rows.defer(*_TEXTS).order_by("-created_at", "-pk")


def matching(user_id: int, asked: Iterable[Q]) -> QuerySet[Request]:
    """The user's listed requests that meet every condition."""
    rows = listed(user_id)
    for condition in asked:
        rows = rows.filter(condition)  # one by one: two tags are two joins
    return rows


def first(rows: QuerySet[Request], number: int) -> list[Request]:
    """Return the first `number` rows, in order, with message and run.

    The order comes from the index alone: sorting rows with their joins is several times slower.
    """
    ids = list(rows.values_list("pk", flat=True)[:number])
    found = Request.objects.select_related("message", "run").defer(*_TEXTS).in_bulk(ids)
    return [found[each] for each in ids if each in found]


def choices(user_id: int) -> Choices:
    """Values of each filter in _FEW that match something, and the currencies in use."""
    fields = list(_FEW.values())
    found = set(listed(user_id).order_by().values_list(*fields).distinct())
    columns = zip(*found, strict=True) if found else [()] * len(fields)
    return Choices(
        **{name: sorted({_text(value) for value in column} - {""}) for name, column in zip(_FEW, columns, strict=True)}
    )


def _text(value: object) -> str:
    """A value as written in an address."""
    return NOT_CHECKED if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def grouped(rows: QuerySet[Request]) -> QuerySet[Request]:
    """The rows with each set of runs reduced to its last run among them."""
    later = rows.order_by().filter(run__rerun=OuterRef("run__rerun"), run__index__gt=OuterRef("run__index"))
    return rows.filter(~Exists(later))


def sets(rows: QuerySet[Request], page: Iterable[Request]) -> dict[str, RunsOfSet]:
    """The page's sets with several runs among the rows, by set id."""
    ids = {request.run.rerun_id for request in page if hasattr(request, "run")}
    runs = defaultdict[str, list[Request]](list)
    for request in rows.filter(run__rerun__in=ids).select_related("run").order_by("run__index"):
        runs[request.run.rerun_id].append(request)
    return {rerun_id: _set(found) for rerun_id, found in runs.items() if len(found) > 1}


def _set(runs: list[Request]) -> RunsOfSet:
    billed = [request for request in runs if request.cost_nano is not None]
    currencies = {request.currency for request in billed}
    return RunsOfSet(
        ids=[request.pk for request in runs],
        status=dict(Counter(status(request) for request in runs)),
        cost_nano=sum(request.cost_nano or 0 for request in billed) if len(currencies) == 1 else None,
        currency=currencies.pop() if len(currencies) == 1 else "",
    )


def select(user_id: int, selection: Selection) -> list[Request]:
    """Return the user's selected saved traces. Raises FilterError, SelectionError."""
    if (selection.ids is None) == (selection.query is None):
        raise SelectionError("Give either ids or query.")
    if selection.ids is not None:
        rows = listed(user_id).filter(pk__in=[each for each in selection.ids if "\x00" not in each])
    else:
        rows = matching(user_id, conditions_of(selection.query or ""))
    found = list(rows.filter(trace__isnull=False).select_related("message")[: MAX_SELECTED + 1])
    if len(found) > MAX_SELECTED:
        raise SelectionError(f"More than {MAX_SELECTED:,} traces match. Narrow the filter, for example by date.")
    return found


def num_bytes(requests: Iterable[Request]) -> int:
    """Total size of the requests' saved events."""
    saved = Trace.objects.filter(pk__in=[request.pk for request in requests])
    return int(saved.aggregate(total=Sum(Length("blob")))["total"] or 0)


def marks(requests: Iterable[Request]) -> dict[str, Marks]:
    """The owner's marks of each saved trace, by request id."""
    entries = Entry.objects.filter(pk__in=[request.pk for request in requests]).prefetch_related("tags")
    return {
        entry.pk: Marks(is_pinned=entry.is_pinned, note=entry.note, tags=sorted(tag.name for tag in entry.tags.all()))
        for entry in entries.defer("search_text")
    }


def set_tags(entry: Entry, names: Iterable[str]) -> None:
    """Replace the entry's tags with these."""
    with transaction.atomic():
        entry.tags.exclude(name__in=names).delete()
        Tag.objects.bulk_create([Tag(entry=entry, name=name) for name in names], ignore_conflicts=True)


def change_tags(requests: Iterable[Request], add: Iterable[str], remove: Iterable[str]) -> None:
    """Remove and add tags; a trace with MAX_TAGS tags gets no more."""
    ids = [request.pk for request in requests]
    with transaction.atomic():
        Tag.objects.filter(entry_id__in=ids, name__in=remove).delete()
        num_left = dict.fromkeys(ids, MAX_TAGS)
        for entry_id, number in Tag.objects.filter(entry_id__in=ids).values_list("entry_id").annotate(Count("id")):
            num_left[entry_id] -= number
        new = [Tag(entry_id=entry_id, name=name) for entry_id in ids for name in list(add)[: num_left[entry_id]]]
        Tag.objects.bulk_create(new, ignore_conflicts=True)


def tags(user_id: int) -> list[TagCount]:
    """The user's tags with their numbers of traces, the most used first."""
    found = Tag.objects.filter(entry__trace__request__user_id=user_id).values("name")
    counted = found.annotate(num_traces=Count("id")).order_by("-num_traces", "name")
    return [TagCount(**row) for row in counted]
