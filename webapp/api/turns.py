"""Turns for imports, exports of accounts and pasted texts: few at once in this web process. Knows nothing of files.

An import holds a whole file as objects. An export reads all rows of a user, and holds one of the few web threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from webapp.ground.gateway.errors import ApiError

MAX_AT_ONCE = 2
"""Imports of all users at once in one web process, as many exports, and as many pasted texts."""
_RETRY_S = 5


class _Turns:
    """The users whose work of one kind is under way."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._users: set[int] = set()

    @contextmanager
    def turn(self, user_id: int) -> Iterator[None]:
        """Hold the user's turn. Raises ApiError where the user has one, or too many others have."""
        self._begin(user_id)
        try:
            yield
        finally:
            with self._lock:
                self._users.discard(user_id)

    def _begin(self, user_id: int) -> None:
        with self._lock:
            if user_id in self._users:
                raise self._busy(f"Your {self._kind} before this one is under way.")
            if len(self._users) >= MAX_AT_ONCE:
                raise self._busy(f"Other {self._kind}s are under way.")
            self._users.add(user_id)

    def _busy(self, why: str) -> ApiError:
        return ApiError(429, f"{self._kind}_busy", f"{why} Try again in a few seconds.", retry_after_s=_RETRY_S)


@cache
def imports() -> _Turns:
    """This process's turns to import."""
    return _Turns("import")


@cache
def pastes() -> _Turns:
    """This process's turns to take a pasted text apart."""
    return _Turns("paste")


@cache
def exports() -> _Turns:
    """This process's turns to export an account."""
    return _Turns("export")
