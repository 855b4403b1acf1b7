"""The limit of one user's open requests. Knows nothing of how a request is started."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import QuerySet

from inference.protocol.events import Limit
from webapp.requests.models import MAX_IN_FLIGHT, MAX_STEPPED, Request


class TooManyOpen(Exception):
    """The user has reached the limit of open requests, or of those in step mode."""


def admit(user_id: int, num_new: int, is_stepped: bool) -> list[Limit]:
    """Reserve room for new requests, in the transaction that creates them; return each one's state of the limit.

    Raises TooManyOpen when they do not all fit.
    """
    lock_user(user_id)
    limits = concurrency_limits(num_free(user_id), num_new)
    if is_stepped and _open(user_id).filter(input__is_stepped=True).count() + num_new > MAX_STEPPED:
        few = f"At most {MAX_STEPPED} answers may be open in step mode."
        raise TooManyOpen(f"{few} Let one run to its end, or stop one.")
    return limits


def concurrency_limits(num_free: int, num_new: int) -> list[Limit]:
    """State of the limit for each request that begins together. Raises TooManyOpen when they do not all fit."""
    if num_new > max(0, num_free):
        raise TooManyOpen(_too_many(num_free, num_new))
    return [
        Limit(name="concurrency", limit=MAX_IN_FLIGHT, remaining=num_free - before, num_taken=1, refill_per_s=0)
        for before in range(num_new)
    ]


def lock_user(user_id: int) -> None:
    """Block other transactions of the same user until this one ends.

    PostgreSQL locks the user's row. On SQLite every writer holds the one write lock already.
    """
    if connection.features.has_select_for_update:
        # Other transactions may meanwhile write rows that refer to the user, such as bills and requests.
        get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=user_id)


def num_free(user_id: int) -> int:
    """Requests that the user may still open. Exact only after `lock_user` in the same transaction."""
    return MAX_IN_FLIGHT - _open(user_id).count()


def _open(user_id: int) -> QuerySet[Request]:
    return Request.objects.filter(user_id=user_id, finished_at=None)


def _too_many(num_free: int, num_new: int) -> str:
    num_open = MAX_IN_FLIGHT - num_free
    if num_new == 1:
        return f"You have {num_open} requests open. Wait for one to end, or stop one."
    few = f"at most {num_free}" if num_free > 0 else "none"
    why = f"You asked for {num_new} answers and have {num_open} of {MAX_IN_FLIGHT} requests open: {few} can be begun."
    return f"{why} Ask for fewer, wait for some to end, or stop some."
