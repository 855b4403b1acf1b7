"""Idempotent calls: work that is asked for again under the same key is begun once, and the repeat gets its result.

Knows nothing of HTTP, and nothing of what is begun: rows, of which it keeps the ids.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db import IntegrityError
from django.utils import timezone

from webapp.ground.gateway.idempotency import Key as Key
from webapp.ground.gateway.refusal import QUEUE_UNREACHABLE, Refusal
from webapp.requests.models import Delivery, Request

Made = TypeVar("Made")

_KEPT = timedelta(days=7)
"""Minimum age of a key that is deleted: a browser's tab may be opened again after days."""
_BEGIN_S = 2.0
"""Longest wait of a repeat for the first call, which may still be taken back. Its usual time is 20 ms."""
_POLL_S = 0.02


class KeyReused(Refusal):
    """The key stands for another call."""

    status, code = 422, "key_reused"
    words = "This Idempotency-Key belongs to another call. Use a new key for each call."


class NotBegun(Refusal):
    """The first call under the key is not complete, or was taken back."""

    status, code, words = 503, "queue_unavailable", QUEUE_UNREACHABLE


class _Claimed(Exception):
    """Another call has claimed the key."""


@dataclass(frozen=True)
class Once(Generic[Made]):
    """What a call began, or what an earlier call under its key began."""

    made: Made
    is_repeat: bool


def once(key: Key | None, begin: Callable[[], Made], find: Callable[[list[str]], Made | None]) -> Once[Made]:
    """Begin the work, or find what was begun under the key. Raises KeyReused, NotBegun, and what `begin` raises.

    begin: calls `claim` in the transaction that saves the work's rows. find: takes their ids; None: not begun yet.
    """
    if key is None:
        return Once(begin(), is_repeat=False)
    if _ids_under(key) is None:
        try:
            return Once(begin(), is_repeat=False)
        except _Claimed:
            pass
    return Once(_wait_for(key, find), is_repeat=True)


def claim(key: Key | None, ids: list[str]) -> None:
    """Claim the key for these rows, in the transaction that saves them, before anything is counted."""
    if key is None:
        return
    try:
        Delivery.objects.create(user_id=key.user_id, key=key.text, digest=key.digest, first_id=ids[0], ids=ids)
    except IntegrityError:
        raise _Claimed from None


def forget(first_id: str) -> None:
    """Delete the key of rows that are deleted."""
    Delivery.objects.filter(first_id=first_id).delete()


def _ids_under(key: Key) -> list[str] | None:
    """The rows that were made under the key; None: nothing is known under it. Raises KeyReused."""
    found = Delivery.objects.filter(user_id=key.user_id, key=key.text).first()
    if found is not None and found.digest != key.digest:
        raise KeyReused
    return None if found is None else found.ids


def _wait_for(key: Key, find: Callable[[list[str]], Made | None]) -> Made:
    """Wait until the first call has begun its work or has taken it back."""
    deadline = time.monotonic() + _BEGIN_S
    while (ids := _ids_under(key)) is not None:
        if (made := find(ids)) is not None:
            return made
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    raise NotBegun


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: delete the user's expired keys. Not done on claim, which a user waits for."""
    Delivery.objects.filter(user_id=request.user_id, created_at__lt=timezone.now() - _KEPT).delete()
