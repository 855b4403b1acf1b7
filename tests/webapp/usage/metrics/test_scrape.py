"""What a scrape has of a known database, and of workers that publish."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import redis
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from inference.eventlog.keys import GENERATE_QUEUES, snapshot_key, worker_key
from inference.protocol.snapshot import (
    KVBlocks,
    StepCounters,
    Work,
    WorkerSnapshot,
)
from inference.worker.publishing import publish
from tests.webapp.demonstration import put_demonstration
from tests.webapp.usage.metrics.conftest import TOKEN, Record, samples, scrape
from webapp.usage.metrics.families import families
from webapp.usage.models import UsageRecord
from webapp.usage.totals import Use, all_use

pytestmark = pytest.mark.django_db

GOLDEN = Path(__file__).with_name("golden.txt")


class Given(Collector):
    """Families of a use that a test gives."""

    def __init__(self, use: Use) -> None:
        self._use = use

    def collect(self):  # type: ignore[no-untyped-def]
        return families(self._use)

    def describe(self):  # type: ignore[no-untyped-def]
        return []


def exposition(use: Use) -> str:
    registry = CollectorRegistry()
    registry.register(Given(use))
    return generate_latest(registry).decode()


def test_the_exposition_of_a_known_database(record: Record) -> None:
    answered = {"verdict": "allow", "currency": "USD", "price_version": "2026-01-01", "is_cache_known": True}
    times = {"queue_us": 3_000, "first_token_us": 90_000, "first_text_us": 95_000, "per_token_us": 12_000}
    record(**answered, **times, duration_us=1_500_000, uncached_input=20, cache_read=100, output=32, cost_nano=2_860)
    record(**answered, **times, duration_us=900_000, uncached_input=5, output=8, cost_nano=500_000_740)
    record(surface="replay", is_cache_known=False, price_version="unpriced", uncached_input=7, output=1, duration_us=10)
    record(status="failed", error_code="worker_lost", duration_us=30_000_000)
    record(status="blocked", error_code="blocked", verdict="block", duration_us=9_000)
    record(status="refused", error_code="too_many_open", model="any name that a client chose")
    assert exposition(all_use()) == GOLDEN.read_text("utf-8")


def test_demonstration_data_is_not_counted(db: None) -> None:
    put_demonstration()
    assert UsageRecord.objects.exists()
    assert all_use() == Use(None, [], {})


def test_strangers_find_no_metrics(site: Client, settings: LazySettings, record: Record) -> None:
    missing = Client().get("/nothing/here").content
    wrong = [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Basic {TOKEN}"},
    ]
    for headers in wrong:
        answer = Client(headers=headers).get("/metrics")
        assert (answer.status_code, answer.content.replace(b"/metrics", b"/nothing/here")) == (404, missing)
    assert site.post("/metrics").status_code == 404
    assert Client(enforce_csrf_checks=True).post("/metrics").status_code == 404
    settings.ENVIRONMENT = dataclasses.replace(settings.ENVIRONMENT, metrics_token=None)
    assert site.get("/metrics").status_code == 404
    assert Client(headers={"Authorization": "Bearer None"}).get("/metrics").status_code == 404


def published(client: redis.Redis, name: str, **work: object) -> None:
    known = Work(3, 2, 1, None, 40, StepCounters(9, 4_500_000, 1, 4, 4, 1), KVBlocks(16, 200, 50, 20), None, ())
    snapshot = WorkerSnapshot(
        name, 1, 2_000_000, False, "small", "cpu", None, None, None, None, 10**9, msgspec.structs.replace(known, **work)
    )
    publish(client, snapshot)


def beat(client: redis.Redis, state: str) -> None:
    client.hset(worker_key("one"), mapping={"state": state})


def test_workers_and_queues_are_as_redis_has_them(site: Client, redis_client: redis.Redis, record: Record) -> None:
    published(redis_client, "one")
    published(redis_client, "two", num_waiting=None, blocks=None, steps=None)
    published(redis_client, "three")
    redis_client.delete(snapshot_key("three"))  # as its expiry does
    beat(redis_client, "ready")
    redis_client.zadd(GENERATE_QUEUES, {"generate:a": 1, "generate:b": 1})
    redis_client.rpush("generate:a", "a")
    redis_client.rpush("generate:b", "b")
    found = scrape(site)
    assert samples(found["sightglass_up"]) == {
        ("sightglass_up", "database"): 1,
        ("sightglass_up", "redis"): 1,
    }
    assert samples(found["sightglass_worker_up"]) == {
        ("sightglass_worker_up", "small", "one"): 1,
        ("sightglass_worker_up", "small", "two"): 1,
        ("sightglass_worker_up", "small", "three"): 0,
    }
    assert samples(found["sightglass_num_requests_running"]) == {
        ("sightglass_num_requests_running", "small", "one"): 3,
        ("sightglass_num_requests_running", "small", "two"): 3,
    }
    assert samples(found["sightglass_num_requests_waiting"]) == {("sightglass_num_requests_waiting", "small", "one"): 2}
    assert samples(found["sightglass_kv_cache_usage_ratio"]) == {
        ("sightglass_kv_cache_usage_ratio", "small", "one"): 0.25
    }
    assert samples(found["sightglass_engine_step_time_seconds"]) == {
        ("sightglass_engine_step_time_seconds_total", "small", "one"): 4.5
    }
    states = samples(found["sightglass_workers"])
    assert {labels[1]: value for labels, value in states.items()} == {
        "loading": 0,
        "ready": 1,
        "draining": 0,
        "failed": 0,
    }
    assert samples(found["sightglass_queue_messages"])["sightglass_queue_messages", "generate"] == 2


@pytest.fixture
def lost_redis(redis_client: redis.Redis) -> Iterator[None]:
    """The server turns all other clients away."""
    redis_client.config_set("requirepass", "another")
    redis_client.client_kill_filter(_type="normal", skipme=True)
    yield
    redis_client.config_set("requirepass", "")


def test_a_lost_redis_leaves_its_metrics_out_and_says_so(site: Client, lost_redis: None, record: Record) -> None:
    record()
    found = scrape(site)
    assert samples(found["sightglass_up"])["sightglass_up", "database"] == 1
    assert samples(found["sightglass_up"])["sightglass_up", "redis"] == 0
    assert "sightglass_workers" not in found and "sightglass_queue_messages" not in found
    assert samples(found["sightglass_request_success"]) == {("sightglass_request_success_total", "small", "chat"): 1}


def test_a_lost_database_leaves_its_metrics_out_and_says_so(
    site: Client, redis_client: redis.Redis, record: Record
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE usage_usagesum RENAME TO usage_lost")
    found = scrape(site)
    assert samples(found["sightglass_up"])["sightglass_up", "database"] == 0
    assert samples(found["sightglass_up"])["sightglass_up", "redis"] == 1
    assert "sightglass_request_success" not in found and "sightglass_workers" in found


def test_http_requests_count_by_route_and_not_by_address(
    site: Client, redis_client: redis.Redis, record: Record
) -> None:
    def counts() -> Counter[tuple[str, ...]]:
        family = scrape(site)["sightglass_http_request_duration_seconds"]
        return Counter(
            {
                (each.labels["method"], each.labels["route"], each.labels["status"]): round(each.value)
                for each in family.samples
                if each.name.endswith("_count")
            }
        )

    before = counts()
    Client().get("/shared/s3cret")
    Client().get("/no/such/address")
    Client().generic("BREW", "/healthz")
    more = counts() - before
    assert more == {
        ("GET", "/shared/<str:token>", "404"): 1,
        ("GET", "_OTHER", "404"): 1,
        ("_OTHER", "/healthz", "405"): 1,
        ("GET", "/metrics", "200"): 1,
    }
    assert "s3cret" not in site.get("/metrics").content.decode()
