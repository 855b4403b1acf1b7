"""Makes and uses one-time sign-in links."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from webapp.accounts.models import SignInLink

LIFETIME = timedelta(hours=1)


def make_link(user: User) -> str:
    """Return the path of a new link that signs the user in once, within an hour. Deletes used and expired links."""
    now = timezone.now()
    SignInLink.objects.filter(Q(used_at__isnull=False) | Q(expires_at__lt=now)).delete()
    token = secrets.token_urlsafe(24)
    SignInLink.objects.create(token_sha256=_digest(token), user=user, expires_at=now + LIFETIME)
    return f"/signin/{token}"


def use_link(token: str) -> User | None:
    """Use the link up and return its user. None: the link is unknown, used or expired, or the user is inactive."""
    links = SignInLink.objects.filter(token_sha256=_digest(token), used_at=None, expires_at__gte=timezone.now())
    # The update decides: only one of two simultaneous visits finds the link unused.
    if not links.update(used_at=timezone.now()):
        return None
    user: User = SignInLink.objects.select_related("user").get(token_sha256=_digest(token)).user
    return user if user.is_active else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
