"""A user's sign-ins: list them, end one or all, and remove those that have ended. Knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from webapp.identity.accounts.models import Session

_SALT = "webapp.accounts.sign_ins"
"""A fixed name, not a path. Another one would change the id of every sign-in."""


@dataclass(frozen=True)
class SignIn:
    """One sign-in that has not ended."""

    id: str
    """Tells nothing of the session's key, which alone signs in."""
    row: Session

    def is_of(self, session_key: str | None) -> bool:
        """Return whether it is the sign-in with this key."""
        return self.row.pk == session_key


def sign_ins_of(user_id: int) -> list[SignIn]:
    """The user's sign-ins that have not ended, the last used first."""
    rows = _open(user_id).defer("session_data").order_by("-seen_at", "-began_at")
    return [SignIn(_id_of(row.pk), row) for row in rows]


def last_use(user_id: int) -> datetime | None:
    """The last use of the user's sign-ins; None: the user has none."""
    return _open(user_id).order_by("-seen_at").values_list("seen_at", flat=True).first()


def end(user_id: int, sign_in_id: str) -> bool:
    """End one sign-in of the user. False: there is no such sign-in."""
    keys = [each.row.pk for each in sign_ins_of(user_id) if each.id == sign_in_id]
    return bool(keys) and _end(Session.objects.filter(pk__in=keys)) > 0


def end_all(user_id: int, but: str | None = None) -> int:
    """End all sign-ins of the user; return their number. but: the key of the session that stays."""
    Session.objects.filter(user_id=user_id, expire_date__lte=timezone.now()).delete()
    return _end(Session.objects.filter(user_id=user_id).exclude(pk=but or ""))


def clear_expired(now: datetime) -> None:
    Session.objects.filter(expire_date__lte=now).delete()


def _open(user_id: int) -> QuerySet[Session]:
    return Session.objects.filter(user_id=user_id, expire_date__gt=timezone.now())


def _end(found: QuerySet[Session]) -> int:
    return found.delete()[0]


def _id_of(session_key: str) -> str:
    return salted_hmac(_SALT, session_key, algorithm="sha256").hexdigest()[:24]
