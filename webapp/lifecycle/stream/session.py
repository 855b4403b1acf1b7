"""Looks up sessions and keys anew, so that no stream outlives the sign-in or the key that opened it.

Knows nothing of the streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, get_user
from django.contrib.auth.models import User
from django.db import Error
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.module_loading import import_string

from webapp.identity.accounts.models import Session
from webapp.identity.keys.keys import live_ids
from webapp.identity.keys.middleware import key_of
from webapp.lifecycle.stream.frames import read
from webapp.lifecycle.stream.rows import GATHER_S, Rows

CHECK_S = 3.0
"""Longest time that a stream goes on after its session."""
NOT_SIGNED_IN = "You are not signed in any more. Sign in, then load the page again."


Ending = Callable[[], Coroutine[Any, Any, None]]
"""Returns once the sign-in or the key that opened a stream counts no more."""


@cache
def _sessions_of(_loop: asyncio.AbstractEventLoop) -> Rows[User]:
    return Rows(lambda keys: read(lambda: users_of(keys)))


@cache
def _keys_of(_loop: asyncio.AbstractEventLoop) -> Rows[int]:
    return Rows(lambda ids: read(lambda: {str(each): each for each in live_ids(map(int, ids))}))


def ending_of(request: HttpRequest) -> Ending:
    """The end of the request's key, or else of its session. Keeps nothing else of the request."""
    key = key_of(request)
    return partial(session_end, request.session.session_key) if key is None else partial(key_end, key.pk)


def user_of(session_key: str | None) -> User | None:
    """The user who is signed in with this session now; None: no user is."""
    asking = HttpRequest()
    asking.session = import_string(f"{settings.SESSION_ENGINE}.SessionStore")(session_key)
    user = get_user(asking)
    return user if isinstance(user, User) else None


def users_of(session_keys: set[str]) -> dict[str, User]:
    """Return the user of each session in which one is signed in now, by two queries for all."""
    rows = Session.objects.filter(pk__in=session_keys, expire_date__gt=timezone.now()).in_bulk()
    users = User.objects.filter(is_active=True).in_bulk({row.user_id for row in rows.values()})
    found = {key: users.get(row.user_id) for key, row in rows.items()}
    return {key: user for key, user in found.items() if user is not None and _has_signed_in(rows[key], user)}


def _has_signed_in(row: Session, user: User) -> bool:
    """Return whether the sign-in was with the user's present password."""
    known = str(row.get_decoded().get(HASH_SESSION_KEY, ""))
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(known, each) for each in hashes)


async def session_end(session_key: str | None) -> None:
    """Return once no user is signed in with this session: signed out, ended, or the account is closed."""
    sessions = _sessions_of(asyncio.get_running_loop())
    while True:
        await asyncio.sleep(CHECK_S - GATHER_S)
        with suppress(Error):  # the database is away; the next look decides
            if session_key is None or await sessions.find(session_key) is None:
                return


async def key_end(key_id: int) -> None:
    """Return once the key is revoked or has expired, or its user's account is closed."""
    keys = _keys_of(asyncio.get_running_loop())
    while True:
        with suppress(Error):  # as above; each look takes GATHER_S
            if await keys.find(str(key_id)) is None:
                return
