"""Two workers of one model: each request goes where it begins soonest, and past what cannot take it."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.conftest import PATIENT, Processes, kill, until
from webapp.operations.supervisor.child import Child

STORY = "Write a very long story about a river."


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT)
    running.start_inference()
    running.start_inference()
    until(lambda: states(running) == ["ready", "ready"], 240)
    yield running
    running.close()


def states(site: Processes) -> list[str]:
    return sorted(worker["state"] for worker in site.workers())


def worker_of(events: list[dict[str, Any]]) -> str:
    (name,) = [event["worker"] for event in events if event["type"] == "generation.started"]
    return str(name)


def process_of(site: Processes, name: str) -> Child:
    return next(child for child in site.inference if child.pid == int(name.split(":")[-2]))


def turn(site: Processes, conversation: str, text: str, **params: object) -> list[dict[str, Any]]:
    return list(site.events(site.say(conversation, text, **params)))


def test_a_conversation_stays_with_the_worker_that_holds_it(site: Processes) -> None:
    text = "Tell me one more fact about rivers. " * 20
    for _ in range(3):
        conversation = site.converse()
        names = [worker_of(turn(site, conversation, text, max_tokens=5)) for _ in range(3)]
        assert len(set(names)) == 1


def test_requests_at_the_same_time_are_spread(site: Processes) -> None:
    ids = [site.send(f"Count to {number}.", max_tokens=100, temperature=0) for number in range(6)]
    names = Counter(worker_of(list(site.events(request_id))) for request_id in ids)
    assert len(names) == 2


def test_a_worker_that_drains_ends_its_answers_and_the_other_takes_the_rest(site: Processes) -> None:
    request_id = site.send(STORY, max_tokens=200)
    events = []
    for event in site.events(request_id):
        events.append(event)
        if event["type"] == "generation.started":
            assert site.drain(event["worker"], True) == 204
    drained = worker_of(events)
    assert events[-1]["type"] == "request.finished"
    until(lambda: states(site) == ["draining", "ready"], 60)
    ids = [site.send(f"Count to {number}.", max_tokens=5) for number in range(4)]
    assert drained not in {worker_of(list(site.events(each))) for each in ids}
    site.drain(drained, False)
    until(lambda: states(site) == ["ready", "ready"], 60)


def test_a_request_sent_to_a_worker_that_hangs_or_is_gone_is_taken_by_the_other(site: Processes) -> None:
    conversation = site.converse()
    name = worker_of(turn(site, conversation, STORY, max_tokens=5))
    held = process_of(site, name)
    held.send(signal.SIGSTOP)
    assert worker_of(turn(site, conversation, "Go on.", max_tokens=5)) != name
    held.send(signal.SIGCONT)
    until(lambda: states(site) == ["ready", "ready"], 60)
    kill(held)
    assert turn(site, conversation, "And on.", max_tokens=5)[-1]["type"] == "request.finished"
