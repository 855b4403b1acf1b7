"""Every Celery app has the same options; how fast sending fails and what a worker takes ahead is each one's own."""

from __future__ import annotations

import time

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from inference.queue.app import make_app
from inference.queue.broker import celery_url

UNUSED = "redis://127.0.0.1:1/0"
"""No server listens there."""


@pytest.mark.parametrize(
    ("redis_url", "spelled"),
    [
        ("redis://:secret@host:6379/2", "redis://:secret@host:6379/2"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
        ("unix:///run/valkey.sock?db=3", "redis+socket:///run/valkey.sock?virtual_host=3"),
    ],
)
def test_a_unix_socket_is_spelled_as_celery_reads_it(redis_url: str, spelled: str) -> None:
    assert celery_url(redis_url) == spelled


def test_a_task_goes_to_its_route_and_else_to_the_apps_own_queue() -> None:
    app = make_app(Celery, "site", UNUSED, "settle", routes={"lifecycle.prepare": "prepare"}, is_current=False)
    router = app.amqp.router
    queues = [router.route({}, task)["queue"].name for task in ("lifecycle.prepare", "lifecycle.settle")]
    assert queues == ["prepare", "settle"]


def test_an_app_that_fails_fast_refuses_when_the_broker_is_away() -> None:
    app = make_app(Celery, "site", UNUSED, "settle", fails_fast=True, is_current=False)
    start = time.monotonic()
    with pytest.raises(OperationalError), app:
        app.send_task("lifecycle.settle")
    assert time.monotonic() - start < 10
