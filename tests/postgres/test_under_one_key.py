"""Calls that really come at once under one Idempotency-Key begin their work once, on both databases."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from typing import Any

import httpx
import pytest

from tests.faults.conftest import Processes, until

NUM_SENDERS = 50


def post_at_once(running: Processes, path: str, body: dict[str, Any]) -> list[httpx.Response]:
    client, ready = running.client, Barrier(NUM_SENDERS)

    def post(_: int) -> httpx.Response:
        headers = {**client.headers, "Idempotency-Key": path}
        with httpx.Client(base_url=client.base_url, cookies=client.cookies, headers=headers, timeout=120) as own:
            own.get("/healthz")
            ready.wait(60)
            return own.post(path, json=body)

    with ThreadPoolExecutor(NUM_SENDERS) as senders:
        return list(senders.map(post, range(NUM_SENDERS)))


@pytest.fixture
def answered(running: Processes) -> dict[str, Any]:
    """An answer that has ended. An earlier file may have started the inference worker."""
    if not running.workers():
        running.start_inference()
    settled(running, request_id := running.send("Hello", max_tokens=4))
    answer: dict[str, Any] = running.client.get(f"/api/requests/{request_id}").json()
    return {"request_id": request_id, "message_id": answer["message_id"]}


def settled(running: Processes, request_id: str) -> None:
    assert running.settled(request_id)["status"] == "done"


def num_bills(running: Processes) -> int:
    with closing(running.connect()) as database:
        found: tuple[int] = database.execute("SELECT COUNT(*) FROM billing_ledgerentry").fetchone()
    return found[0]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/messages/{message_id}/regenerate", {"params": {"max_tokens": 4}}),
        ("/api/requests/{request_id}/fork", {"position": 1, "params": {"max_tokens": 4}}),
        ("/api/requests/{request_id}/reruns", {}),
    ],
    ids=["regenerate", "fork", "reruns"],
)
def test_fifty_calls_under_one_key_begin_one(
    running: Processes, answered: dict[str, Any], path: str, body: dict[str, Any]
) -> None:
    before = num_bills(running)
    replies = post_at_once(running, path.format(**answered), body)
    assert Counter(reply.status_code for reply in replies) == {201: NUM_SENDERS}
    assert sum("Idempotent-Replayed" not in reply.headers for reply in replies) == 1
    (begun,) = {reply.json().get("id") or reply.json()["assistant_message"]["request_id"] for reply in replies}
    if path.endswith("reruns"):
        until(lambda: run_of(running, begun) is not None, 120)
        begun = run_of(running, begun)
    settled(running, begun)
    assert num_bills(running) == before + 1


def run_of(running: Processes, rerun_id: str) -> str | None:
    """The request of the set's only run, once it has begun."""
    (run,) = running.client.get(f"/api/reruns/{rerun_id}").json()["runs"]
    return run["request"]["id"] if run["request"] else None
