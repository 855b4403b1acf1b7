"""The product for `scripts.record_demo`, without its supervisor, so that a worker can die alone.

Knows nothing of what is asked.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from webapp.environment import ROOT, read_environment
from webapp.operations.demo.renaming import renamed
from webapp.operations.supervisor.child import Child
from webapp.operations.supervisor.product import Product
from webapp.traces.file.archive import decode, encode

PORT = 8769
WORKER = "recorded-worker"
"""Name of each worker in the recorded logs: its own would name this machine."""
_START_S, _ANSWER_S = 240, 120
_STALL_S = 6
"""After so many silent seconds the product takes a killed worker for lost."""
_NUM_TEXTS = 30
"""Pieces of text that the answer has when its worker is killed."""
_PRICES = "from webapp.operations.demo.prices import set_prices; set_prices()"


class Site:
    """The running product, whose worker starts and dies by itself."""

    def __init__(self, data: Path, model: str) -> None:
        own = {
            "PORT": str(PORT),
            "SIGHTGLASS_DATA": str(data),
            "SIGHTGLASS_MODEL_NAME": model,
            "SIGHTGLASS_STALL_TIMEOUT_S": str(_STALL_S),
            "SIGHTGLASS_QUEUE_TIMEOUT_S": "120",
        }
        os.environ.update(own)
        self._environment = dataclasses.replace(read_environment(), data=data)
        self._product = Product(self._environment)
        self._children: list[Child] = []
        self._workers: set[str] = set()

    def start(self) -> None:
        self._manage("migrate", "--verbosity", "0")
        self._manage("shell", "--verbosity", "0", "--command", _PRICES)
        self._children += [self._product.start_redis(), self._product.start_lifecycle(), self._product.start_web()]
        self.client = httpx.Client(base_url=self._environment.address, timeout=_ANSWER_S)
        until(lambda: self._status("/healthz") == 200)
        self._sign_in(self._manage("signin_link").strip())

    def _sign_in(self, link: str) -> None:
        self.client.get(link)
        self.client.post(link, headers={"X-CSRFToken": self.client.cookies["csrftoken"]})
        self.client.headers["X-CSRFToken"] = self.client.cookies["csrftoken"]

    def start_worker(self) -> Child:
        child = self._product.start_inference()
        self._children.append(child)
        return child

    def kill(self, worker: Child) -> None:
        worker.send(signal.SIGKILL)
        worker.wait(10)

    def wait_for_worker(self) -> None:
        until(lambda: self._status("/readyz") == 200)

    def stop(self) -> None:
        for child in reversed(self._children):
            child.send(signal.SIGKILL)
            child.wait(10)
        shutil.rmtree(self._product.runtime)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self.client.post(path, json=body).raise_for_status().json()

    def get(self, path: str) -> Any:
        return self.client.get(path).raise_for_status().json()

    def follow_text(self, request_id: str) -> None:
        """Return in the middle of the answer."""
        with self.client.stream("GET", f"/api/requests/{request_id}/events") as response:
            texts = (line for line in response.iter_lines() if "text.released" in line)
            for _ in range(_NUM_TEXTS):
                next(texts)

    def settled(self, request_id: str) -> None:
        until(lambda: self.get(f"/api/requests/{request_id}")["status"] not in ("queued", "running"))

    def trace(self, request_id: str) -> bytes:
        """The saved trace, with another name of the worker."""
        answer = self.client.get(f"/api/requests/{request_id}/export?format=sgtrace").raise_for_status()
        archive = decode(answer.content)
        names = {each.worker: WORKER for frame in archive.frames for each in frame.events if hasattr(each, "worker")}
        return encode(renamed(archive.frames, names), archive.summary)

    def _status(self, path: str) -> int | None:
        try:
            return self.client.get(path).status_code
        except httpx.TransportError:
            return None

    def _manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_S
    while not is_true():
        if time.monotonic() > deadline:
            raise SystemExit("the product did not answer in time; its logs are in the folder of its data")
        time.sleep(0.1)


@contextmanager
def running(model: str) -> Iterator[Site]:
    """The site, its worker not started yet."""
    data = Path(tempfile.mkdtemp(prefix="sightglass-demo-"))
    site = Site(data, model)
    try:
        site.start()
        yield site
    finally:
        site.stop()
        shutil.rmtree(data, ignore_errors=True)
