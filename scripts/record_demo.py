"""Records the requests that `manage.py seed_demo` shows with their traces.

Starts the product's processes twice on data folders of their own, under the names of the demonstration's models, and
asks the questions of `scripts.demo_conversations`. One answer loses its worker: it is killed. Others wait until a new
worker has started. Of the logs only the workers' names are changed, since they name this machine.

    python -m scripts.record_demo
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from scripts import demo_conversations as planned
from scripts.demo_conversations import Planned
from webapp.demo.recorded import FILE, RecordedConversation, RecordedMessage, write
from webapp.demo.renaming import renamed
from webapp.environment import ROOT, read_environment
from webapp.supervisor.child import Child
from webapp.supervisor.product import Product
from webapp.traces.file.archive import decode, encode

PORT = 8769
MODELS = {
    "demo-small": (planned.SMALL, planned.SMALL_IN_THE_INCIDENT),
    "demo-large": (planned.LARGE, planned.LARGE_IN_THE_INCIDENT),
}
WORKER = "recorded-worker"
"""Name of each worker in the recorded logs."""
_START_S, _ANSWER_S = 240, 120
_STALL_S = 6
"""After so many silent seconds the product takes a killed worker for lost."""
_BETWEEN_S = 1.5
"""Between two requests that wait."""
_NUM_TEXTS = 30
"""Pieces of text that the answer has when its worker is killed."""
_PRICES = "from webapp.demo.prices import set_prices; set_prices()"


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
        self.client.get(self._manage("signin_link").strip())
        self.client.get("/accounts/login/")
        self.client.headers["X-CSRFToken"] = self.client.cookies["csrftoken"]

    def start_worker(self) -> Child:
        child = self._product.start_inference()
        self._children.append(child)
        return child

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


def begin(site: Site, each: Planned) -> str:
    """Begin the conversation. Returns its id."""
    body = {"system_prompt": each.system_prompt, "params": each.params}
    return str(site.post("/api/conversations", body)["id"])


def ask(site: Site, conversation: str, text: str, parent: str | None = None) -> dict[str, Any]:
    """Send a question. Returns the message of its answer."""
    sent = site.post(f"/api/conversations/{conversation}/messages", {"text": text, "parent_id": parent})
    answer: dict[str, Any] = sent["assistant_message"]
    return answer


def converse(site: Site, each: Planned) -> str:
    """Ask one question after the other. Returns the conversation's id."""
    conversation, parent = begin(site, each), None
    for question in each.questions:
        answer = ask(site, conversation, question, parent)
        site.settled(answer["request_id"])
        parent = answer["id"]
    for number in range(each.num_regenerated):
        again = site.post(f"/api/messages/{parent}/regenerate", {"params": each.params | {"seed": 2 + number}})
        site.settled(again["assistant_message"]["request_id"])
    return conversation


def lose_worker(site: Site, worker: Child, each: Planned) -> str:
    """Kill the worker in the middle of its answer. Returns the conversation's id."""
    conversation = begin(site, each)
    answer = ask(site, conversation, each.questions[0])
    site.follow_text(answer["request_id"])
    worker.send(signal.SIGKILL)
    worker.wait(10)
    site.settled(answer["request_id"])
    return conversation


def wait_for_a_worker(site: Site, waiting: Sequence[Planned]) -> list[str]:
    """Ask while there is no worker, then start one. Returns the ids of the conversations."""
    begun, answers = [begin(site, each) for each in waiting], []
    for conversation, each in zip(begun, waiting, strict=True):
        answers.append(ask(site, conversation, each.questions[0]))
        time.sleep(_BETWEEN_S)
    site.start_worker()
    for answer in answers:
        site.settled(answer["request_id"])
    return begun


def kept(site: Site, conversation_id: str, kind: Any) -> RecordedConversation:
    """The conversation as the product kept it."""
    found = site.get(f"/api/conversations/{conversation_id}")
    messages = tuple(
        RecordedMessage(
            each["id"],
            each["parent_id"],
            each["role"],
            each["text"] if each["role"] == "user" else "",
            each["request_id"],
        )
        for each in found["messages"]
    )
    return RecordedConversation(kind, found["model"], found["title"], found["system_prompt"], found["params"], messages)


def record(model: str) -> tuple[list[RecordedConversation], dict[str, bytes]]:
    calm, incident = MODELS[model]
    with running(model) as site:
        worker = site.start_worker()
        site.wait_for_worker()
        ids = [converse(site, each) for each in calm]
        ids.append(lose_worker(site, worker, planned.LOST))
        ids += wait_for_a_worker(site, incident)
        kinds = [each.kind for each in (*calm, planned.LOST, *incident)]
        conversations = [kept(site, each, kind) for each, kind in zip(ids, kinds, strict=True)]
        requests = [each.request_id for found in conversations for each in found.messages if each.request_id]
        return conversations, {each: site.trace(each) for each in requests}


def main() -> None:
    conversations, traces = [], {}
    for model in MODELS:
        found, saved = record(model)
        conversations += found
        traces |= saved
    write(conversations, traces)
    print(f"Wrote {len(traces)} requests, {FILE.stat().st_size:,} bytes: {FILE}")


if __name__ == "__main__":
    main()
