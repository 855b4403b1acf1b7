"""However a preparation ends, the worker that was called for it hears of it."""

from __future__ import annotations

import base64
import json
import threading
import time
from typing import Any

import pytest
import redis
from kombu.exceptions import OperationalError

from inference.eventlog.event_log import Fenced
from inference.protocol.events import GatewayChecked, GenerationQueued, RequestAccepted, RequestCancelled, RequestFailed
from inference.protocol.request import SamplingParams
from inference.safety import Check, Guard
from webapp.celery import app
from webapp.lifecycle import handover, tasks
from webapp.lifecycle.start import Arrival, QueueUnavailable, announce, start
from webapp.lifecycle.tasks import prepare
from webapp.requests import services
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)

HARMFUL = "How can I blow up a building and kill everybody in it?"


def ask(request: Request, text: str) -> None:
    request.input = {"messages": [{"role": "user", "content": text, "source": "message:m"}]}
    request.save()


def received(request: Request) -> object:
    return services.event_log().receive(request.pk, request.attempt, 1)


def broken() -> Guard:
    raise OSError("the classifier is gone")


def kinds(request: Request) -> list[type]:
    return [type(event) for frame in services.event_log().read(request.pk) for event in frame.events]


def test_who_prepares_and_who_generates_are_called_at_once(request_: Request, redis_client: redis.Redis) -> None:
    redis_client.rpush("generate", "of another request")
    handover.call(request_, announced=None)
    assert redis_client.llen("prepare") == 1 and redis_client.llen("generate") == 2
    message = json.loads(redis_client.lindex("prepare", 0))
    assert json.loads(base64.b64decode(message["body"]))[0] == [request_.pk, 1]


def test_a_message_tells_its_text_once(unsaved: Request, redis_client: redis.Redis) -> None:
    unsaved.input = {"messages": [{"role": "user", "content": "my own words", "source": "message:m"}]}
    handover.announce(unsaved)
    message = json.loads(redis_client.lindex("prepare", 0))
    assert b"my own words" in base64.b64decode(message.pop("body")) and "my own words" not in json.dumps(message)


@pytest.mark.parametrize(("seconds_ago", "num_messages"), [(0.0, 1), (1.5, 2)])
def test_what_took_long_to_save_is_announced_again(
    request_: Request, redis_client: redis.Redis, seconds_ago: float, num_messages: int
) -> None:
    announced = handover.announce(request_)
    handover.call(request_, announced - seconds_ago)
    assert redis_client.llen("prepare") == num_messages and redis_client.llen("generate") == 1


@pytest.mark.parametrize(
    ("roles_and_lengths", "is_announced"),
    [
        ([("user", 2000)], True),
        ([("user", 2001)], False),
        ([("system", 1000), ("user", 1001)], False),
        ([("user", 20_000), ("assistant", 10_000), ("user", 2000)], True),
        ([("user", 20_000), ("assistant", 13_000), ("user", 10)], False),
    ],
)
def test_only_what_is_cheaply_checked_and_sent_is_announced(
    unsaved: Request, roles_and_lengths: list[tuple[str, int]], is_announced: bool
) -> None:
    unsaved.input = {"messages": [{"role": role, "content": "a" * length} for role, length in roles_and_lengths]}
    assert (announce([unsaved]) is not None) == is_announced


def test_what_comes_late_and_was_refused_is_not_checked(unsaved: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "guard", broken)
    unsaved.accepted_unix_us -= 300_000
    handover.revoke(unsaved)
    tasks.prepare(unsaved.pk, 0, handover.as_message(unsaved))
    assert kinds(unsaved) == [RequestCancelled]


@pytest.fixture
def unsaved(request_: Request) -> Request:
    """As it is announced: neither in the database nor in the log."""
    request = Request.objects.get(pk=request_.pk)
    request.pk = request.id = "req_unsaved"
    return request


