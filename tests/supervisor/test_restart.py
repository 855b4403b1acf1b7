"""Processes are killed in the middle of an answer: one of the product's, or all of it, started again on its data."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.browser.test_product import Running, start
from tests.faults.conftest import Processes
from tests.ports import free_port
from tests.sign_in import sign_in_by_link

STORY = "Write a very long story."


def signed_in(running: Running) -> httpx.Client:
    base, _, token = running.link.rpartition("/signin/")
    client = httpx.Client(base_url=base, timeout=120, follow_redirects=True, trust_env=False)
    sign_in_by_link(client, f"/signin/{token}")
    return client


def wait_until_settled(client: httpx.Client, request_id: str) -> dict[str, object]:
    deadline = time.monotonic() + 120
    while True:
        summary: dict[str, object] = client.get(f"/api/requests/{request_id}").json()
        if summary["status"] not in ("queued", "running"):
            return summary
        assert time.monotonic() < deadline, summary
        time.sleep(0.05)


@pytest.fixture
def run_product(tmp_path: Path) -> Iterator[Callable[[], Running]]:
    """Starts the product, each time on the same data."""
    with ExitStack() as stack:

        def run() -> Running:
            running = Running(tmp_path, free_port())
            stack.callback(running.end)
            return running

        yield run


def last_event(client: httpx.Client, request_id: str) -> dict[str, object]:
    """The last event that a page gets which follows the request to its end."""
    last: dict[str, object] = {}
    with client.stream("GET", f"/api/requests/{request_id}/events") as lines:
        for line in lines.iter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: ")).get("events", [last])[-1]
    return last


def shown_text(client: httpx.Client, request_id: str, num_pieces: int | None = None) -> str:
    """The first pieces of the answer's text, or all to its end, as a page that follows it reads them."""
    pieces: list[str] = []
    with client.stream("GET", f"/api/requests/{request_id}/events") as lines:
        for line in lines.iter_lines():
            if line.startswith("data: "):
                events = json.loads(line.removeprefix("data: ")).get("events", [])
                pieces += [event["text"] for event in events if event["type"] == "text.released"]
            if num_pieces is not None and len(pieces) >= num_pieces:
                break
    return "".join(pieces)


def test_what_is_open_when_the_product_is_stopped_or_killed_is_failed(run_product: Callable[[], Running]) -> None:
    running = run_product()
    with closing(signed_in(running)) as client:
        request_id = start(client, STORY, max_tokens=4000)
        shown = shown_text(client, request_id, 20)
    running.process.kill()
    running.process.wait()
    running.wait_until_all_gone()

    running = run_product()
    assert any("left open by the last run" in line for line in running.lines)
    with closing(signed_in(running)) as client:
        summary = wait_until_settled(client, request_id)
        assert summary["status"] == "failed"
        assert "Send the message again" in str(summary["error"])
        assert shown_text(client, request_id).startswith(shown)  # and nothing that a page has shown is lost

        params = {"max_tokens": 4000, "regex": "([a-z]{2,9} ){400}", "stop_on_repetition": False}
        open_ids = [start(client, STORY, **params) for _ in range(2)]
        conversation = client.post("/api/conversations", json={}).json()["id"]
        body = {"text": "One by one.", "is_stepped": True}
        stepped = client.post(f"/api/conversations/{conversation}/messages", json=body).json()
        open_ids.append(stepped["assistant_message"]["request_id"])
        running.end()
    assert running.process.returncode == 0
    running.wait_until_all_gone()
    # Not at the next start: the database has the ends already.
    with closing(sqlite3.connect(running.data / "sightglass.sqlite3")) as database:
        ends = database.execute("SELECT id, error_code FROM lifecycle_request WHERE finished_at IS NOT NULL").fetchall()
    assert dict(ends) == dict.fromkeys([request_id, *open_ids], "service_stopped")
    # This start ends nothing that the last run left open.
    with closing(Processes(running.data)) as site:
        for each in open_ids:
            end = last_event(site.client, each)
            assert (end["type"], end["code"]) == ("request.failed", "service_stopped")


def kill(running: Running, name: str) -> None:
    """Kill the process, and wait until another is in its place."""
    pid = running.children()[name]
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while running.children().get(name) in (pid, None):
        assert time.monotonic() < deadline
        time.sleep(0.05)
        running.look()


def answer_of(running: Running) -> str:
    """The answer to a new message. Pages try again while a process starts, and so does this."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with closing(signed_in_again(running)) as client:
                request_id = start(client, "Say hello.", max_tokens=20)
                summary = wait_until_settled(client, request_id)
                assert summary["status"] == "done", summary
                return shown_text(client, request_id)
        except (httpx.HTTPError, AssertionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def signed_in_again(running: Running) -> httpx.Client:
    running.sign_in("admin")
    return signed_in(running)


@pytest.fixture(scope="module")
def undisturbed(product: Running) -> str:
    """The answer that greedy decoding gives where no process is killed."""
    with closing(signed_in_again(product)) as client:
        return shown_text(client, start(client, STORY, max_tokens=600))


@pytest.mark.parametrize("name", ["redis", "lifecycle", "web", "inference"])
def test_an_answer_outlives_each_process(product: Running, undisturbed: str, name: str) -> None:
    with closing(signed_in_again(product)) as client:
        request_id = start(client, STORY, max_tokens=600)
        shown_text(client, request_id, 5)
    kill(product, name)
    assert answer_of(product)
    with closing(signed_in_again(product)) as client:
        assert wait_until_settled(client, request_id)["status"] == "done"
        assert shown_text(client, request_id) == undisturbed
