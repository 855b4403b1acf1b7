"""Leases tell which requests are overdue, and a late worker cannot keep one that another attempt holds."""

from __future__ import annotations

import pytest
import redis

from inference.eventlog.leases import Holding, Leases, RedisLeases
from inference.eventlog.memory_leases import MemoryLeases

LONG_S = 1000.0


@pytest.fixture(params=["memory", "redis"])
def leases(request: pytest.FixtureRequest) -> Leases:
    if request.param == "memory":
        return MemoryLeases()
    client: redis.Redis = request.getfixturevalue("redis_client")
    return RedisLeases(client)


def test_a_request_is_overdue_once_its_deadline_has_passed(leases: Leases) -> None:
    assert leases.grant("a", 1, LONG_S) and leases.grant("b", 1, -2) and leases.grant("c", 1, -1)
    assert list(leases.overdue()) == ["b", "c"]
    assert leases.renew([Holding("b", 1), Holding("c", 1)], LONG_S) == 2
    assert leases.overdue() == {}


def test_an_attempt_renews_only_what_it_holds(leases: Leases) -> None:
    leases.grant("a", 2, -1)
    assert not leases.grant("a", 1, LONG_S)
    assert leases.renew([Holding("a", 1), Holding("a", 3), Holding("unknown", 1)], LONG_S) == 0
    assert list(leases.overdue()) == ["a"]
    assert leases.grant("a", 3, LONG_S)
    assert leases.renew([Holding("a", 2)], -1) == 0
    assert leases.overdue() == {}


def test_an_ended_lease_leaves_nothing_and_is_not_renewed(leases: Leases) -> None:
    leases.grant("a", 1, LONG_S)
    assert leases.missing(["a", "b"]) == ["b"]
    leases.end("a")
    assert leases.renew([Holding("a", 1)], LONG_S) == 0
    assert leases.missing(["a"]) == ["a"] and leases.missing([]) == []


def test_ended_leases_leave_no_key_in_redis(redis_client: redis.Redis) -> None:
    leases = RedisLeases(redis_client)
    leases.grant("a", 1, LONG_S)
    leases.end("a")
    assert redis_client.keys("*leases*") == []


def test_of_several_watchdogs_one_takes_an_overdue_request(leases: Leases) -> None:
    leases.grant("a", 1, -1)
    ((request_id, deadline),) = leases.overdue().items()
    assert [leases.take(request_id, deadline, LONG_S) for _ in range(3)] == [True, False, False]
    assert leases.overdue() == {}
    leases.end("a")
    assert not leases.take("a", deadline, LONG_S)


def test_the_loads_of_workers_are_the_open_requests_placed_on_them(leases: Leases) -> None:
    leases.grant("a", 1, LONG_S, "one")
    leases.grant("b", 1, LONG_S, "one")
    leases.grant("b", 1, LONG_S)  # as before
    assert (leases.worker_of("a"), leases.worker_of("c")) == ("one", None)
    assert leases.loads(["one", "two"]) == [2, 0] and leases.loads([]) == []
    leases.grant("b", 2, LONG_S, "two")
    assert not leases.grant("b", 1, LONG_S, "one")
    assert leases.loads(["one", "two"]) == [1, 1]
    leases.grant("a", 2, LONG_S, "")
    assert (leases.worker_of("a"), leases.loads(["one", "two"])) == (None, [0, 1])
    leases.end("a")
    leases.end("b")
    leases.end("b")
    assert leases.loads(["one", "two"]) == [0, 0]
