"""Links that open one trace without sign-in: create, open, list and expire. Knows nothing of HTTP."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from webapp.traces.models import Share, Trace

MIN_LIFETIME = timedelta(minutes=5)
MAX_LIFETIME = timedelta(days=365)
MAX_SHARES = 20
"""Links to one trace at once."""


@dataclass(frozen=True)
class NewShare:
    """A new link with its token, which is not stored."""

    share: Share
    token: str


def share(trace: Trace, lifetime: timedelta, is_redacted: bool, now: datetime) -> NewShare:
    """Create a link."""
    token = secrets.token_urlsafe(32)
    row = Share.objects.create(
        trace=trace, token_sha256=_digest(token), is_redacted=is_redacted, expires_at=now + lifetime
    )
    return NewShare(row, token)


def opened(token: str, now: datetime) -> Share | None:
    """The token's link. None: it expired, was deleted or never existed, or its owner's account is closed."""
    found = Share.objects.filter(token_sha256=_digest(token), expires_at__gt=now, trace__request__user__is_active=True)
    return found.select_related("trace__request").defer("trace__blob", "trace__request__input").first()


def shares_of(user_id: int, now: datetime) -> QuerySet[Share]:
    """The user's links that can still be opened, the newest first."""
    mine = Share.objects.filter(trace__request__user_id=user_id, expires_at__gt=now)
    return (
        mine.select_related("trace__request")
        .only("is_redacted", "created_at", "expires_at", "trace__request__title")
        .order_by("-created_at", "-pk")
    )


def clear_expired(now: datetime) -> None:
    Share.objects.filter(expires_at__lte=now).delete()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
