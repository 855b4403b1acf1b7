"""Tasks that are delivered more than once, on both databases: one generation, one end, one bill."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import BillPosted, GenerationFinished, GenerationStarted, RequestFinished, TokenSampled
from tests.faults.conftest import Processes, kill, until
from tests.queues import GENERATE

NUM_COPIES = 16
ONCE = (GenerationStarted, GenerationFinished, BillPosted, RequestFinished)


@pytest.fixture
def queues(running: Processes) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(running.redis_url)
    yield client
    client.close()


def waiting(queues: redis.Redis, queue: str, task: str) -> dict[str, Any]:
    """The task's message, as it waits in its queue."""

    def found() -> list[dict[str, Any]]:
        messages = [json.loads(message) for message in queues.lrange(queue, 0, -1)]
        return [message for message in messages if message["headers"]["task"] == task]

    until(lambda: bool(found()), 120)
    return found()[0]


def deliver(queues: redis.Redis, queue: str, message: dict[str, Any]) -> None:
    """Once more: the same task under another delivery tag."""
    properties = message["properties"] | {"delivery_tag": str(uuid.uuid4())}
    queues.lpush(queue, json.dumps(message | {"properties": properties}))


def wait_until_taken(queues: redis.Redis) -> None:
    until(lambda: not any(queues.llen(queue) for queue in ("prepare", GENERATE, "settle")), 120)


def check_once(running: Processes, queues: redis.Redis, request_id: str) -> dict[str, Any]:
    """By the whole log, of which readers see nothing after its end. Returns the summary."""
    events = [event for frame in RedisEventLog(queues).read(request_id) for event in frame.events]
    counts = Counter(type(event) for event in events)
    assert {kind: counts[kind] for kind in ONCE} == dict.fromkeys(ONCE, 1)
    positions = [event.position for event in events if isinstance(event, TokenSampled)]
    assert positions == list(range(len(positions)))
    assert isinstance(events[-1], RequestFinished)
    shown = running.settled(request_id)
    assert shown["num_events"] == len(events)
    (total,) = [event.total_nano for event in events if isinstance(event, BillPosted)]
    assert shown["cost_nano"] == total == running.ledger_total(request_id)
    return shown


def test_a_generation_delivered_again_while_it_runs_and_after_it_disturbs_nothing(
    running: Processes, queues: redis.Redis
) -> None:
    """First in this file: the message can be copied because no worker takes it yet."""
    request_id = running.send("Write about the sea.", max_tokens=60)
    message = waiting(queues, GENERATE, "inference.generate")
    running.start_inference()
    events = running.events(request_id)
    assert any(event["type"] == "text.released" for event in events)
    deliver(queues, GENERATE, message)
    assert list(events)[-1]["type"] == "request.finished"
    first = check_once(running, queues, request_id)
    deliver(queues, GENERATE, message)
    wait_until_taken(queues)
    assert list(running.events(running.send("Say hello.", max_tokens=2)))[-1]["type"] == "request.finished"
    assert check_once(running, queues, request_id) == first


def test_settling_delivered_many_times_at_once_settles_once(running: Processes, queues: redis.Redis) -> None:
    request_id = running.send("Write a very long story about a river.", max_tokens=600)
    events = running.events(request_id)
    assert any(event["type"] == "text.released" for event in events)
    kill(running.lifecycle)
    assert any(event["type"] == "generation.finished" for event in events)
    message = waiting(queues, "settle", "lifecycle.advance")
    for _ in range(NUM_COPIES):
        deliver(queues, "settle", message)
    running.lifecycle = running.start_lifecycle()
    assert list(events)[-1]["type"] == "request.finished"
    wait_until_taken(queues)
    check_once(running, queues, request_id)
