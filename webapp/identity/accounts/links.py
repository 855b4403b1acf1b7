"""Makes and uses one-time sign-in links."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from webapp.identity.accounts.models import SignInLink

LIFETIME = timedelta(minutes=10)


def make_link(user: User) -> str:
    """Return the path of a new link that signs the user in once, within ten minutes. Deletes used and expired links."""
    now = timezone.now()
    SignInLink.objects.filter(Q(used_at__isnull=False) | Q(expires_at__lt=now)).delete()
    token = secrets.token_urlsafe(24)
    SignInLink.objects.create(token_sha256=_digest(token), user=user, expires_at=now + LIFETIME)
    return f"/signin/{token}"


def find_link(token: str) -> User | None:
    """The user of a link that still works. The link stays as it is."""
    link = _working(token).select_related("user").first()
    return None if link is None or not link.user.is_active else link.user


def use_link(token: str) -> User | None:
    """Use the link up and return its user. None: the link is unknown, used or expired, or the user is inactive."""
    # The update decides: only one of two simultaneous clicks finds the link unused.
    if not _working(token).update(used_at=timezone.now()):
        return None
    user: User = SignInLink.objects.select_related("user").get(token_sha256=_digest(token)).user
    return user if user.is_active else None


def _working(token: str) -> QuerySet[SignInLink]:
    return SignInLink.objects.filter(token_sha256=_digest(token), used_at=None, expires_at__gte=timezone.now())


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
