"""Starts and stops the workers of added models as the registry changes. Nothing of them stops the product."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from functools import partial

from django.db import DatabaseError, close_old_connections

from webapp.operations.supervisor.child import Child
from webapp.operations.supervisor.model_workers import ModelWorker, wanted
from webapp.operations.supervisor.part import Part

LOOK_S = 1.0
"""Interval between looks at the registry: one short query."""


class Fleet:
    """Owns the processes of added models' workers."""

    def __init__(self, start: Callable[[ModelWorker], Child], say: Callable[[str], None]) -> None:
        self._start = start
        self._say = say
        self._parts: dict[ModelWorker, Part] = {}
        self._leaving: list[Child] = []
        """Workers that end their answers after SIGTERM."""
        self._next_look = 0.0
        self._is_blind = False

    @property
    def children(self) -> list[Child]:
        return [*(part.child for part in self._parts.values()), *self._leaving]

    def tend(self) -> None:
        """Start again what has ended; once a second, follow the registry."""
        for part in self._parts.values():
            part.keep(self._say)
        self._leaving = [child for child in self._leaving if child.exit_status is None]
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_S
            self._look()

    def follow(self, workers: Sequence[ModelWorker]) -> None:
        """Let exactly these workers run."""
        for worker in self._parts.keys() - set(workers):
            child = self._parts.pop(worker).child
            self._say(f"the {child.title} process stops: its model is retired, failed or changed")
            child.send(signal.SIGTERM)
            self._leaving.append(child)
        for worker in workers:
            if worker not in self._parts:
                self._add(worker)

    def _add(self, worker: ModelWorker) -> None:
        start = partial(self._start, worker)
        try:
            self._parts[worker] = Part(start, start())
        except OSError as error:  # no memory, no process or no file can be had at the moment
            self._say(f"the {worker.name} process cannot be started ({error}); it is tried again")
        else:
            self._say(f"the {worker.name} process starts")

    def _look(self) -> None:
        try:
            close_old_connections()
            self.follow(wanted())
            self._is_blind = False
        except DatabaseError as error:
            if not self._is_blind:
                self._say(f"the registry cannot be read ({error}); it is tried again")
            self._is_blind = True
