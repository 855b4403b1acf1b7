"""A call waits for its user while the lifecycle worker is killed: the decision still counts, and the call runs once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import PATIENT, Processes, kill


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Processes]:
    running = Processes(tmp_path, **PATIENT)
    yield running
    running.close()


def test_a_call_that_waits_outlives_the_lifecycle_worker(site: Processes) -> None:
    site.start_inference()
    body = {"tools": ["rename_conversation"]}
    conversation = site.client.post("/api/conversations", json=body).raise_for_status().json()["id"]
    message = {"text": "Call this conversation: Sums.", "must_call": True, "params": {"max_tokens": 200}}
    sent = site.client.post(f"/api/conversations/{conversation}/messages", json=message).raise_for_status().json()
    request_id = sent["assistant_message"]["request_id"]
    events = site.events(request_id)
    question = next(event for event in events if event["type"] == "tool.approval_asked")
    kill(site.lifecycle)
    decision = {"call_id": question["call_id"], "approve": True}
    path = f"/api/requests/{request_id}/approvals"
    assert site.client.post(path, json=decision).status_code == 202
    site.lifecycle = site.start_lifecycle()
    rest = declining(site, path, events)
    of_call = [event["type"] for event in rest if event.get("call_id") == question["call_id"]]
    assert of_call == ["tool.approved", "tool.called", "tool.finished"]
    assert rest[-1]["type"] == "request.finished"
    result = next(event["result"] for event in rest if event["type"] == "tool.finished")
    title = site.client.get(f"/api/conversations/{conversation}").json()["title"]
    assert result == f"The conversation is now called {title!r}."


def declining(site: Processes, path: str, events: Any) -> list[dict[str, Any]]:
    """The rest of the events. Calls of later rounds are declined."""
    found = []
    for event in events:
        found.append(event)
        if event["type"] == "tool.approval_asked":
            decision = {"call_id": event["call_id"], "approve": False}
            site.client.post(path, json=decision).raise_for_status()
    return found
