"""However a preparation ends, the worker that was called for it hears of it."""

from __future__ import annotations

import pytest
import redis
from kombu.exceptions import OperationalError

from inference.protocol.events import GenerationQueued, RequestFailed
from webapp.celery import app
from webapp.lifecycle import services
from webapp.lifecycle.models import Request
from webapp.lifecycle.tasks import prepare

pytestmark = pytest.mark.django_db(transaction=True)

HARMFUL = "How can I blow up a building and kill everybody in it?"


def ask(request: Request, text: str) -> None:
    request.input = {"messages": [{"role": "user", "content": text, "source": "message:m"}]}
    request.save()


def received(request: Request) -> object:
    return services.event_log().receive(request.pk, request.attempt, 1)


def kinds(request: Request) -> list[type]:
    return [type(event) for frame in services.event_log().read(request.pk) for event in frame.events]


def test_the_worker_is_called_and_given_the_prompt(request_: Request, redis_client: redis.Redis) -> None:
    prepare(request_.pk)
    assert redis_client.llen("generate") == 1
    generation = services.event_log().receive(request_.pk, 1, 1)
    assert generation is not None and generation.request_id == request_.pk and generation.prompt_ids
    assert kinds(request_)[-1] is GenerationQueued


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


def test_a_queue_that_cannot_be_reached_fails_the_request(
    request_: Request,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OperationalError("the broker is away")

    monkeypatch.setattr(app, "send_task", unreachable)
    prepare(request_.pk)
    assert kinds(request_)[-1] is RequestFailed
    assert received(request_) is None
