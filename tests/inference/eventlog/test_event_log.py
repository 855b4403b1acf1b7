"""Both event logs keep the same promises."""

from __future__ import annotations

import threading

import pytest
import redis

from inference.eventlog.entry import BEGINNING, Mark, end_of
from inference.eventlog.event_log import EXPIRY_S, RETIRED_EXPIRY_S, EventLog, Fenced, LogLost
from inference.eventlog.keys import log_key, meta_key
from inference.eventlog.memory import MemoryEventLog
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import RequestCancelled, TextReleased
from inference.protocol.request import StepCommand
from tests.lost_logs import lose


@pytest.fixture(params=["memory", "redis"])
def log(request: pytest.FixtureRequest) -> EventLog:
    if request.param == "memory":
        return MemoryEventLog()
    client: redis.Redis = request.getfixturevalue("redis_client")
    return RedisEventLog(client)


def text(n: int) -> TextReleased:
    return TextReleased(at=n, text=str(n), num_tokens=n)


def test_seq_counts_events_over_frames(log: EventLog) -> None:
    assert log.append("r", [text(1), text(2)], 1).last_seq == 2
    assert log.append("r", [text(3)], 1).last_seq == 3
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
    assert log.append("r", [text(2)], 2).last_seq == 2


def test_a_log_that_is_forgotten_takes_no_attempt(log: EventLog) -> None:
    log.append("r", [text(1)], 1)
    log.forget("r")
    assert log.read("r") == []
    for attempt in (1, 2, 3):
        with pytest.raises(Fenced):
            log.claim("r", attempt)
        with pytest.raises(Fenced):
            log.append("r", [text(2)], attempt)


def test_a_frame_that_is_to_follow_another_stands_there_once(log: EventLog) -> None:
    log.append("r", [text(1), text(2)], 1)
    assert log.append("r", [text(3)], 1, known=Mark(2), is_next=True).last_seq == 3
    for known in (BEGINNING, Mark(2)):
        with pytest.raises(Fenced):
            log.append("r", [text(4)], 1, known, is_next=True)
    assert log.last_seq("r") == 3


def test_a_frame_may_follow_those_of_other_writers(log: EventLog) -> None:
    log.append("r", [text(1), text(2)], 1)
    assert log.append("r", [text(3)], 1, known=Mark(1)).last_seq == 3


@pytest.mark.parametrize("is_next", [False, True])
def test_nothing_is_appended_to_a_log_that_lost_its_end(log: EventLog, is_next: bool) -> None:
    for request_id, num_left in (("whole", 0), ("tail", 2)):
        if num_left:
            log.append(request_id, [text(n) for n in range(num_left)], 1)
        with pytest.raises(LogLost):
            log.append(request_id, [text(4)], 1, Mark(3), is_next)
        assert log.last_seq(request_id) == num_left


def test_each_frame_has_the_digest_of_all_before_it(log: EventLog) -> None:
    same = [[log.append(name, [text(n)], 1) for n in range(3)] for name in ("a", "b")]
    assert same[0] == same[1] == log.entries("a")
    assert [entry.follows for entry in same[0]] == ["", same[0][0].digest, same[0][1].digest]
    other = log.append("c", [text(9)], 1), log.append("c", [text(1)], 1)
    assert other[1].events == same[0][1].events and other[1].digest != same[0][1].digest
    assert log.mark("c") == other[1].mark == end_of(log.read("c"))
    assert log.mark("none") == end_of([]) == BEGINNING


def test_a_log_that_was_written_anew_takes_no_append_of_what_knew_its_tail(
    log: EventLog, redis_client: redis.Redis
) -> None:
    marks = [log.append("r", [text(n)], 1).mark for n in range(5)]
    lose(log, "r", 3, redis_client)
    for n in (7, 8, 9):  # as long as before, and then longer
        log.append("r", [text(n)], 1)
        for known in marks[3:]:
            with pytest.raises(LogLost):
                log.append("r", [text(4)], 1, known)
    assert log.append("r", [text(4)], 1, marks[2]).seq == 7


