"""The product is killed in the middle of an answer, started again on the same data, and stopped in that of others."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.browser.test_product import Running, start
from tests.ports import free_port
from tests.sign_in import sign_in_by_link


def signed_in(running: Running) -> httpx.Client:
    base, _, token = running.link.rpartition("/signin/")
    client = httpx.Client(base_url=base, timeout=120, follow_redirects=True, trust_env=False)
    sign_in_by_link(client, f"/signin/{token}")
    return client


def wait_until_settled(client: httpx.Client, request_id: str) -> dict[str, object]:
    deadline = time.monotonic() + 120
    while True:
        summary: dict[str, object] = client.get(f"/api/requests/{request_id}").json()
        if summary["error"]:
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
    """Of those that a page gets which follows the request to its end."""
    last: dict[str, object] = {}
    with client.stream("GET", f"/api/requests/{request_id}/events") as lines:
        for line in lines.iter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: ")).get("events", [last])[-1]
    return last


def test_what_is_open_when_the_product_is_stopped_or_killed_is_failed(run_product: Callable[[], Running]) -> None:
    running = run_product()
    with closing(signed_in(running)) as client:
        request_id = start(client, "Write a very long story.", max_tokens=4000)
    running.process.kill()
    running.process.wait()
    running.wait_until_all_gone()

    running = run_product()
    assert any("left open by the last run" in line for line in running.lines)
    with closing(signed_in(running)) as client, ThreadPoolExecutor(1) as beside:
        summary = wait_until_settled(client, request_id)
        assert summary["status"] == "failed"
        assert "Send the message again" in str(summary["error"])

        open_ids = [start(client, "Write a very long story.", max_tokens=4000) for _ in range(2)]
        conversation = client.post("/api/conversations", json={}).json()["id"]
        body = {"text": "One by one.", "is_stepped": True}
        stepped = client.post(f"/api/conversations/{conversation}/messages", json=body).json()
        open_ids.append(stepped["assistant_message"]["request_id"])
        seen = beside.submit(last_event, client, open_ids[0])
        asked = time.monotonic()
        running.end()
        assert time.monotonic() - asked < 10
        assert (seen.result()["type"], seen.result()["code"]) == ("request.failed", "service_stopped")
    assert running.process.returncode == 0
    running.wait_until_all_gone()
    # Not at the next start: the database has the ends already.
    with closing(sqlite3.connect(running.data / "sightglass.sqlite3")) as database:
        ends = database.execute("SELECT id, error_code FROM lifecycle_request WHERE finished_at IS NOT NULL").fetchall()
    assert dict(ends) == dict.fromkeys([request_id, *open_ids], "service_stopped")
