"""Places for streams: each user may have a few open in one web process. Knows nothing of requests."""

from __future__ import annotations

import threading
from functools import cache
from weakref import WeakSet

MAX_STREAMS = 32
"""Event streams and WebSockets of one user in one web process. A page has one WebSocket, which follows all it shows."""
REFUSAL = f"You have {MAX_STREAMS} streams open here. Close one, or follow several requests on one WebSocket."


class TooManyStreams(Exception):
    """The user has as many streams open as a user may have."""


class Place:
    """One open stream of a user, until it is left, or until nothing refers to it: an answer may be dropped unsent."""

    def __init__(self, places: Places, user_id: int) -> None:
        self._places = places
        self.user_id = user_id

    def leave(self) -> None:
        """Does nothing the second time: a stream's end is told by its content and by its response."""
        self._places.give_back(self)


class Places:
    """The streams that are open."""

    def __init__(self) -> None:
        self._open: WeakSet[Place] = WeakSet()
        self._lock = threading.Lock()

    def take(self, user_id: int) -> Place:
        """Raises TooManyStreams."""
        with self._lock:
            if sum(place.user_id == user_id for place in self._open) >= MAX_STREAMS:
                raise TooManyStreams(REFUSAL)
            place = Place(self, user_id)
            self._open.add(place)
        return place

    def give_back(self, place: Place) -> None:
        with self._lock:
            self._open.discard(place)


@cache
def places() -> Places:
    """This process's places."""
    return Places()
