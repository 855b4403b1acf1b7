"""The inference workers as the lifecycle workers see them: heartbeats, the queues of generations, questions on caches.

Takes the place of what the product keeps in Redis for this. Knows nothing of what a worker runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from inference.engine.scheduling.prefix_cache import root_key
from inference.eventlog.keys import model_queue, worker_queue
from tests.simulation.questions import MODEL
from tests.simulation.server import Server
from tests.simulation.world import Process, World
from webapp.requests.workers import WorkerStatus

TOKENIZER = "1"
NUM_PLACES = 3
QUEUE = model_queue(MODEL, TOKENIZER)
_PATIENCE_S = 0.5
_ASKED_S = 0.03
"""Patience with workers that are asked for their cached tokens."""


def ready() -> WorkerStatus:
    """Return the heartbeat of a worker that takes messages."""
    return WorkerStatus("ready", "1", "", MODEL, TOKENIZER, NUM_PLACES)


class Fleet:
    """The workers of the one simulated model."""

    def __init__(self, world: World, server: Server) -> None:
        self._world = world
        self._server = server
        self.processes: dict[str, Process] = {}
        """By the name that a worker has in the log."""

    def heartbeats(self) -> dict[str, WorkerStatus]:
        self._server.reach(_PATIENCE_S)
        beats, now = self._server.stored.beats.items(), self._world.now
        return {name: ready() for name, expires_at in beats if expires_at > now}

    def is_alive(self, name: str) -> bool:
        return name in self.heartbeats()

    def suspect(self, name: str) -> None:
        self._server.reach(_PATIENCE_S)
        self._server.stored.beats.pop(name, None)

    def ask(self, names: Sequence[str], ids: tuple[int, ...], model: str, principal: str) -> dict[str, int | None]:
        """As webapp.lifecycle.cache_peek: a worker that does not answer in time is left out."""
        try:
            self._server.reach(_ASKED_S)
        except redis.RedisError:
            return {}
        answers = {name: self._answer(name, ids, root_key(principal, model)) for name in names}
        if None in answers.values():
            self._world.pause(_ASKED_S)
        return {name: num for name, num in answers.items() if num is not None}

    def _answer(self, name: str, ids: tuple[int, ...], root: bytes) -> int | None:
        process = self.processes.get(name)
        if process is None or not process.is_alive:
            return None
        if max(process.stands_until, process.is_cut_until) > self._world.now:
            return None
        return int(process.holds.backend.num_cached(ids, root))

    # The queues of generations and of calls.

    def queue_lengths(self, *queues: str) -> list[int]:
        self._server.reach(_PATIENCE_S)
        return [len(self._server.stored.queues.get(queue, ())) for queue in queues]

    def num_generations(self, *queues: str) -> int:
        return sum(self.queue_lengths(*(queues or self._server.stored.names)))

    def add_generate_queue(self, name: str) -> None:
        self._server.reach(_PATIENCE_S)
        self._server.stored.names.add(name)

    def nameless(self) -> set[str]:
        """Return the queues of workers that have ended, and whose names are lost."""
        ended = {worker_queue(name) for name, process in self.processes.items() if not process.is_alive}
        return ended - self._server.stored.names

    def drop_lost_queues(self) -> None:
        living, stored = {worker_queue(name) for name in self.heartbeats()}, self._server.stored
        for queue in stored.names - living - {QUEUE}:
            stored.queues.pop(queue, None)

    # The user's last workers, in a list that placement keeps by a pipeline.

    def lrange(self, key: str, _start: int, _end: int) -> list[str]:
        self._server.reach(_PATIENCE_S)
        return list(self._server.stored.recent.get(key, ()))

    def pipeline(self, transaction: bool) -> _Recent:
        return _Recent(self._server)


class _Recent:
    """The pipeline with which a worker's name is put first in the list of a user's last ones."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._put = ("", "")
        self._most = 0

    def lrem(self, *_: Any) -> None:
        """The name is removed when it is put first."""

    def lpush(self, key: str, name: str) -> None:
        self._put = key, name

    def ltrim(self, _key: str, _start: int, end: int) -> None:
        self._most = end + 1

    def expire(self, *_: Any) -> None:
        """No simulated list lives so long."""

    def execute(self) -> None:
        self._server.reach(_PATIENCE_S)
        key, name = self._put
        recent = self._server.stored.recent
        recent[key] = [name, *(each for each in recent.get(key, ()) if each != name)][: self._most]
