"""A worker keeps the leases of what it runs, also those that Redis lost; never one that a later attempt holds."""

from __future__ import annotations

import redis

from inference.eventlog.leases import Holding, RedisLeases
from inference.worker.lease_keeper import LeaseKeeper
from tests.faults.conftest import until


def test_leases_that_redis_lost_are_put_back_while_their_tasks_run(redis_client: redis.Redis) -> None:
    leases = RedisLeases(redis_client)
    keeper = LeaseKeeper(leases, "one")
    keeper.start()
    with keeper.held(Holding("a", 1)), keeper.held(Holding("b", 1)):
        redis_client.flushall()
        assert leases.grant("b", 2, 1000)
        until(lambda: leases.missing(["a", "b"]) == [], 120)
        assert not leases.grant("b", 1, 1000)
        assert leases.renew([Holding("b", 2)], 1000) == 1
