"""Turns for imports: few at once, since each holds a whole file as objects in this web process.

Knows nothing of files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from webapp.gateway.errors import ApiError

MAX_IMPORTS = 2
"""Imports of all users at once in one web process."""
_RETRY_S = 5


class _Turns:
    """The users whose imports are under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: set[int] = set()

    def begin(self, user_id: int) -> None:
        """Raises ApiError."""
        with self._lock:
            if user_id in self._users:
                raise _busy("Your import before this one is under way.")
            if len(self._users) >= MAX_IMPORTS:
                raise _busy("Other imports are under way.")
            self._users.add(user_id)

    def end(self, user_id: int) -> None:
        with self._lock:
            self._users.discard(user_id)


def _busy(why: str) -> ApiError:
    return ApiError(429, "import_busy", f"{why} Try again in a few seconds.", retry_after_s=_RETRY_S)


@cache
def _turns() -> _Turns:
    """This process's turns."""
    return _Turns()


@contextmanager
def import_turn(user_id: int) -> Iterator[None]:
    """Hold the user's turn to import. Raises ApiError where the user has one, or too many others have."""
    _turns().begin(user_id)
    try:
        yield
    finally:
        _turns().end(user_id)
