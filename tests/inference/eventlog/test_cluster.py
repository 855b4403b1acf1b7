"""A server in cluster mode refuses a script, transaction or command whose keys are in several slots."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from inference.eventlog.keys import snapshot_key
from inference.eventlog.leases import Holding, RedisLeases
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.request import StepCommand
from inference.worker.publishing import publish
from tests.faults.conftest import until
from tests.inference.eventlog.test_lost_reply import answer
from tests.ports import free_port
from tests.redis_servers import start_server
from tests.webapp.lifecycle.live.snapshots import snapshot


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.Redis]:
    """Of a server that has all slots of its cluster."""
    options = ["--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--save", ""]
    child, port = start_server(tmp_path_factory.mktemp("cluster"), "cluster", *options)
    with redis.Redis(port=port) as connection:
        connection.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: connection.execute_command("CLUSTER INFO")["cluster_state"] == "ok", 60)
        yield connection
    child.send(signal.SIGKILL)
    assert child.wait(10)


def test_the_server_is_in_cluster_mode(client: redis.Redis) -> None:
    with pytest.raises(redis.ResponseError, match="same slot"):
        client.mget(["one", "two"])


def test_all_commands_of_a_log_are_in_one_slot(client: redis.Redis) -> None:
    log = RedisEventLog(client)
    answer(log)
    log.command("r", StepCommand(position=0))
    log.forget("r")


def test_all_commands_of_the_leases_are_in_one_slot(client: redis.Redis) -> None:
    leases = RedisLeases(client)
    assert leases.grant("a", 1, -1, "one") and leases.grant("b", 1, 1000, "two")
    assert leases.renew([Holding("b", 1)], 1000) == 1
    ((request_id, deadline),) = leases.overdue().items()
    assert leases.take(request_id, deadline, 1000)
    assert (leases.worker_of("b"), leases.loads(["one", "two"])) == ("two", [1, 1])
    leases.end("a")
    assert leases.missing(["a", "b"]) == ["a"]


def test_the_snapshots_of_all_workers_are_in_one_slot(client: redis.Redis) -> None:
    told = snapshot()
    publish(client, told)
    found: Any = client.mget([snapshot_key(told.worker), snapshot_key("another")])
    assert found[0] and not found[1]
