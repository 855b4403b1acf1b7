"""The simulated Celery: queues in Redis whose messages come late, twice, out of order, or never.

Knows nothing of what tasks do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kombu.exceptions import OperationalError

from tests.simulation.server import Message, Server
from tests.simulation.world import Thread, World

_PATIENCE_S = 0.5
ROUTES = {"lifecycle.prepare": "prepare", "lifecycle.call": "tools"}


@dataclass
class _Waiting:
    thread: Thread
    queues: Sequence[str]
    message: Message | None = None


class Broker:
    """Takes messages and hands them to threads that wait for one."""

    def __init__(self, world: World, server: Server, seen: Callable[[Message], None]) -> None:
        """seen: told of each message that was sent."""
        self._world = world
        self._server = server
        self._seen = seen
        self._waiting: list[_Waiting] = []
        self.num_late = 0
        """Messages on their way."""
        self.losses = self.doubles = self.delays = 0.0
        """Shares of the messages."""

    def send_task(self, name: str, args: Any = (), kwargs: Any = None, queue: str | None = None, **_: Any) -> None:
        """As Celery's. Raises OperationalError, also where the message arrives."""
        self._server.reach(_PATIENCE_S, OperationalError)
        self.put(queue or ROUTES.get(name, "settle"), Message(name, tuple(args), kwargs or {}))
        self._world.wrote()
        if self._world.chance(self._server.lost_replies):
            raise OperationalError("the reply was lost")

    def put(self, queue: str, message: Message, after_s: float = 0.0) -> None:
        self._seen(message)
        world = self._world
        if world.chance(self.losses):
            world.tell("%s is lost", message)
            world.disturb()
            return
        for _ in range(1 + world.chance(self.doubles)):
            late_s = after_s + (world.random.uniform(0, 6) if world.chance(self.delays) else 0)
            world.tell("%s is queued%s", message, f", {late_s:.3f} s late" if late_s else "")
            self.num_late += 1
            if late_s:
                world.disturb(world.now + late_s)
            world.at(world.now + late_s, lambda: self._arrive(queue, message))

    def _arrive(self, queue: str, message: Message) -> None:
        self.num_late -= 1
        self._server.stored.queues.setdefault(queue, []).append(message)
        self.match()

    def take(self, queues: Sequence[str]) -> Message:
        """Wait for a message. It is gone from its queue when the process that took it dies."""
        assert self._world.current is not None
        waiting = _Waiting(self._world.current, queues)
        self._waiting.append(waiting)
        self.match()
        while waiting.message is None:
            self._world.park()
        return waiting.message

    def match(self) -> None:
        """Hand queued messages to threads that can take one."""
        self._waiting = [each for each in self._waiting if each.thread.process.is_alive]
        for waiting in list(self._waiting):
            process = waiting.thread.process
            if max(process.is_cut_until, self._server.is_away_until) > self._world.now:
                continue
            if process.holds is not None and not process.holds.is_taking:
                continue
            for queue in waiting.queues:
                if messages := self._server.stored.queues.get(queue):
                    waiting.message = messages.pop(0)
                    self._waiting.remove(waiting)
                    self._world.wake(waiting.thread)
                    break

    def move(self, queue: str, target: str) -> None:
        """Move the messages of one queue to another."""
        queues = self._server.stored.queues
        queues.setdefault(target, []).extend(queues.pop(queue, ()))
        self.match()

    def waiting(self) -> list[str]:
        """Return the queues that have messages."""
        return [queue for queue, messages in self._server.stored.queues.items() if messages]
