"""Workers that are missing or really killed: every request still ends, with one end, one bill and a clear reason."""

from __future__ import annotations

import time

from tests.faults.conftest import TIMEOUT_S, Processes, kill

HEARTBEAT_S = 10
"""The time after which a killed worker's heartbeat is gone: until then it may be busy."""
PATIENCE_S = 3 * TIMEOUT_S + HEARTBEAT_S
"""The time itself, up to a third of it until the watchdog looks, and room for a busy machine."""


START_S = 10
"""For a lifecycle worker to load what it needs."""


def test_without_an_inference_worker_a_request_fails_in_time(processes: Processes) -> None:
    """First in this file: no inference worker has been started yet."""
    start = time.monotonic()
    events = list(processes.events(processes.send("Hello")))
    assert TIMEOUT_S <= time.monotonic() - start < PATIENCE_S
    assert (events[-1]["type"], events[-1]["code"]) == ("request.failed", "no_worker")
    assert "Start one" in events[-1]["message"]


def test_an_answer_without_another_worker_fails_in_time_and_the_next_worker_serves(processes: Processes) -> None:
    worker = processes.start_inference()
    request_id = processes.send("Write a very long story about a river.", max_tokens=4000)
    events = processes.events(request_id)
    seen = [next(event for event in events if event["type"] == "text.released")]
    kill(worker)
    seen += events
    assert [event["cause"] for event in seen if event["type"] == "generation.interrupted"] == ["lost"]
    assert (seen[-1]["type"], seen[-1]["code"]) == ("request.failed", "worker_lost")
    processes.wait_until_unready()
    shown = processes.settled(request_id)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "worker_lost")

    processes.start_inference()
    again = list(processes.events(processes.send("Say hello.", max_tokens=5)))
    assert again[-1]["type"] == "request.finished"


def test_an_answer_outlives_the_worker_that_would_settle_it(processes: Processes) -> None:
    request_id = processes.send("Write a very long story about the sea.", max_tokens=600)
    events = processes.events(request_id)
    assert any(event["type"] == "text.released" for event in events)
    kill(processes.lifecycle)
    assert any(event["type"] == "generation.finished" for event in events)
    processes.lifecycle = processes.start_lifecycle()
    rest = [event["type"] for event in events]
    assert rest == ["bill.posted", "request.finished"]
    shown = processes.settled(request_id)
    assert shown["status"] == "done"
    assert shown["cost_nano"] > 0
