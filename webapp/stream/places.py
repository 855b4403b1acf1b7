"""Places for streams: each user may have a few open in one web process. Knows nothing of requests."""

from __future__ import annotations

import threading
from collections import Counter
from functools import cache

MAX_STREAMS = 32
"""Event streams and WebSockets of one user in one web process. A page has one WebSocket, which follows all it shows."""
REFUSAL = f"You have {MAX_STREAMS} streams open here. Close one, or follow several requests on one WebSocket."


class TooManyStreams(Exception):
    """The user has as many streams open as a user may have."""


class Place:
    """One open stream of a user, until it is left."""

    def __init__(self, places: Places, user_id: int) -> None:
        self._places = places
        self._user_id: int | None = user_id

    def leave(self) -> None:
        """Does nothing the second time: a stream's end is told by its content and by its response."""
        user_id, self._user_id = self._user_id, None
        if user_id is not None:
            self._places.give_back(user_id)


class Places:
    """The number of streams that each user has open."""

    def __init__(self) -> None:
        self._num_open: Counter[int] = Counter()
        self._lock = threading.Lock()

    def take(self, user_id: int) -> Place:
        """Raises TooManyStreams."""
        with self._lock:
            if self._num_open[user_id] >= MAX_STREAMS:
                raise TooManyStreams(REFUSAL)
            self._num_open[user_id] += 1
        return Place(self, user_id)

    def give_back(self, user_id: int) -> None:
        with self._lock:
            self._num_open[user_id] -= 1
            if not self._num_open[user_id]:
                del self._num_open[user_id]


@cache
def places() -> Places:
    """This process's places."""
    return Places()
