"""A Redis that lost frames, or all of its data, in mid-answer: the answer goes on whole, and is billed once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import redis

from inference.eventlog.redis_log import RedisEventLog
from tests.faults.conftest import PATIENT, Processes, kill
from tests.lost_logs import lose

pytestmark = pytest.mark.slow

PARAMS: dict[str, object] = {"max_tokens": 120, "temperature": 0.8, "seed": 5}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT)
    running.start_inference()
    yield running
    running.close()


@pytest.fixture(scope="module")
def undisturbed(site: Processes) -> list[int]:
    """Ids of the answer."""
    return ids(site.events(site.send("Tell me a story about the sea.", **PARAMS)))


def ids(events: Any) -> list[int]:
    return [event["id"] for event in events if event["type"] == "token.sampled"]


def whole(site: Processes, request_id: str) -> list[dict[str, Any]]:
    """The saved events, once the request is done: each once, with one bill."""
    assert site.settled(request_id)["status"] == "done"
    frames = list(site.frames(request_id))
    events = [event for frame in frames for event in frame["events"]]
    assert frames[0]["seq"] == 1 and events[0]["type"] == "request.accepted"
    (bill,) = [event for event in events if event["type"] == "bill.posted"]
    assert site.ledger_total(request_id) == bill["total_nano"]
    return events


def sent_until(site: Processes, num_tokens: int) -> tuple[str, Iterator[dict[str, Any]]]:
    """A request of which so many tokens were shown, and its further frames."""
    request_id = site.send("Tell me a story about the sea.", **PARAMS)
    frames = site.frames(request_id)
    num = 0
    while num < num_tokens:
        num += len(ids(next(frames)["events"]))
    return request_id, frames


@pytest.mark.parametrize("num_lost", [1, 7, 50])
def test_a_live_worker_puts_back_what_redis_lost_and_the_client_notices_nothing(
    site: Processes, undisturbed: list[int], num_lost: int
) -> None:
    request_id, frames = sent_until(site, 20)
    with closing(redis.from_url(site.redis_url)) as client:
        log = RedisEventLog(client)
        num = len(log.entries(request_id))
        lose(log, request_id, max(0, num - num_lost), client)
        assert [event["type"] for frame in frames for event in frame["events"]][-1] == "request.finished"
    events = whole(site, request_id)
    assert ids(events) == undisturbed
    assert not [event for event in events if event["type"] in ("generation.interrupted", "generation.resumed")]


def test_a_redis_that_is_emptied_in_mid_answer_has_the_answer_again(site: Processes, undisturbed: list[int]) -> None:
    request_id, frames = sent_until(site, 20)
    with closing(redis.from_url(site.redis_url)) as client:
        client.flushall()
    assert list(frames)[-1]["events"][-1]["type"] == "request.finished"
    assert ids(whole(site, request_id)) == undisturbed


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_log_whose_worker_died_with_its_tail_goes_on_with_the_next(
    site: Processes, undisturbed: list[int], is_emptied: bool
) -> None:
    """The client had read what is lost: it is told to begin again, and reads one log."""
    request_id, _ = sent_until(site, 20)
    kill(site.inference[-1])
    with closing(redis.from_url(site.redis_url)) as client:
        log = RedisEventLog(client)
        if is_emptied:
            client.flushall()
        else:
            lose(log, request_id, len(log.entries(request_id)) - 3, client)
    site.start_inference()
    assert ids(whole(site, request_id)) == undisturbed
