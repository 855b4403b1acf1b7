"""The queues of workers that are gone are emptied, and no others."""

from __future__ import annotations

import time

import redis

from inference.eventlog.keys import GENERATE_QUEUES, model_queue, worker_key, worker_queue
from webapp.requests.queues import GENERATION_EXPIRY_S, add_generate_queue, drop_lost_queues, generate_queues

LIVING, LOST, SHARED = worker_queue("living"), worker_queue("lost"), model_queue("m", "1")


def test_messages_to_a_lost_worker_go_and_those_to_others_stay(redis_client: redis.Redis) -> None:
    redis_client.hset(worker_key("living"), "state", "ready")
    for queue in (LIVING, LOST, SHARED):
        add_generate_queue(queue)
        redis_client.lpush(queue, "a message")
    drop_lost_queues()
    assert [redis_client.llen(queue) for queue in (LIVING, LOST, SHARED)] == [1, 0, 1]


def test_a_message_that_was_under_way_to_a_lost_worker_goes_too(redis_client: redis.Redis) -> None:
    add_generate_queue(LOST)
    drop_lost_queues()
    redis_client.lpush(LOST, "a late message")
    drop_lost_queues()
    assert redis_client.exists(LOST) == 0


def test_names_of_queues_are_forgotten_once_no_message_can_be_in_them(redis_client: redis.Redis) -> None:
    add_generate_queue(SHARED)
    redis_client.zadd(GENERATE_QUEUES, {LOST: time.time() - GENERATION_EXPIRY_S - 1})
    drop_lost_queues()
    assert generate_queues() == [SHARED]
