"""The product under its own supervisor, as `manage.py up` starts it, and the state of its processes.

Knows nothing of what is measured.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from tests.browser.running import Running, descendants
from tests.faults.conftest import until
from tests.ports import free_port
from tests.processes import is_alive
from tests.scoreboard.model import write_chatting
from tests.sign_in import sign_in_by_link

_NAMED = re.compile(r" -n (\S+)@%h ")
_MARKS = {"valkey": "redis", "webapp.serve": "web"}
_SETTINGS = {"SIGHTGLASS_THREADS": "1", "SIGHTGLASS_OTLP_ENDPOINT": "http://127.0.0.1:1"}
"""The address of no collector: the sender runs, and tries again."""
_GONE_S = 10


class Supervised:
    """A started product on a data folder and a port of its own, which a tiny model serves."""

    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(parents=True)
        self.data, self._port = folder / "data", free_port()
        model = str(write_chatting(folder / "tiny.gguf"))
        self._environment = {"SIGHTGLASS_MODEL": model} | _SETTINGS | environment
        self.running = self._run()
        url = environment.get("SIGHTGLASS_DATABASE_URL")
        self.connect: Callable[[], Any] = lambda: (
            psycopg.connect(url) if url else sqlite3.connect(self.data / "sightglass.sqlite3", timeout=30)
        )
        base, _, token = self.running.link.rpartition("/signin/")
        self.client = httpx.Client(base_url=base, timeout=30, trust_env=False)
        sign_in_by_link(self.client, f"/signin/{token}")
        until(lambda: {"probes", "sender"} <= self.pids().keys(), 60)

    @property
    def redis_url(self) -> str:
        """It changes with each start of the product."""
        return str(psutil.Process(self.pids()["web"]).environ()["SIGHTGLASS_REDIS_URL"])

    def pids(self) -> dict[str, int]:
        """The process of each part that runs, by name; also the supervisor's own."""
        found = {"supervisor": self.running.process.pid}
        for pid, command in descendants(self.running.process.pid).items():
            if (name := _name_of(command)) and is_alive(pid):
                found[name] = pid
        return found

    def kill(self, part: str) -> None:
        """Kill one part with SIGKILL. What its supervisor starts again is not awaited."""
        os.kill(self.pids()[part], signal.SIGKILL)

    def start_again(self) -> None:
        """Start the product on its data once its supervisor is dead, as the operator's system does."""
        self.running.process.wait(_GONE_S)
        self.running.end()
        until(lambda: not self.strays(), _GONE_S)
        self.running = self._run()

    def strays(self) -> list[int]:
        """Processes of this product that its supervisor does not own."""
        owned = {self.running.process.pid, *descendants(self.running.process.pid)} if self._is_up() else set()
        return [pid for pid in psutil.pids() if pid not in owned and self._is_ours(pid)]

    def send(self, text: str, **params: object) -> str:
        """Send a message in a conversation of its own; the request's id."""
        conversation = self.client.post("/api/conversations", json={}).raise_for_status().json()["id"]
        body = {"text": text, "params": params}
        reply = self.client.post(f"/api/conversations/{conversation}/messages", json=body).raise_for_status()
        return str(reply.json()["assistant_message"]["request_id"])

    def is_ready(self) -> bool:
        """/readyz says so."""
        with suppress(httpx.TransportError):
            return self.client.get("/readyz").status_code == 200
        return False

    def close(self) -> None:
        self.client.close()
        self.running.end()
        until(lambda: not self.strays(), _GONE_S)

    def _run(self) -> Running:
        return Running(self.data, self._port, **self._environment)

    def _is_up(self) -> bool:
        return self.running.process.poll() is None

    def _is_ours(self, pid: int) -> bool:
        with suppress(psutil.Error):
            return psutil.Process(pid).environ().get("SIGHTGLASS_DATA") == str(self.data) and is_alive(pid)
        return False


def _name_of(command: str) -> str | None:
    if found := _NAMED.search(command):
        return found[1]
    return next((name for mark, name in _MARKS.items() if mark in command), None)


@contextmanager
def supervised(folder: Path, **environment: str) -> Iterator[Supervised]:
    """A product for as long as the context is open."""
    site = Supervised(folder, **environment)
    try:
        yield site
    finally:
        site.close()
