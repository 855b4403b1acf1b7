"""Queue and lock of a simulated process, in place of those of the standard library. Knows nothing of their users."""

from __future__ import annotations

from collections import deque
from queue import Empty
from typing import Any

from tests.simulation.world import Thread, World


class WorldQueue:
    """A SimpleQueue for one reader."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._items: deque[Any] = deque()
        self._reader: Thread | None = None

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._reader is not None:
            self._world.wake(self._reader)

    def get(self, timeout: float) -> Any:
        if not self._items:
            self._reader = self._world.current
            self._world.park(timeout)
            self._reader = None
        if not self._items:
            raise Empty
        return self._items.popleft()


class WorldLock:
    """A Lock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_held = False
        self._waiting: deque[Thread] = deque()

    def acquire(self, timeout: float) -> bool:
        if self._is_held:
            thread = self._world.current
            assert thread is not None
            self._waiting.append(thread)
            self._world.park(timeout)
            if thread in self._waiting:
                self._waiting.remove(thread)
        if self._is_held:
            return False
        self._is_held = True
        return True

    def release(self) -> None:
        self._is_held = False
        if self._waiting:
            self._world.wake(self._waiting.popleft())