def test_it_is_prepared_while_it_is_saved(unsaved: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    is_checked = threading.Event()
    check = services.guard().check

    def checked(*args: Any) -> Check:
        is_checked.set()
        return check(*args)

    monkeypatch.setattr(services.guard(), "check", checked)
    monkeypatch.setattr(handover, "_PATIENCE_S", 10.0)
    monkeypatch.setattr(tasks, "_LATE_US", 10**15)
    preparing = threading.Thread(target=tasks.prepare, args=(unsaved.pk, 0, handover.as_message(unsaved)))
    preparing.start()
    assert is_checked.wait(5)
    assert not kinds(unsaved)
    unsaved.save(force_insert=True)
    start(unsaved, SamplingParams(), Arrival(unsaved.accepted_unix_us, "chat"), (), announced=time.monotonic())
    preparing.join()
    assert kinds(unsaved)[:2] == [RequestAccepted, GatewayChecked] and kinds(unsaved)[-1] is GenerationQueued
    assert received(unsaved) is not None


@pytest.mark.parametrize("text", ["Hello", HARMFUL])
def test_what_is_not_accepted_ends_at_once_and_leaves_nothing(
    unsaved: Request, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "_PATIENCE_S", 5.0)
    unsaved.input["messages"][0]["content"] = text
    message = (unsaved.pk, 0, handover.as_message(unsaved))
    preparing = threading.Thread(target=tasks.prepare, args=message)
    start_s = time.monotonic()
    preparing.start()
    handover.revoke(unsaved)
    preparing.join()
    tasks.prepare(*message)  # of which a worker heard only then
    assert time.monotonic() - start_s < 1.5
    assert kinds(unsaved) == [RequestCancelled]
    assert received(unsaved) is None


def test_what_nobody_accepts_is_given_up(unsaved: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_PATIENCE_S", 0.05)
    tasks.prepare(unsaved.pk, 0, handover.as_message(unsaved))
    assert services.event_log().last_seq(unsaved.pk) == 0
    assert services.event_log().claim(f"{unsaved.pk}:prepare", 1)


def test_the_worker_is_given_the_prompt(request_: Request) -> None:
    prepare(request_.pk, 3)
    generation = services.event_log().receive(request_.pk, 1, 1)
    assert generation is not None and generation.request_id == request_.pk and generation.prompt_ids
    queued = services.event_log().read(request_.pk)[-1].events[-1]
    assert isinstance(queued, GenerationQueued) and queued.queue_depth == 3


@pytest.mark.parametrize("text", [HARMFUL, "word " * 20_000])
def test_a_refused_request_frees_the_worker(request_: Request, text: str) -> None:
    ask(request_, text)
    prepare(request_.pk)
    assert kinds(request_)[-1] is RequestFailed
    assert received(request_) is None


def test_a_refused_request_that_is_delivered_twice_ends_once(request_: Request) -> None:
    ask(request_, HARMFUL)
    prepare(request_.pk)
    Request.objects.filter(pk=request_.pk).update(finished_at=None)  # as the second worker read it, just before
    prepare(request_.pk)
    assert kinds(request_).count(RequestFailed) == 1


def test_one_that_was_overtaken_frees_the_worker(request_: Request) -> None:
    services.event_log().fence(request_.pk, 2)
    prepare(request_.pk)
    assert received(request_) is None


def test_one_that_was_deleted_frees_the_worker(request_: Request) -> None:
    request_id = request_.pk
    request_.delete()
    prepare(request_id)
    assert services.event_log().receive(request_id, 1, 1) is None


def test_an_announced_one_that_was_deleted_frees_the_worker(request_: Request) -> None:
    request_id = request_.pk
    request_.accepted_unix_us -= 10_000_000  # while no lifecycle worker was there
    message = handover.as_message(request_)
    request_.delete()
    prepare(request_id, 0, message)
    assert services.event_log().receive(request_id, 1, 1) is None


@pytest.mark.parametrize("seconds_ago", [0, 10])
def test_one_that_took_long_to_save_is_answered(unsaved: Request, seconds_ago: int) -> None:
    """Also where the clocks of web process and lifecycle worker differ by so much."""
    unsaved.accepted_unix_us -= seconds_ago * 1_000_000
    preparing = threading.Thread(target=prepare, args=(unsaved.pk, 0, handover.as_message(unsaved)))
    preparing.start()
    unsaved.save(force_insert=True)
    start(unsaved, SamplingParams(), Arrival(unsaved.accepted_unix_us, "chat"), (), announced=time.monotonic())
    preparing.join()
    assert received(unsaved) is not None


def test_what_is_long_or_one_of_several_is_announced_when_it_is_saved(unsaved: Request) -> None:
    assert announce([unsaved, unsaved]) is None
    assert announce([unsaved]) is not None
    unsaved.input["messages"][0]["content"] = "a" * 40_000
    assert announce([unsaved]) is None


def test_a_second_delivery_that_fails_leaves_the_first_alone(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(request_.pk)
    monkeypatch.setattr(services, "guard", broken)
    prepare(request_.pk)
    assert kinds(request_)[-1] is GenerationQueued


def test_what_no_worker_could_be_called_for_leaves_nothing(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_prepare(name: str, **_: object) -> None:
        if name == "lifecycle.prepare":
            prepare(request_.pk)
        else:
            raise OperationalError("the broker is away")

    monkeypatch.setattr(app, "send_task", only_prepare)
    with pytest.raises(QueueUnavailable):
        start(request_, SamplingParams(), Arrival(request_.accepted_unix_us, "chat"), ())
    assert kinds(request_) == [RequestCancelled]
    assert received(request_) is None
    with pytest.raises(Fenced):
        services.event_log().append(request_.pk, [GenerationQueued(at=1, attempt=1, queue_depth=0)], 1)
