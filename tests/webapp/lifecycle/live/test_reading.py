"""The present moment and its history, read from what workers really publish."""

from __future__ import annotations

import pytest
import redis
from django.contrib.auth.models import User

from inference.eventlog.keys import GENERATE_QUEUES, snapshot_key, worker_key
from inference.protocol.snapshot import DeviceMemory
from inference.worker.publishing import publish
from tests.webapp.inputs import asked
from tests.webapp.lifecycle.live.snapshots import START_US, request, snapshot
from webapp.lifecycle.live.reading import read_histories, read_now
from webapp.lifecycle.live.view import LiveWorker
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def client(redis_client: redis.Redis) -> redis.Redis:
    return redis_client


def worker() -> LiveWorker:
    (found,) = read_now().workers
    return found


def test_without_workers_the_queues_are_still_told(client: redis.Redis) -> None:
    client.zadd(GENERATE_QUEUES, {"generate:a": 1, "generate:b": 1})
    client.rpush("generate:a", "a")
    client.rpush("generate:b", "b")
    now = read_now(num_followed=4)
    assert now.site is not None
    assert (now.workers, now.problem) == ([], "")
    assert (now.site.num_followed, now.site.num_prepare, now.site.num_generate, now.site.num_settle) == (4, 0, 2, 0)


def test_a_worker_is_shown_with_its_rates_and_its_requests_users(client: redis.Redis) -> None:
    alice = User.objects.create_user("alice")
    row = Request.objects.create(user=alice, surface="chat", model="m", title="t", input=asked())
    publish(client, snapshot(num_decoded=10))
    publish(client, snapshot(at_us=START_US + 1_000_000, num_decoded=30, requests=(request(row.pk), request("gone"))))
    found = worker()
    assert (found.state, found.model, found.num_blocks, found.started_ms) == ("ready", "m", 100, START_US // 1000)
    assert found.point is not None
    assert (found.point.decode_per_s, found.point.num_running) == (20.0, 2)
    assert [(each.user, each.surface) for each in found.requests] == [("alice", "chat"), (None, None)]
    assert (found.requests[0].state, found.requests[0].num_output_tokens) == ("decode", 7)
    assert found.requests[0].age_ms > 0


def test_only_a_worker_on_a_device_has_its_memory(client: redis.Redis) -> None:
    publish(client, snapshot())
    assert (worker().has_device_memory, worker().device_total_bytes) == (False, None)
    publish(client, snapshot(at_us=START_US + 1_000_000, device_memory=DeviceMemory(3 << 30, 80 << 30)))
    found = worker()
    assert found.point is not None
    assert (found.has_device_memory, found.device_total_bytes, found.point.device_used_bytes) == (
        True,
        80 << 30,
        3 << 30,
    )
    publish(client, snapshot(at_us=START_US + 2_000_000, device_memory=DeviceMemory(None, None)))
    assert (worker().has_device_memory, worker().device_total_bytes) == (True, None)


def test_a_silent_worker_is_lost_with_its_last_time(client: redis.Redis) -> None:
    publish(client, snapshot(requests=(request("a"),)))
    last = worker().last_ms
    client.delete(snapshot_key("w"))
    lost = worker()
    assert (lost.state, lost.last_ms, lost.point, lost.requests) == ("lost", last, None, [])
    assert last is not None


def test_a_worker_that_was_told_to_stop_is_stopped(client: redis.Redis) -> None:
    publish(client, snapshot(is_stopping=True))
    assert worker().state == "stopped"


def test_workers_that_load_or_failed_are_shown_by_their_heartbeats(client: redis.Redis) -> None:
    client.hset(worker_key("a"), mapping={"state": "loading", "progress": "0.25", "model": "m"})
    client.hset(worker_key("b"), mapping={"state": "failed", "progress": "0", "message": "no such file", "model": "m"})
    loading, failed = read_now().workers
    assert (loading.name, loading.state, loading.progress, loading.point) == ("a", "loading", 0.25, None)
    assert (failed.name, failed.state, failed.message) == ("b", "failed", "no such file")


def test_a_worker_whose_engine_died_says_so(client: redis.Redis) -> None:
    publish(client, snapshot())
    client.hset(worker_key("w"), mapping={"state": "failed", "message": "The engine's thread has ended.", "model": "m"})
    assert (worker().state, worker().message) == ("failed", "The engine's thread has ended.")


def test_the_history_holds_each_second_of_each_worker(client: redis.Redis) -> None:
    for second in range(5):
        publish(client, snapshot(at_us=START_US + second * 1_000_000, num_decoded=8 * second, requests=(request("a"),)))
    publish(client, snapshot("v"))
    v, w = read_histories()
    assert (v.name, len(v.points)) == ("v", 1)
    assert (w.name, [point.decode_per_s for point in w.points]) == ("w", [None, 8.0, 8.0, 8.0, 8.0])
