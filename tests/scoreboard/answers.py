"""Compares an answer that faults met with the undisturbed one, and its bill with all that tell of it.

Knows nothing of the faults.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.scoreboard.reader import Arrived
from tests.scoreboard.site import Site

_ROWS = """
SELECT r.status, r.cost_nano, r.num_output_tokens, r.num_events, u.cost_nano, u.output,
  (SELECT COUNT(*) FROM billing_ledgerentry l WHERE l.request_id = r.id),
  (SELECT SUM(total_nano) FROM billing_ledgerentry l WHERE l.request_id = r.id)
FROM lifecycle_request r JOIN usage_usagerecord u ON u.request_id = r.id WHERE r.id = '{}'
"""

_FAILED_ROWS = """
SELECT r.status, COALESCE(u.cost_nano, 0), (SELECT COUNT(*) FROM billing_ledgerentry l WHERE l.request_id = r.id)
FROM lifecycle_request r JOIN usage_usagerecord u ON u.request_id = r.id WHERE r.id = '{}'
"""
_UNSETTLED = "SELECT id FROM lifecycle_request WHERE finished_at IS NULL"
_BILLED_TWICE = "SELECT request_id FROM billing_ledgerentry GROUP BY request_id HAVING COUNT(*) > 1"
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Compared:
    """An answer's differences from an undisturbed one, in words."""

    lost: int
    doubled: int
    reordered: int
    problems: list[str]


def of(events: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def ids(events: Iterable[dict[str, Any]]) -> list[int]:
    """The answer's tokens."""
    return [event["id"] for event in of(events, "token.sampled")]


def text(events: Iterable[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in of(events, "text.released"))


def compared(frames: Sequence[Arrived], undisturbed: list[dict[str, Any]]) -> Compared:
    """By place: a place that is missing is lost, one that comes again is doubled, one out of order is reordered."""
    events = [event for frame in frames for event in frame.events]
    places = [event.get("position", 0) for event in of(events, "token.sampled")]
    counts = Counter(places)
    num_lost = len(set(range(len(ids(undisturbed)))) - set(places))
    num_doubled = sum(count - 1 for count in counts.values())
    num_reordered = sum(second < first for first, second in itertools.pairwise(places))
    problems = [] if ids(events) == ids(undisturbed) else ["other tokens than undisturbed"]
    if text(events) != text(undisturbed):
        problems.append("another text than undisturbed")
    if not has_no_gap(frames):
        problems.append("a gap between seqs")
    return Compared(num_lost, num_doubled, num_reordered, problems)


def has_no_gap(frames: Sequence[Arrived]) -> bool:
    """Each seq once, from 1."""
    starts = itertools.accumulate((len(frame.events) for frame in frames[:-1]), initial=1)
    return [frame.seq for frame in frames] == list(starts)


def bill_problems(site: Site, request_id: str, events: list[dict[str, Any]]) -> list[str]:
    """Where log, row, ledger and record of use differ: each has one bill, for the tokens that the log has."""
    rows = _rows(site, _ROWS.format(request_id))
    bills = [event["total_nano"] for event in of(events, "bill.posted")]
    if len(rows) != 1 or len(bills) != 1:
        return [f"{len(bills)} bills in the log, {len(rows)} rows"]
    ((status, cost, output, num_events, used_cost, used_output, num_entries, entered),) = rows
    told = (status, num_entries, int(entered or 0), cost, used_cost, output, used_output, num_events)
    num_tokens = len(ids(events))
    wanted = ("done", 1, bills[0], bills[0], bills[0], num_tokens, num_tokens, len(events))
    return [] if told == wanted else [f"{request_id}: {told} instead of {wanted}"]


def failed_bill_problems(site: Site, request_id: str) -> list[str]:
    """Where a failed request has a bill: it costs nothing, whatever it computed."""
    rows = _rows(site, _FAILED_ROWS.format(request_id))
    return [] if rows == [("failed", 0, 0)] else [f"{request_id}: {rows} instead of a failure without a bill"]


def unsettled(site: Site) -> list[str]:
    """The requests that have no end."""
    return [row[0] for row in _rows(site, _UNSETTLED)]


def billed_twice(site: Site) -> list[str]:
    """The requests with several bills, also those that no client has followed."""
    return [row[0] for row in _rows(site, _BILLED_TWICE)]


def _rows(site: Site, statement: str) -> list[Any]:
    """Ask the product's database, which may be away for a moment."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with closing(site.connect()) as database:
                return list(database.execute(statement).fetchall())
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
