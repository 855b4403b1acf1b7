"""Django's session engine with an idle and an absolute limit: one row is one sign-in. Knows nothing of HTTP.

A row's `expire_date` carries both limits, so Django itself refuses an ended session wherever one is looked up: for a
request, a WebSocket, and the streams, which look again every few seconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

from webapp.identity.accounts.models import Session

_SIGN_IN = "sign_in"
NOTED_EVERY = timedelta(minutes=1)
"""Use is written no more often, so that not every request writes."""


class SessionStore(DatabaseStore):
    """A session whose row names its user, its beginning and its last use."""

    _row: Session | None = None
    """As it was read."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        self._row = self._get_session_from_db()  # type: ignore[attr-defined]
        return self.decode(self._row.session_data) if self._row else {}

    def begin(self, browser: str, system: str, network: str) -> None:
        """Note the sign-in that begins now, for the row. Django keeps the id where its user signs in once more."""
        if _SIGN_IN in self:
            self.cycle_key()
        self[_SIGN_IN] = {"at": timezone.now().isoformat(), "browser": browser, "system": system, "network": network}

    def note_use(self) -> None:
        """Move the idle limit. Writes once a minute at most, and nothing where the session has ended meanwhile."""
        row, now = self._row, timezone.now()
        if row is None or row.user_id is None or now - row.seen_at < NOTED_EVERY:
            return
        found = Session.objects.filter(pk=row.pk, seen_at__lte=now - NOTED_EVERY)
        found.update(seen_at=now, expire_date=_end(row.began_at, now))

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        return _told(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Session:
        return _told(await super().acreate_model_instance(data), data)


def _told(row: AbstractBaseSession, data: dict[str, Any]) -> Session:
    """The row with what the session's data tell of its sign-in."""
    assert isinstance(row, Session)
    now, sign_in = timezone.now(), data.get(_SIGN_IN, {})
    row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
    row.began_at = datetime.fromisoformat(sign_in["at"]) if sign_in else now
    row.seen_at, row.expire_date = now, _end(row.began_at, now)
    row.browser, row.system, row.network = (sign_in.get(name, "") for name in ("browser", "system", "network"))
    return row


def _end(began_at: datetime, seen_at: datetime) -> datetime:
    """The moment at which the nearer of both limits is reached."""
    limits = settings.ENVIRONMENT
    idle, longest = timedelta(minutes=limits.session_idle_minutes), timedelta(minutes=limits.session_minutes)
    return min(seen_at + idle, began_at + longest)
