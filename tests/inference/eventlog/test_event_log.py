"""Both event logs keep the same promises."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from inference.eventlog.event_log import EXPIRY_S, RETIRED_EXPIRY_S, EventLog, Fenced, NothingHandedOver
from inference.eventlog.keys import handover_key, log_key
from inference.eventlog.memory import MemoryEventLog
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import RequestCancelled, TextReleased
from inference.protocol.request import GenerationRequest, SamplingParams, StepCommand


@pytest.fixture(params=["memory", "redis"])
def log(request: pytest.FixtureRequest) -> EventLog:
    if request.param == "memory":
        return MemoryEventLog()
    client: redis.Redis = request.getfixturevalue("redis_client")
    return RedisEventLog(client)


def text(n: int) -> TextReleased:
    return TextReleased(at=n, text=str(n), num_tokens=n)


def test_seq_counts_events_over_frames(log: EventLog) -> None:
    assert log.append("r", [text(1), text(2)], 1) == 2
    assert log.append("r", [text(3)], 1) == 3
    assert [(frame.seq, frame.last_seq) for frame in log.read("r")] == [(1, 2), (3, 3)]
    assert log.last_seq("r") == 3


def test_a_reader_gets_what_came_after_its_last_frame(log: EventLog) -> None:
    for n in range(5):
        log.append("r", [text(n)], 1)
    assert [frame.seq for frame in log.read("r", after=3)] == [4, 5]
    assert log.read("r", after=5) == []
    assert log.read("other") == []


def test_a_log_is_read_from_its_end_as_from_its_beginning(log: EventLog) -> None:
    for n in range(30):
        log.append("r", [text(n), text(n)], 1)
    assert list(log.read_backwards("r")) == log.read("r")[::-1]
    assert list(log.read_backwards("other")) == []


def test_a_list_of_commands_ends_somewhere(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("memory", "redis_log"):
        monkeypatch.setattr(f"inference.eventlog.{module}.MAX_COMMANDS", 3)
    for position in range(5):
        log.command("r", StepCommand(position=position))
    assert [command.position for command in log.commands("r", 1)] == [1, 2]
    assert [command.position for command in log.commands("r", -2)] == [1, 2]


def test_an_older_attempt_is_fenced(log: EventLog) -> None:
    log.append("r", [text(1)], 1)
    log.fence("r", 2)
    with pytest.raises(Fenced):
        log.append("r", [text(2)], 1)
    assert log.append("r", [text(2)], 2) == 2


def test_the_first_events_are_waited_for(log: EventLog) -> None:
    assert not log.await_first("r", 1, 0.01)
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(log.await_first("r", 1, 5)))
    waiting.start()
    log.append("r", [text(1)], 1)
    waiting.join()
    assert found == [True] and log.await_first("r", 1, 0.01)
    log.fence("r", 2)
    with pytest.raises(Fenced):
        log.await_first("r", 1, 0.01)


def test_each_attempt_is_claimed_once(log: EventLog) -> None:
    claims = [log.claim(request_id, attempt) for request_id, attempt in [("r", 1), ("r", 1), ("r", 2), ("s", 1)]]
    assert claims == [True, False, True, True]
    log.append("r", [text(1)], 1)
    assert not log.claim("r", 1)


def test_the_cancel_flag_is_per_request(log: EventLog) -> None:
    log.cancel("a")
    assert log.is_cancelled(["a", "b"]) == [True, False]
    assert log.is_cancelled([]) == []


def generation(attempt: int) -> GenerationRequest:
    return GenerationRequest(
        request_id="r",
        attempt=attempt,
        model="m",
        prompt_ids=(1, 2),
        params=SamplingParams(),
        accepted_unix_us=0,
        cache_salt="",
    )


def test_who_waits_is_given_what_is_handed_over(log: EventLog) -> None:
    with ThreadPoolExecutor() as beside:
        received = beside.submit(log.receive, "r", 1, 5)
        log.hand_over("r", [text(1)], 1, generation(1))
        assert received.result() == generation(1)
    assert [frame.seq for frame in log.read("r")] == [1]


def test_what_was_handed_over_can_be_asked_for_again_when_the_reply_was_lost(log: EventLog) -> None:
    log.hand_over("r", [text(1)], 1, generation(1))
    assert log.receive("r", 1, 1) == log.receive("r", 1, 1) == generation(1)
    log.hand_over("r", [text(2)], 2, generation(2))
    assert log.receive("r", 2, 1) == generation(2)
    assert log.receive("r", 1, 1) is None


def test_nothing_is_handed_over_or_claimed_by_an_attempt_that_was_overtaken(log: EventLog) -> None:
    log.fence("r", 2)
    with pytest.raises(Fenced):
        log.hand_over("r", [text(1)], 1, generation(1))
    with pytest.raises(Fenced):
        log.claim("r", 1)
    with pytest.raises(NothingHandedOver):
        log.receive("r", 1, 0.01)


@pytest.mark.parametrize("end", ["withdraw", "retire", "forget"])
def test_whoever_waits_or_will_wait_for_what_has_ended_hears_it(log: EventLog, end: str) -> None:
    with ThreadPoolExecutor() as beside:
        received = beside.submit(log.receive, "r", 1, 5)
        getattr(log, end)("r")
        assert received.result() is None
    log.hand_over("s", [text(1)], 1, generation(1))
    getattr(log, end)("s")
    assert log.receive("s", 1, 1) is None


def test_what_is_handed_over_expires(redis_client: redis.Redis) -> None:
    log = RedisEventLog(redis_client)
    for give in (lambda: log.hand_over("r", [text(1)], 1, generation(1)), lambda: log.withdraw("r")):
        give()
        log.receive("r", 1, 1)
        assert 0 < redis_client.ttl(handover_key("r")) <= EXPIRY_S


def test_an_empty_append_is_refused(log: EventLog) -> None:
    with pytest.raises(ValueError, match="at least one"):
        log.append("r", [], 1)


def test_concurrent_writers_leave_no_gap(log: EventLog) -> None:
    def write() -> None:
        for n in range(50):
            log.append("r", [text(n), RequestCancelled(at=n, by="test")], 1)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    frames = log.read("r")
    assert [frame.seq for frame in frames] == list(range(1, 401, 2))


def test_a_retired_log_keeps_its_numbering(redis_client: redis.Redis) -> None:
    log = RedisEventLog(redis_client)
    log.append("r", [text(1)], 2)
    log.retire("r")
    assert 0 < redis_client.ttl(log_key("r")) <= RETIRED_EXPIRY_S
    redis_client.delete(log_key("r"))
    assert log.last_seq("r") == 1
    with pytest.raises(Fenced):
        log.append("r", [text(2)], 1)
