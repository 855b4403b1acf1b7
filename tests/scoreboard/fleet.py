"""A site whose workers are killed and replaced while streams run. Knows nothing of what is measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import redis

from inference.eventlog.keys import worker_key
from tests.faults.conftest import PATIENT, Processes, until
from tests.scoreboard.model import write_chatting
from webapp.operations.supervisor.child import Child

_START_S = 120


class Fleet:
    """The processes, and the workers among them by name."""

    def __init__(self, site: Processes) -> None:
        self.site = site
        self.client = redis.Redis.from_url(site.redis_url, decode_responses=True)

    def children(self) -> list[Child]:
        """The workers that run."""
        return [child for child in self.site.inference if child.exit_status is None]

    def ready(self) -> list[Child]:
        """The workers that take requests."""
        alive, found = {child.pid: child for child in self.children()}, []
        for key in list(self.client.scan_iter(worker_key("*"))):
            child = alive.get(pid_of(key))
            if child is not None and self.client.hget(key, "state") == "ready":
                found.append(child)
        return found

    def wait_ready(self, num: int) -> None:
        until(lambda: len(self.ready()) >= num, _START_S)

    def of(self, worker: str | None) -> Child | None:
        """The process of a worker that runs."""
        return next((child for child in self.children() if worker and child.pid == pid_of(worker)), None)


def pid_of(worker: str) -> int:
    return int(worker.split(":")[-2])


@contextmanager
def fleet(folder: Path, num_workers: int, is_tiny: bool = True, **environment: str) -> Iterator[Fleet]:
    """A started site on a folder of its own. is_tiny: a tiny model computes, and not the bundled one."""
    folder.mkdir(parents=True)
    model = {"SIGHTGLASS_MODEL": str(write_chatting(folder / "tiny.gguf"))} if is_tiny else {}
    site = Processes(folder / "data", **(PATIENT | model | environment))
    found = Fleet(site)
    try:
        for _ in range(num_workers):
            site.add_inference()
        found.wait_ready(num_workers)
        with closing(found.client):
            yield found
    finally:
        site.close()


def load_average() -> float:
    return os.getloadavg()[0]
