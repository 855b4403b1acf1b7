"""The one place where a user's requests are admitted: the workers' places, stop, rates, open requests.

Knows nothing of how one starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import QuerySet

from inference.protocol.events import Limit
from webapp.lifecycle.placement import num_places
from webapp.limits.refusal import Refused
from webapp.limits.room import Room, room_of, take
from webapp.limits.rules import effective_of
from webapp.requests.models import MAX_IN_FLIGHT, MAX_STEPPED, Request
from webapp.requests.workers import PLACES_OF_ONE

_RETRY_AFTER_S = 5
"""Open requests end within seconds."""


def check_places(model: str, num_new: int) -> None:
    """Raises Refused when the workers of a model have too few free places for new requests; RedisError.

    Without a ready worker, as many may wait as one takes. Requests that are sent at the same moment may together be a
    few more than there are places: these wait in the queue.
    """
    num_free = num_free_places(model)
    if num_new > num_free:
        few = "no place is free" if num_free == 0 else f"only {num_free} of {num_new} places are free"
        message = f"The server is computing as many answers as it can: {few}. Try again in {_RETRY_AFTER_S} s."
        raise Refused("overloaded", message, _RETRY_AFTER_S)


def num_free_places(model: str) -> int:
    """Return how many more requests the workers of a model may take. Raises RedisError."""
    places = num_places(model)
    num_open = Request.objects.filter(model=model, finished_at=None).count()
    return max(0, (PLACES_OF_ONE if places is None else places) - num_open)


class TooManyOpen(Refused):
    """The user has reached the limit of open requests, or of those in step mode."""

    def __init__(self, message: str) -> None:
        super().__init__("too_many_open", message, _RETRY_AFTER_S)


Limits = tuple[Limit, ...]
"""State of each limit before one request."""


def admit(user_id: int, num_new: int, is_stepped: bool) -> list[Limits]:
    """Reserve room for new requests, in the transaction that creates them; return each one's state of the limits.

    Raises Refused when they do not all fit.
    """
    found = _standing(user_id)
    found.room.check(num_new)
    limits = found.limits(num_new)
    if is_stepped and _open(user_id).filter(input__is_stepped=True).count() + num_new > MAX_STEPPED:
        few = f"At most {MAX_STEPPED} answers may be open in step mode."
        raise TooManyOpen(f"{few} Let one run to its end, or stop one.")
    take(user_id, found.room, num_new)
    return limits


def admit_without_request(user_id: int) -> None:
    """Take one request from the user's rates, for work that leaves no request: an embedding. Raises Refused."""
    with transaction.atomic():
        lock_user(user_id)
        room = room_of(user_id, effective_of(user_id))
        room.check(1)
        take(user_id, room, 1)


def admit_some(user_id: int, most: int) -> list[Limits]:
    """As `admit`, for as many as fit; most: the number that is wanted."""
    found = _standing(user_id)
    num_new = max(0, min(most, found.num_free))
    take(user_id, found.room, num_new)
    return found.limits(num_new)


def num_free(user_id: int) -> int:
    """Requests that the user may still begin. Exact only after `lock_user` in the same transaction."""
    return _standing_now(user_id).num_free


@dataclass(frozen=True)
class _Standing:
    """A user's open requests and rates."""

    num_open: int
    room: Room

    @property
    def num_free(self) -> int:
        free = self.room.effective.max_open - self.num_open
        by_rate = self.room.num_free()
        return max(0, free if by_rate is None else min(free, by_rate))

    def limits(self, num_new: int) -> list[Limits]:
        """Raises TooManyOpen."""
        most = self.room.effective.max_open
        each = concurrency_limits(most - self.num_open, num_new, most)
        return [(limit, *self.room.limits(before)) for before, limit in enumerate(each)]


def _standing(user_id: int) -> _Standing:
    lock_user(user_id)
    return _standing_now(user_id)


def _standing_now(user_id: int) -> _Standing:
    return _Standing(_open(user_id).count(), room_of(user_id, effective_of(user_id)))


def concurrency_limits(num_free: int, num_new: int, max_open: int = MAX_IN_FLIGHT) -> list[Limit]:
    """State of the limit for each request that begins together. Raises TooManyOpen when they do not all fit."""
    if num_new > max(0, num_free):
        raise TooManyOpen(_too_many(num_free, num_new, max_open))
    return [
        Limit(name="concurrency", limit=max_open, remaining=num_free - before, num_taken=1, refill_per_s=0.0)
        for before in range(num_new)
    ]


def lock_user(user_id: int) -> None:
    """Block other transactions of the same user until this one ends.

    PostgreSQL locks the user's row. On SQLite every writer holds the one write lock already.
    """
    if connection.features.has_select_for_update:
        # Other transactions may meanwhile write rows that refer to the user, such as bills and requests.
        get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=user_id)


def _open(user_id: int) -> QuerySet[Request]:
    return Request.objects.filter(user_id=user_id, finished_at=None)


def _too_many(num_free: int, num_new: int, max_open: int) -> str:
    num_open = max_open - num_free
    if num_new == 1:
        return f"You have {num_open} requests open. Wait for one to end, or stop one."
    few = f"at most {num_free}" if num_free > 0 else "none"
    why = f"You asked for {num_new} answers and have {num_open} of {max_open} requests open: {few} can be begun."
    return f"{why} Ask for fewer, wait for some to end, or stop some."