def test_a_lost_tail_is_put_back_as_it_was_with_its_attempt_and_claim(log: EventLog, redis_client: redis.Redis) -> None:
    whole = [log.append("r", [text(n), text(n)], 2, claim="mine") for n in range(5)]
    for num_left in range(5):
        lose(log, "r", num_left, redis_client)
        base = whole[num_left - 1].mark if num_left else BEGINNING
        log.put_back("r", 2, "mine", base, whole[num_left:])
        assert log.entries("r") == whole and log.mark("r") == whole[-1].mark
        with pytest.raises(Fenced):
            log.append("r", [text(1)], 1)
        assert not log.claim("r", 2, "another") and log.claim("r", 2, "mine")
    assert log.append("r", [text(6)], 2, whole[-1].mark).seq == 11


def test_nothing_is_put_back_into_a_log_that_has_gone_on(log: EventLog, redis_client: redis.Redis) -> None:
    whole = [log.append("r", [text(n)], 1) for n in range(4)]
    lose(log, "r", 2, redis_client)
    log.append("r", [text(9)], 1)
    with pytest.raises(LogLost):
        log.put_back("r", 1, "mine", whole[1].mark, whole[2:])
    log.fence("r", 2)
    with pytest.raises(Fenced):
        log.put_back("r", 1, "mine", log.mark("r"), whole[2:])
    assert [event.at for frame in log.read("r") for event in frame.events] == [0, 1, 9]


def test_of_two_tasks_with_one_attempt_whose_claim_was_lost_one_appends(
    log: EventLog, redis_client: redis.Redis
) -> None:
    log.append("r", [text(0)], 1)
    assert log.claim("r", 1, "second")
    with pytest.raises(Fenced):
        log.append("r", [text(1)], 1, claim="first")
    log.append("r", [text(1)], 1, claim="second")
    lost = log.append("r", [text(2)], 1, claim="second")
    lose(log, "r", 1, redis_client)  # the claim is as old as the frames
    log.append("r", [text(3)], 1, claim="third")
    with pytest.raises(Fenced):
        log.put_back("r", 1, "second", log.mark("r"), [lost])


def test_a_log_that_is_not_there_is_not_claimed(log: EventLog) -> None:
    with pytest.raises(LogLost):
        log.claim("r", 1)


def test_each_attempt_is_claimed_once(log: EventLog) -> None:
    for request_id in ("r", "s"):
        log.append(request_id, [text(0)], 1)
    claims = [log.claim(request_id, attempt) for request_id, attempt in [("r", 1), ("r", 1), ("r", 2), ("s", 1)]]
    assert claims == [True, False, True, True]
    log.append("r", [text(1)], 1)
    assert not log.claim("r", 1)


def test_the_cancel_flag_is_per_request(log: EventLog) -> None:
    log.cancel("a")
    assert log.is_cancelled(["a", "b"]) == [True, False]
    assert log.is_cancelled([]) == []


def test_an_attempt_that_was_overtaken_claims_nothing(log: EventLog) -> None:
    log.fence("r", 2)
    with pytest.raises(Fenced):
        log.claim("r", 1)


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


def test_a_log_expires_once_it_is_retired_and_its_numbering_later(redis_client: redis.Redis) -> None:
    log = RedisEventLog(redis_client)
    log.append("r", [text(1)], 2)
    assert min(redis_client.ttl(log_key("r")), redis_client.ttl(meta_key("r"))) > 20 * 86_400
    log.retire("r")
    assert 0 < redis_client.ttl(meta_key("r")) <= EXPIRY_S
    assert 0 < redis_client.ttl(log_key("r")) <= RETIRED_EXPIRY_S
    redis_client.delete(log_key("r"))
    assert log.last_seq("r") == 1
    with pytest.raises(Fenced):
        log.append("r", [text(2)], 1)
