"""A comparison that runs in the background: begun, read and cancelled by its reader, and computed by a task.

Knows nothing of how its state is kept.
"""

from __future__ import annotations

import secrets
from datetime import date
from zoneinfo import ZoneInfo

import msgspec

from webapp.models.billing.bill import price_book
from webapp.models.billing.price_book import PriceBook
from webapp.usage.period import Period
from webapp.usage.repricing import states
from webapp.usage.repricing.comparison import Comparison, Repriced
from webapp.usage.repricing.reading import MAX_REQUESTS, read_all, records_of
from webapp.usage.repricing.simulation import Placement, Scenario, Ttl
from webapp.usage.repricing.states import Run, State
from webapp.usage.sums import Filter

_LOOKS_EVERY = 25
"""Requests between two looks at a cancellation, which also show that the run lives."""


class TooMany(Exception):
    """The period has more requests than are compared at once."""


class Wanted(msgspec.Struct, frozen=True):
    """A comparison, as its task takes it."""

    user_id: int
    """Its reader."""
    first: date
    last: date
    zone: str
    model: str
    """Empty: all models."""
    is_of_all: bool
    """Of all users; else of its reader alone."""
    placement: Placement
    ttl: Ttl
    prices_of: str
    """The model whose prices all have; empty: each has its own."""

    @property
    def chosen(self) -> Filter:
        return Filter(self.model, user_ids=None if self.is_of_all else (self.user_id,))

    @property
    def period(self) -> Period:
        return Period(self.first, self.last, ZoneInfo(self.zone))


class Progress(msgspec.Struct, frozen=True):
    """How far a comparison is."""

    state: State
    num_done: int
    num_requests: int
    rows: list[Repriced]
    """Empty until it is done."""


def begin(wanted: Wanted) -> str:
    """Note a comparison and return its id. The one before of the same reader ends.

    Raises TooMany, TooManyOpen, RedisError.
    """
    num = records_of(wanted.period, wanted.chosen).count()
    if num > MAX_REQUESTS:
        raise TooMany(f"The period has {num:,} requests; at most {MAX_REQUESTS:,} are compared at once. Shorten it.")
    work_id = secrets.token_urlsafe(12)
    if before := states.replace_last(wanted.user_id, work_id):
        cancel(before, wanted.user_id)
    facts = {"user": wanted.user_id, "done": 0, "all": num, "wanted": msgspec.json.encode(wanted)}
    states.enter(wanted.user_id, work_id, facts)
    return work_id


def progress(work_id: str, user_id: int) -> Progress | None:
    """None: there is none, it is over for long, or it is another reader's. Raises RedisError."""
    found = states.read(work_id)
    if not found or int(found["user"]) != user_id:
        return None
    rows = msgspec.json.decode(found["rows"], type=list[Repriced]) if "rows" in found else []
    return Progress(found["state"], int(found["done"]), int(found["all"]), rows)  # type: ignore[arg-type]


def cancel(work_id: str, user_id: int) -> bool:
    """End a comparison that is not over. Return whether it is the reader's. Raises RedisError."""
    if progress(work_id, user_id) is None:
        return False
    states.cancel(work_id)
    return True


def run(work_id: str) -> None:
    """Compare, unless it was cancelled or another process does. Raises RedisError."""
    taken = states.take(work_id)
    if taken is None:
        return
    try:
        _compare(taken)
    except Exception:
        states.end(taken, "failed")
        raise


def _compare(run: Run) -> None:
    wanted = msgspec.json.decode(states.read(run.work_id)["wanted"], type=Wanted)
    comparison = Comparison(Scenario(wanted.placement, wanted.ttl), _book(wanted))
    for number, each in enumerate(read_all(records_of(wanted.period, wanted.chosen))):
        if number % _LOOKS_EVERY == 0 and not states.keep(run, number):
            return
        comparison.add(each)
    states.end(run, "done", rows=msgspec.json.encode(comparison.result()))


def _book(wanted: Wanted) -> PriceBook:
    book = price_book()
    return book.with_prices_of(wanted.prices_of, book.models) if wanted.prices_of else book
