"""The product's processes without its supervisor, so that one of them can die alone."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings

from tests.environment import needs_migration, share_database, share_made
from tests.ports import free_port
from tests.preloaded import PreloadedChild, end_forks_of, manage
from tests.sign_in import link_in, sign_in_by_link
from webapp.operations.supervisor.child import Child
from webapp.operations.supervisor.model_workers import ModelWorker
from webapp.operations.supervisor.product import Product
from webapp.operations.supervisor.roles import environment_of

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 2
"""For the queue and for a silent worker."""
SETTINGS = {
    "SIGHTGLASS_QUEUE_TIMEOUT_S": str(TIMEOUT_S),
    "SIGHTGLASS_STALL_TIMEOUT_S": str(TIMEOUT_S),
    # Two threads that share a busy core wait for each other at every matrix product.
    "SIGHTGLASS_THREADS": "1",
}
_START_POLL_S = 0.2
"""While a process starts. Each look at the site computes for 10 ms, which the start would have had."""
PATIENT = {"SIGHTGLASS_QUEUE_TIMEOUT_S": "60", "SIGHTGLASS_STALL_TIMEOUT_S": "60"}
"""For what is not about time, on a machine that has other work."""


class Processes:
    """A site whose workers are started and killed one by one."""

    def __init__(self, data: Path, kind: type[Child] = PreloadedChild, **environment: str) -> None:
        """kind: of its processes."""
        share_made(data)
        self.data = data
        self._environment = dataclasses.replace(settings.ENVIRONMENT, data=data, port=free_port())
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (SETTINGS | environment | {"PORT": str(self._environment.port)}).items():
                patch.setenv(name, value)
            self._product = Product(self._environment, kind)
        self.redis_url = self._product.redis_url
        self._env = environment_of("web", self._product.env)
        url = environment.get("SIGHTGLASS_DATABASE_URL")
        self.connect: Callable[[], Any] = lambda: (
            psycopg.connect(url) if url else sqlite3.connect(data / "sightglass.sqlite3", timeout=30)
        )
        """Opens the product's database."""
        self.manage: Callable[..., str] = functools.partial(manage, self._env)
        self._children: list[Child] = []
        self.inference: list[Child] = []
        """All inference workers that were started."""
        if not url:
            share_database(data)
        if needs_migration(environment):
            self.manage("migrate", "--verbosity", "0")
        self.redis = self.start_redis()
        self.lifecycle = self.start_lifecycle()
        self.web = self.start_web()
        self.client = httpx.Client(base_url=self._environment.address, timeout=240)
        self.wait_for("/healthz")
        link = self.manage("signin_link").strip() if url else link_in(data / "sightglass.sqlite3")
        sign_in_by_link(self.client, link)

    def start_redis(self) -> Child:
        return self._keep(self._product.start_redis())

    def start_lifecycle(self) -> Child:
        return self._keep(self._product.start_lifecycle())

    def start_web(self) -> Child:
        return self._keep(self._product.start_web())

    def start_inference(self, state: str = "ready") -> Child:
        """Returns when its model is loaded, or whatever else is expected of it."""
        child = self.add_inference()
        until(lambda: any(worker["state"] == state for worker in self.workers()), 240, _START_POLL_S)
        return child

    def add_inference(self) -> Child:
        """Returns at once."""
        child = self._keep(self._product.start_inference())
        self.inference.append(child)
        return child

    def start_other_worker(self, worker: ModelWorker, app: str) -> Child:
        """Start a worker of an added model with a Celery app of the test's. Returns at once."""
        command = [sys.executable, "-m", "celery", "-A", app, "worker", "-n", f"{worker.name}@%h"]
        options = ["-c", "16", "-P", "threads", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        log = self._product.logs / f"{worker.name}.log"
        return self._keep(PreloadedChild(worker.name, [*command, *options], log, worker.environment(self._env)))

    def start_python(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        """Run code in a process of the site's, and read what it prints. The caller ends it."""
        command = [sys.executable, "-c", code, *arguments]
        env = self._env | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
        return subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def workers(self) -> list[dict[str, str]]:
        """What the site knows of its inference workers."""
        found: list[dict[str, str]] = self.client.get("/api/health").json()["workers"]
        return found

    def _keep(self, child: Child) -> Child:
        self._children.append(child)
        return child

    def wait_until_unready(self) -> None:
        """Until the site has forgotten a dead worker, so that its successor is not taken for ready too soon."""
        until(lambda: self.status("/readyz") == 503, 120)

    def wait_for(self, path: str) -> None:
        until(lambda: self.status(path) == 200, 240, _START_POLL_S)

    def status(self, path: str) -> int | None:
        try:
            return self.client.get(path).status_code
        except httpx.TransportError:
            return None

    def send(self, text: str, **params: object) -> str:
        """In a conversation of its own; the request's id."""
        return self.say(self.converse(), text, **params)

    def converse(self) -> str:
        """A new conversation's id."""
        return str(self.client.post("/api/conversations", json={}).raise_for_status().json()["id"])

    def say(self, conversation: str, text: str, **params: object) -> str:
        """The request's id."""
        body = {"text": text, "params": params}
        return str(
            self.client.post(f"/api/conversations/{conversation}/messages", json=body)
            .raise_for_status()
            .json()["assistant_message"]["request_id"]
        )

    def drain(self, worker: str, is_drained: bool) -> int:
        """The answer's status."""
        return self.client.patch(f"/api/live/workers/{worker}", json={"is_drained": is_drained}).status_code

    def frames(self, request_id: str) -> Iterator[dict[str, Any]]:
        """Live, until the end of the request."""
        with self.client.stream("GET", f"/api/requests/{request_id}/events") as response:
            for line in lines_of(response):
                if line.startswith(b'data: {"seq"'):
                    yield json.loads(line[6:])

    def events(self, request_id: str) -> Iterator[dict[str, Any]]:
        """Those of the frames."""
        for frame in self.frames(request_id):
            yield from frame["events"]

    def logs(self) -> list[Path]:
        """What the processes have written."""
        return sorted(self._product.logs.iterdir())

    def cancel(self, request_id: str) -> None:
        self.client.post(f"/api/requests/{request_id}/cancel").raise_for_status()

    def settled(self, request_id: str) -> dict[str, Any]:
        """The summary, once the row is written."""
        path, found = f"/api/requests/{request_id}", {}

        def is_settled() -> bool:
            found.update(self.client.get(path).json())
            return found["status"] not in ("queued", "running")

        until(is_settled, 120)
        return found

    def ledger_total(self, request_id: str) -> int:
        """Of the request's entries, as its database has them."""
        statement = f"SELECT SUM(total_nano) FROM billing_ledgerentry WHERE request_id = '{request_id}'"
        with closing(self.connect()) as database:
            ((total,),) = database.execute(statement).fetchall()
        return int(total or 0)

    def close(self) -> None:
        self.client.close()
        for child in reversed(self._children):
            child.send(signal.SIGKILL)
            assert child.wait(10)
        end_forks_of(self._env)
        shutil.rmtree(self._product.runtime)


def lines_of(response: httpx.Response) -> Iterator[bytes]:
    """Ended by LF alone, as in server-sent events; httpx's own would also break a text at U+0085."""
    rest = b""
    for chunk in response.iter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def kill(child: Child) -> None:
    child.send(signal.SIGKILL)
    assert child.wait(10)


def until(is_true: Callable[[], bool], limit_s: float, every_s: float = 0.05) -> None:
    deadline = time.monotonic() + limit_s
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(every_s)


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"))
    yield running
    running.close()
