"""A comparison that runs in the background: its state in Redis, where its user reads it, and can cancel it."""

from __future__ import annotations

import secrets
from datetime import date
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from inference.eventlog.keys import PREFIX
from webapp.billing.bill import price_book
from webapp.billing.book import PriceBook
from webapp.repricing.comparison import Comparison, Repriced
from webapp.repricing.reading import MAX_REQUESTS, read_all, records_of
from webapp.repricing.simulation import Placement, Scenario, Ttl
from webapp.requests.workers import client
from webapp.usage.period import Period
from webapp.usage.sums import Filter

_KEPT_S = 3600
"""A result can be read for so long."""
_SHOWN_EVERY = 25
"""Requests between two looks at a cancellation."""
State = Literal["waiting", "running", "done", "cancelled", "failed"]


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
    """Note a comparison and return its id. The one before of the same reader ends. Raises TooMany, RedisError."""
    num = records_of(wanted.period, wanted.chosen).count()
    if num > MAX_REQUESTS:
        raise TooMany(f"The period has {num:,} requests; at most {MAX_REQUESTS:,} are compared at once. Shorten it.")
    work_id = secrets.token_urlsafe(12)
    last: Any = client().getset(_last_key(wanted.user_id), work_id)
    if last:
        cancel(last, wanted.user_id)
    facts: dict[Any, Any] = {
        "user": wanted.user_id,
        "state": "waiting",
        "done": 0,
        "all": num,
        "wanted": msgspec.json.encode(wanted),
    }
    client().hset(_key(work_id), mapping=facts)
    client().expire(_key(work_id), _KEPT_S)
    client().expire(_last_key(wanted.user_id), _KEPT_S)
    return work_id


def progress(work_id: str, user_id: int) -> Progress | None:
    """None: there is none, it is over for long, or it is another reader's. Raises RedisError."""
    found: Any = client().hgetall(_key(work_id))
    if not found or int(found["user"]) != user_id:
        return None
    rows = msgspec.json.decode(found["rows"], type=list[Repriced]) if "rows" in found else []
    return Progress(found["state"], int(found["done"]), int(found["all"]), rows)


def cancel(work_id: str, user_id: int) -> bool:
    """End a comparison that is not over. Return whether it is the reader's. Raises RedisError."""
    found = progress(work_id, user_id)
    if found is not None and found.state in ("waiting", "running"):
        _note(work_id, state="cancelled")
    return found is not None


def run(work_id: str) -> None:
    """Compare, unless it was cancelled. Raises RedisError."""
    found: Any = client().hmget(_key(work_id), "state", "wanted")
    if found[0] != "waiting":
        return
    _note(work_id, state="running")
    try:
        _compare(work_id, msgspec.json.decode(found[1], type=Wanted))
    except Exception:
        _note(work_id, state="failed")
        raise


def _compare(work_id: str, wanted: Wanted) -> None:
    comparison = Comparison(Scenario(wanted.placement, wanted.ttl), _book(wanted))
    for number, each in enumerate(read_all(records_of(wanted.period, wanted.chosen))):
        if number % _SHOWN_EVERY == 0:
            if client().hget(_key(work_id), "state") != "running":
                return
            _note(work_id, done=number)
        comparison.add(each)
    _note(work_id, rows=msgspec.json.encode(comparison.result()), state="done")


def _book(wanted: Wanted) -> PriceBook:
    book = price_book()
    return book.with_prices_of(wanted.prices_of, book.models) if wanted.prices_of else book


def _note(work_id: str, **facts: Any) -> None:
    noted: dict[Any, Any] = facts
    client().hset(_key(work_id), mapping=noted)


def _key(work_id: str) -> str:
    return f"{PREFIX}repricing:{work_id}"


def _last_key(user_id: int) -> str:
    return f"{PREFIX}repricing-of:{user_id}"
