"""The permissions of the live page."""

from __future__ import annotations

from django.contrib.auth.models import User

from webapp.lifecycle.stream.session import user_of

VIEW = "usage.view_usagerecord"
"""Allows an operator to see the usage of all users, and what the workers do now."""
STOP = "lifecycle.change_request"
"""Allows an operator to stop other users' requests."""


def operator_of(session_key: str | None) -> User | None:
    """The operator who is signed in with this session now, and may see the live page."""
    user = user_of(session_key)
    return user if user is not None and user.is_active and user.has_perm(VIEW) else None
