"""Looks up the user of a session anew, for connections that outlive a sign-out. Knows nothing of WebSockets."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.module_loading import import_string


def user_of(session_key: str | None) -> User | None:
    """The user who is signed in with this session now; None: no user is."""
    asking = HttpRequest()
    asking.session = import_string(f"{settings.SESSION_ENGINE}.SessionStore")(session_key)
    user = get_user(asking)
    return user if isinstance(user, User) else None
