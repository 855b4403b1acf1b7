"""A worker repairs a log that lost its last frames, or all of them, wherever that happens; else it writes no more."""

from __future__ import annotations

import itertools

import pytest
import redis

from inference.eventlog.event_log import EventLog, Fenced, LogLost
from inference.eventlog.memory import MemoryEventLog
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import RequestCancelled, TextReleased
from inference.worker import journal
from inference.worker.journal import Journal
from tests.lost_logs import lose

NUM_OWN = 8
CUTS = [(num_before, num_left) for num_before in range(1, NUM_OWN) for num_left in range(2 + num_before)]
"""After so many frames of the worker, so many of all frames are left."""


@pytest.fixture(params=["memory", "redis"])
def log(request: pytest.FixtureRequest, redis_client: redis.Redis) -> EventLog:
    return MemoryEventLog() if request.param == "memory" else RedisEventLog(redis_client)


def text(n: int) -> TextReleased:
    return TextReleased(at=n, text=str(n), num_tokens=1)


def prepared(log: EventLog, request_id: str = "r") -> Journal:
    """The log as a worker finds it: two frames of the site."""
    log.append(request_id, [text(100), text(101)], 1)
    last = log.append(request_id, [text(102)], 1)
    assert log.claim(request_id, 1, "mine")
    return Journal(log, request_id, 1, last.last_seq, "mine")


def whole() -> list[object]:
    log = MemoryEventLog()
    own = prepared(log)
    for n in range(NUM_OWN):
        own.append([text(n)] * (1 + n % 3))
    return list(log.entries("r"))


def check_chain(log: EventLog) -> None:
    entries = log.entries("r")
    for before, after in itertools.pairwise(entries):
        assert (after.seq, after.follows) == (before.last_seq + 1, before.digest)
    assert log.mark("r") == entries[-1].mark


@pytest.mark.parametrize(("num_before", "num_left"), CUTS)
def test_a_log_put_back_to_any_frame_is_as_if_it_never_was(
    log: EventLog, redis_client: redis.Redis, num_before: int, num_left: int
) -> None:
    own = prepared(log)
    for n in range(NUM_OWN):
        if n == num_before:
            lose(log, "r", num_left, redis_client)
        own.append([text(n)] * (1 + n % 3))
    assert log.entries("r") == whole()
    assert not log.claim("r", 1, "another")


def test_a_frame_of_another_process_is_put_back_too_and_with_it_the_stop(
    log: EventLog, redis_client: redis.Redis
) -> None:
    own = prepared(log)
    own.append([text(1)])
    log.cancel("r")
    log.append("r", [RequestCancelled(at=2, by="user")], 1)
    own.append([text(3)])
    before = log.entries("r")
    lose(log, "r", 1, redis_client)
    own.append([text(4)])
    assert log.entries("r")[:-1] == before
    assert log.is_cancelled(["r"]) == [True]
    check_chain(log)


@pytest.mark.parametrize("num_left", [0, 2, 3])
def test_a_log_in_which_others_wrote_since_is_left_to_the_next_attempt(
    log: EventLog, redis_client: redis.Redis, num_left: int
) -> None:
    own = prepared(log)
    for n in range(4):
        own.append([text(n)])
    lose(log, "r", num_left, redis_client)
    for _ in range(3):  # so that it is as long as the worker knows it, and longer
        log.append("r", [RequestCancelled(at=9, by="user")], 1)
        left = log.entries("r")
        with pytest.raises(LogLost):
            own.append([text(5)])
        assert log.entries("r") == left
    check_chain(log)


def test_a_worker_that_was_overtaken_after_the_loss_puts_nothing_back(log: EventLog, redis_client: redis.Redis) -> None:
    own = prepared(log)
    own.append([text(1)])
    lose(log, "r", 1, redis_client)
    log.fence("r", 2)
    with pytest.raises(Fenced):
        own.append([text(2)])
    assert len(log.entries("r")) == 1


def test_of_two_workers_that_have_one_attempt_after_a_loss_one_goes_on(
    log: EventLog, redis_client: redis.Redis
) -> None:
    own = prepared(log)
    own.append([text(1)])
    lose(log, "r", 2, redis_client)
    assert log.claim("r", 1, "another")  # its message came back with the queue
    other = Journal(log, "r", 1, 3, "another")
    with pytest.raises(Fenced):
        own.append([text(2)])
    other.append([text(7)])
    with pytest.raises(Fenced):
        own.append([text(2)])
    assert [event.at for frame in log.read("r") for event in frame.events] == [100, 101, 102, 7]


def test_what_a_copy_does_not_hold_any_more_is_not_put_back(
    log: EventLog, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = prepared(log)
    size = len(log.append("other", [text(1)], 1).events)
    monkeypatch.setattr(journal, "MAX_BYTES", 3 * size)
    for n in range(8):
        own.append([text(n)])
    expected = log.entries("r")
    lose(log, "r", len(expected) - 2, redis_client)
    own.append([text(8)])
    assert log.entries("r")[:-1] == expected
    lose(log, "r", 4, redis_client)
    with pytest.raises(LogLost):
        own.append([text(9)])
    assert len(log.entries("r")) == 4


def test_an_attempt_that_resumes_reads_all_that_it_was_queued_after(log: EventLog, redis_client: redis.Redis) -> None:
    prepared(log).append([text(1)])
    resumed = Journal(log, "r", 2, 4)
    assert [frame.last_seq for frame in resumed.read()] == [2, 3, 4]
    lose(log, "r", 1, redis_client)
    resumed.append([text(2)])
    assert log.last_seq("r") == 5
    lose(log, "r", 2, redis_client)
    with pytest.raises(LogLost):
        Journal(log, "r", 3, 5).read()
