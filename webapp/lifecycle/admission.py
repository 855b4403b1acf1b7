"""The one place where a user's requests are admitted: the workers' places, stop, open requests, budgets.

Knows nothing of how one starts.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import QuerySet

from inference.protocol.events import Limit
from webapp.lifecycle.placement import num_places
from webapp.requests.models import MAX_IN_FLIGHT, MAX_STEPPED, Request
from webapp.requests.workers import PLACES_OF_ONE
from webapp.usage.limits.charge import NOTHING, Charge
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.room import Places, Room, hold, reserve, room_of
from webapp.usage.limits.taking import take_rates

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

    def __init__(self, message: str, places: Limit | None = None, num_new: int = 0) -> None:
        """places: the limit of open requests. None: the one of step mode."""
        can_pass = places is None or num_new <= places.limit
        super().__init__("too_many_open", message, _RETRY_AFTER_S if can_pass else 0)
        if places is not None:
            self.due_to(places, num_new)

    @property
    def api_code(self) -> str:
        return "too_many_requests"


Limits = tuple[Limit, ...]
"""State of each limit before one request."""


def admit(requests: Sequence[Request], charges: Sequence[Charge], is_stepped: bool) -> list[Limits]:
    """Reserve room for new requests, in the transaction that creates them; return each one's state of the limits.

    All are of one user, one key and one model. Raises Refused when they do not all fit. The rates have their own place
    (`webapp.usage.limits.taking`).
    """
    user_id, num_new = requests[0].user_id, len(requests)
    room = _room(user_id, requests[0].model, requests[0].key_id, requests[0].batch_id is not None)
    room.check()
    limits = _limits(room, charges)
    if is_stepped and _open(user_id).filter(input__is_stepped=True).count() + num_new > MAX_STEPPED:
        few = f"At most {MAX_STEPPED} answers may be open in step mode."
        raise TooManyOpen(f"{few} Let one run to its end, or stop one.")
    room.check_budgets(charges)
    reserve(requests, charges, room)
    return limits


def admit_at_once(request: Request, charge: Charge) -> Limits:
    """Admit work that this process computes at once, by an estimate; return the state of the limits before it.

    `hold_at_once` reserves its cost. Raises Refused, RedisError.
    """
    room = room_of(request.user_id, request.model, request.key_id)
    room.check()
    room.check_budgets([charge])
    (rates,) = take_rates([request], [charge])
    return (*room.limits(0, [charge]), *rates)


@transaction.atomic
def hold_at_once(request: Request, charge: Charge) -> None:
    """Reserve the cost of admitted work, once its tokens are counted. Raises Refused where more than is left."""
    room = _room(request.user_id, request.model, request.key_id)
    room.check_budgets([charge])
    hold(request, charge, room)


def admit_some(requests: Sequence[Request], charges: Sequence[Charge]) -> list[Limits]:
    """As `admit`, for as many as fit, from the first on.

    Raises Refused where the first one may cost more than a whole budget.
    """
    if not requests:
        return []
    room = _room(requests[0].user_id, requests[0].model, requests[0].key_id)
    room.check_whole_budgets(charges[0])
    fitting = charges[: room.num_free(charges)]
    reserve(requests[: len(fitting)], fitting, room)
    return _limits(room, fitting)


def num_free(user_id: int, model: str, key_id: int | None) -> int:
    """Open requests that the user may still begin, as far as the database counts."""
    room = room_of(user_id, model, key_id)
    return room.num_free([NOTHING] * room.effective.max_open)


def limits_now(user_id: int, model: str, key_id: int | None) -> Limits:
    """The state of each limit that the database counts."""
    room = room_of(user_id, model, key_id)
    return (*(_places_limit(each, each.num_free, 0) for each in room.places), *room.limits(0, [NOTHING]))


def _room(user_id: int, model: str, key_id: int | None, is_of_batch: bool = False) -> Room:
    lock_user(user_id)
    is_locked = connection.features.has_select_for_update
    return room_of(user_id, model, key_id, is_locked, is_of_batch=is_of_batch)


def _limits(room: Room, charges: Sequence[Charge]) -> list[Limits]:
    """Raises TooManyOpen."""
    num_new = len(charges)
    own, *shared = room.places
    each = concurrency_limits(own.most - own.num_open, num_new, own.most)
    for places in shared:
        _check_shared(places, num_new)
    found = zip(each, *(_places_limits(places, num_new) for places in shared), strict=True)
    return [(*limits, *room.limits(at, charges)) for at, limits in enumerate(found)]


def _check_shared(places: Places, num_new: int) -> None:
    if num_new > places.num_free:
        told = {"key": "Your key has", "group": "The members of your group have", "site": "All users together have"}
        whose = told.get(places.scope.kind, "This model has")
        message = f"{whose} {places.num_open} of {places.most} requests open. Wait for one to end."
        raise TooManyOpen(message, _places_limit(places, places.num_free, 0), num_new)


def _places_limits(places: Places, num_new: int) -> list[Limit]:
    return [_places_limit(places, places.num_free - before, 1) for before in range(num_new)]


def _places_limit(places: Places, remaining: int, taken: int) -> Limit:
    return Limit(
        name="concurrency",
        subject=places.scope.kind,
        limit=places.most,
        remaining=remaining,
        num_taken=taken,
        refill_per_s=0.0,
    )


def concurrency_limits(num_free: int, num_new: int, max_open: int = MAX_IN_FLIGHT) -> list[Limit]:
    """State of the limit for each request that begins together. Raises TooManyOpen when they do not all fit."""
    if num_new > max(0, num_free):
        raise TooManyOpen(_too_many(num_free, num_new, max_open), _open_limit(max_open, max(0, num_free), 0), num_new)
    return [_open_limit(max_open, num_free - before, 1) for before in range(num_new)]


def _open_limit(most: int, remaining: int, taken: int) -> Limit:
    return Limit(name="concurrency", limit=most, remaining=remaining, num_taken=taken, refill_per_s=0.0)


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
