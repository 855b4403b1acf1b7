"""Looks up the user of a session anew, so that no stream outlives a sign-out. Knows nothing of the streams."""

from __future__ import annotations

import asyncio

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.module_loading import import_string

from webapp.stream.frames import read

CHECK_S = 3.0
"""Longest time that a stream goes on after its session."""
NOT_SIGNED_IN = "You are not signed in any more. Sign in, then load the page again."


def user_of(session_key: str | None) -> User | None:
    """The user who is signed in with this session now; None: no user is."""
    asking = HttpRequest()
    asking.session = import_string(f"{settings.SESSION_ENGINE}.SessionStore")(session_key)
    user = get_user(asking)
    return user if isinstance(user, User) else None


async def session_end(session_key: str | None) -> None:
    """Return once no user is signed in with this session: signed out, ended, or the account is closed."""
    while True:
        await asyncio.sleep(CHECK_S)
        if await read(lambda: user_of(session_key)) is None:
            return
