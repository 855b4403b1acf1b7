"""Work in the background whose worker is killed in the midst: the next worker does it, whole and once."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import Any

from tests.faults.conftest import Processes, kill, until


def test_a_set_outlives_its_worker(processes: Processes) -> None:
    worker = processes.start_inference()
    original = processes.send("Write a story about a river.", max_tokens=40, temperature=0.7)
    assert processes.settled(original)["status"] == "done"
    made = processes.client.post(f"/api/requests/{original}/reruns", json={"n": 6}).raise_for_status().json()

    def runs() -> list[dict[str, object]]:
        found: list[dict[str, object]] = processes.client.get(f"/api/reruns/{made['id']}").json()["runs"]
        return found

    until(lambda: any(run["state"] == "running" for run in runs()), 120)
    kill(worker)
    processes.wait_until_unready()
    assert any(run["state"] != "done" for run in runs())
    processes.start_inference()
    until(lambda: all(run["state"] == "done" for run in runs()), 240)
    texts = {answer(processes, str(run["request"]["id"])) for run in runs()}  # type: ignore[index]
    assert texts == {answer(processes, original)}


def answer(processes: Processes, request_id: str) -> tuple[int, ...]:
    """Its token ids."""
    return tuple(event["id"] for event in processes.events(request_id) if event["type"] == "token.sampled")


HELD = """
import sys
import django
django.setup()
from webapp.usage.repricing import work
from webapp.usage.repricing.comparison import Comparison
add = Comparison.add
def add_one(self, request):
    add(self, request)
    print("in the midst", flush=True)
    sys.stdin.read()
Comparison.add = add_one
work.run(sys.argv[1])
"""
"""Compares as a lifecycle worker does, and stands still once it has taken in one request."""


def test_a_comparison_of_prices_outlives_its_worker(processes: Processes) -> None:
    if not any(worker["state"] == "ready" for worker in processes.workers()):
        processes.start_inference()
    for text in ("Say one.", "Say two."):
        processes.settled(processes.send(text, max_tokens=4))
    kill(processes.lifecycle)
    made = processes.client.post("/api/repricings", json={}).raise_for_status().json()

    def progress() -> dict[str, Any]:
        found: dict[str, Any] = processes.client.get(f"/api/repricings/{made['id']}").raise_for_status().json()
        return found

    with processes.start_python(HELD, made["id"]) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == "in the midst\n"
        assert progress()["state"] == "running"
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    processes.lifecycle = processes.start_lifecycle()
    until(lambda: progress()["state"] == "done", 240)
    rows = progress()["rows"]
    num_requests = sum(row["num_requests"] + row["num_unknown"] for row in rows)
    billed = sum(row["billed_nano"] + row["unknown_nano"] for row in rows)
    assert (num_requests, billed) == recorded(processes)


def recorded(processes: Processes) -> tuple[int, int]:
    """Number and cost of all requests that used tokens."""
    statement = "SELECT COUNT(*), SUM(cost_nano) FROM usage_usagerecord WHERE price_version <> ''"
    with closing(processes.connect()) as database:
        ((number, cost),) = database.execute(statement).fetchall()
    return int(number), int(cost)
