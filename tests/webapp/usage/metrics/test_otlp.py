"""The metrics that go to the operator's OTLP endpoint, decoded with OpenTelemetry's own messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import redis
from django.db import InterfaceError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from tests.webapp.usage.metrics.conftest import NOON, Record
from webapp.environment import OtlpEndpoint
from webapp.traces.export.otlp import Unavailable
from webapp.usage.metrics.otlp import to_otlp
from webapp.usage.metrics.tasks import push_in_turn, push_or_log
from webapp.usage.totals import all_use

pytestmark = pytest.mark.django_db

NANO = 10**9


class Receiver(ThreadingHTTPServer):
    """Keeps what is posted, and answers as it was told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken: list[tuple[str, str | None, ExportMetricsServiceRequest]] = []
        self.status = 200

    @property
    def endpoint(self) -> OtlpEndpoint:
        return OtlpEndpoint(f"http://127.0.0.1:{self.server_address[1]}/v1/traces", {"Authorization": "k"}, False)


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = ExportMetricsServiceRequest.FromString(body)
        self.server.taken.append((self.path, self.headers["Authorization"], message))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def points(message: ExportMetricsServiceRequest) -> dict[tuple[str, str], Any]:
    """The points by metric and type of token."""
    found = {}
    for metric in message.resource_metrics[0].scope_metrics[0].metrics:
        for point in metric.histogram.data_points:
            told = {each.key: each.value.string_value for each in point.attributes}
            found[metric.name, told.get("gen_ai.token.type", "")] = point
    return found


def test_the_metrics_follow_the_conventions_and_add_up(record: Record) -> None:
    times = {"queue_us": 3_000, "first_token_us": 90_000, "first_text_us": 95_000, "per_token_us": 12_000}
    record(**times, duration_us=1_500_000, uncached_input=20, cache_read=100, output=32)
    record(**times, duration_us=900_000, uncached_input=5, output=8)
    record(status="failed", error_code="worker_lost", duration_us=30_000_000)
    record(status="refused", error_code="too_many_open")
    message = to_otlp(all_use(), NOON)
    found = points(message)
    usage = found["gen_ai.client.token.usage", "input"]
    assert list(usage.explicit_bounds[:4]) == [1, 4, 16, 64] and usage.explicit_bounds[-1] == 67108864
    assert (usage.count, list(usage.bucket_counts[:6])) == (2, [0, 0, 1, 0, 1, 0])
    assert usage.sum == pytest.approx(125, rel=0.01)
    assert found["gen_ai.client.token.usage", "output"].count == 2
    duration = found["gen_ai.client.operation.duration", ""]
    assert (duration.count, sum(duration.bucket_counts), len(duration.bucket_counts)) == (3, 3, 15)
    assert duration.sum == pytest.approx(32.4, rel=0.01)
    assert found["gen_ai.server.time_to_first_token", ""].count == 2
    assert found["gen_ai.server.time_per_output_token", ""].sum == pytest.approx(0.024, rel=0.01)
    assert found["gen_ai.client.operation.time_to_first_chunk", ""].count == 2
    assert duration.start_time_unix_nano == int(NOON.replace(hour=0).timestamp()) * NANO
    assert duration.time_unix_nano == int(NOON.timestamp()) * NANO
    told = {each.key: each.value.string_value for each in duration.attributes}
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "sightglass",
        "gen_ai.request.model": "small",
        "gen_ai.response.model": "small",
        "sightglass.surface": "chat",
    }
    units = {metric.name: metric.unit for metric in message.resource_metrics[0].scope_metrics[0].metrics}
    assert units.pop("gen_ai.client.token.usage") == "{token}" and set(units.values()) == {"s"}


@pytest.mark.django_db(transaction=True)  # a push looks after its connections
def test_one_of_several_senders_pushes(receiver: Receiver, redis_client: redis.Redis, record: Record) -> None:
    record(duration_us=5)
    assert push_in_turn(receiver.endpoint, redis_client)
    assert not push_in_turn(receiver.endpoint, redis_client)
    ((path, authorization, message),) = receiver.taken
    assert (path, authorization) == ("/v1/metrics", "k")
    assert points(message)["gen_ai.client.operation.duration", ""].count == 1
    redis_client.flushall()
    receiver.status = 503
    with pytest.raises(Unavailable, match="503"):
        push_in_turn(receiver.endpoint, redis_client)


class _Broken(redis.Redis):
    """A client that fails in a way that nobody foresaw."""

    def set(self, *_: Any, **__: Any) -> Any:
        raise InterfaceError("connection already closed")


def test_any_failure_of_a_push_is_logged_once(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    said = push_or_log(receiver.endpoint, _Broken())
    assert "connection already closed" in said
    assert push_or_log(receiver.endpoint, _Broken(), said) == said
    assert [each.message for each in caplog.records] == ["the metrics were not sent"]
