"""Workers that are killed or held while they compute: another goes on after the last token in the log."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import pytest
import redis

from tests.faults.conftest import PATIENT, Processes, kill
from webapp.operations.supervisor.child import Child

STORY = "Write a very long story about a river."
PARAMS = {"max_tokens": 300, "temperature": 0.8, "seed": 5}
NUM_KILLS = 5


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT, SIGHTGLASS_DRAIN_S="0")
    running.start_inference()
    yield running
    running.close()


@pytest.fixture(scope="module")
def undisturbed(site: Processes) -> list[dict[str, Any]]:
    return list(site.events(site.send(STORY, **PARAMS)))


def of(events: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def ids(events: Iterable[dict[str, Any]]) -> list[int]:
    return [event["id"] for event in of(events, "token.sampled")]


def worker_of(site: Processes, events: list[dict[str, Any]]) -> Child:
    """The process that runs the last attempt."""
    name = [event["worker"] for event in events if event["type"] in ("generation.started", "generation.resumed")][-1]
    pid = int(name.split(":")[-2])
    return next(child for child in site.inference if child.pid == pid)


def check_whole(site: Processes, request_id: str, frames: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """The same answer, each event once and in order, and one bill for what an undisturbed answer has."""
    events = [event for frame in frames for event in frame["events"]]
    seqs = [frame["seq"] for frame in frames]
    assert seqs == list(itertools.accumulate((len(frame["events"]) for frame in frames[:-1]), initial=1))
    assert ids(events) == ids(expected)
    text = "".join(event["text"] for event in of(events, "text.released"))
    assert text == "".join(event["text"] for event in of(expected, "text.released"))
    (finished,), (bill,) = of(events, "generation.finished"), of(events, "bill.posted")
    (whole,) = of(expected, "generation.finished")
    for usage in (finished["usage"], whole["usage"]):
        usage["input"] = usage["uncached_input"] + usage["cache_read"] + usage["cache_write_5m"]
    assert [finished["usage"][kind] for kind in ("input", "output")] == [
        whole["usage"][kind] for kind in ("input", "output")
    ]
    shown = site.settled(request_id)
    assert (shown["status"], shown["cost_nano"]) == ("done", bill["total_nano"])
    assert site.ledger_total(request_id) == bill["total_nano"]
    saved = [event for event in site.events(request_id) if event["type"] != "request.observed"]
    assert ids(saved) == ids(events)


def follow(site: Processes, request_id: str, num_events: int) -> tuple[list[dict[str, Any]], Iterator[dict[str, Any]]]:
    """The request's frames until so many pieces of text were shown, and those that follow."""
    frames, seen = site.frames(request_id), list[dict[str, Any]]()
    while sum(len(of(frame["events"], "text.released")) for frame in seen) < num_events:
        seen.append(next(frames))
    return seen, frames


def test_an_answer_goes_on_with_another_worker_however_often_its_own_is_killed(
    site: Processes, undisturbed: list[dict[str, Any]]
) -> None:
    request_id = site.send(STORY, **PARAMS)
    seen, frames = follow(site, request_id, 2)
    for num_killed in range(NUM_KILLS):
        kill(worker_of(site, [event for frame in seen for event in frame["events"]]))
        site.start_inference()
        while len(of((event for frame in seen for event in frame["events"]), "generation.resumed")) <= num_killed:
            seen.append(next(frames))
        while not of(seen[-1]["events"], "text.released"):
            seen.append(next(frames))
    seen += frames
    check_whole(site, request_id, seen, undisturbed)
    interrupted = of((event for frame in seen for event in frame["events"]), "generation.interrupted")
    assert [(event["attempt"], event["cause"]) for event in interrupted] == [
        (n, "lost") for n in range(1, NUM_KILLS + 1)
    ]


def test_a_worker_that_was_held_past_its_lease_writes_nothing_more(
    site: Processes, undisturbed: list[dict[str, Any]]
) -> None:
    site.start_inference()
    request_id = site.send(STORY, **PARAMS)
    seen, frames = follow(site, request_id, 2)
    held = worker_of(site, [event for frame in seen for event in frame["events"]])
    held.send(signal.SIGSTOP)
    while not of(seen[-1]["events"], "generation.resumed"):
        seen.append(next(frames))
    held.send(signal.SIGCONT)
    seen += frames
    check_whole(site, request_id, seen, undisturbed)
    assert list(site.events(site.send("Say hello.", max_tokens=2)))[-1]["type"] == "request.finished"
    kill(held)


def test_a_worker_that_is_stopped_hands_its_answers_over_at_its_deadline(
    site: Processes, undisturbed: list[dict[str, Any]]
) -> None:
    site.start_inference()
    request_id = site.send(STORY, **PARAMS)
    seen, frames = follow(site, request_id, 2)
    stopped = worker_of(site, [event for frame in seen for event in frame["events"]])
    stopped.send(signal.SIGTERM)
    seen += frames
    assert stopped.wait(60)
    check_whole(site, request_id, seen, undisturbed)
    interrupted = of((event for frame in seen for event in frame["events"]), "generation.interrupted")
    assert {event["cause"] for event in interrupted} == {"stopped"}


def test_a_request_that_ends_two_workers_is_refused_by_name_and_the_others_go_on(site: Processes) -> None:
    others = [site.send(f"Count to {number}.", max_tokens=200, temperature=0) for number in (20, 30)]
    request_id = site.send(STORY, **PARAMS)
    seen, frames = follow(site, request_id, 1)
    kill(worker_of(site, [event for frame in seen for event in frame["events"]]))
    site.start_inference()
    while not of(seen[-1]["events"], "request.failed"):
        seen.append(next(frames))
        if of(seen[-1]["events"], "generation.resumed"):
            kill(worker_of(site, seen[-1]["events"]))
            site.start_inference()
    ended = of((event for frame in seen for event in frame["events"]), "generation.interrupted")
    assert seen[-1]["events"][-1]["code"] == "ended_workers" and len(ended) >= 2
    assert [site.settled(other)["status"] for other in others] == ["done", "done"]
    assert site.settled(request_id)["cost_nano"] is None


def test_a_request_whose_message_died_with_its_worker_is_prepared_by_the_next(site: Processes) -> None:
    kill(site.lifecycle)
    request_id = site.send("Hello", max_tokens=5)
    with closing(redis.from_url(site.redis_url)) as client:
        assert client.delete("prepare") == 1
    site.lifecycle = site.start_lifecycle()
    assert site.settled(request_id)["status"] == "done"
