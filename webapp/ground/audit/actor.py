"""The signed-in user as the actor of the entries that are written meanwhile. Knows nothing of what they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db.models.signals import pre_save

_actor_id: ContextVar[int | None] = ContextVar("actor_id", default=None)


@contextmanager
def acting(user_id: int | None) -> Iterator[None]:
    """Name this user as the actor of each entry of the block. None: the product itself acts."""
    token = _actor_id.set(user_id)
    try:
        yield
    finally:
        _actor_id.reset(token)


def sign_entries() -> None:
    """Let each new entry carry its actor."""
    from auditlog.models import LogEntry

    pre_save.connect(_sign, sender=LogEntry, dispatch_uid="webapp.ground.audit")


def _sign(instance: Any, **_more: Any) -> None:
    if instance.pk is None and instance.actor_id is None:
        instance.actor_id = _actor_id.get()
