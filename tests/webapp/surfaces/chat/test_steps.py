"""Step mode over the API: ownership, choice of tokens, and no timeout while a person thinks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import redis
from django.test import Client

from inference.eventlog.keys import worker_key
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationStarted,
    RequestCancelled,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.generations import numbered
from inference.protocol.request import StepCommand, Usage
from tests.webapp.lifecycle.test_fork import sampled
from tests.webapp.surfaces.chat.test_forks import append, asked_of_workers, post, sign_in
from tests.webapp.watching import STALL_S, attend_after
from webapp.lifecycle.settle import settle
from webapp.lifecycle.tasks import prepare
from webapp.requests import services
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


def ask(client: Client, **more: object) -> Request:
    _, conversation = post(client, "/api/conversations", {"n": 3})
    path = f"/api/conversations/{conversation['id']}/messages"
    status, sent = post(client, path, {"text": "Hello", "is_stepped": True, **more})
    assert status == 201
    prepare(sent["assistant_message"]["request_id"])
    return Request.objects.get(pk=sent["assistant_message"]["request_id"])


def token(position: int) -> TokenSampled:
    ids = {"candidate_ids": (50, 51, 1, 2), "candidate_logits": (3.0, 2.0, 1.0, 0.0), "candidate_pieces": (b"",) * 4}
    return msgspec.structs.replace(sampled(position, 50), **ids)


def propose(request: Request, position: int, at: int = 10) -> None:
    if not position:
        names = ("device", "architecture", "quantization", "compute")
        started = GenerationStarted(at=5, worker="host:1", attempt=1, model="m", queued_us=1, **dict.fromkeys(names))
        append(request, started)
    append(request, TokenProposed(at=at, token=token(position)))


def step(client: Client, request: Request, **command: Any) -> tuple[int, str]:
    status, body = post(client, f"/api/requests/{request.pk}/step", command)
    return status, body.get("error", {}).get("code", "")


def test_one_answer_is_asked_for_and_each_choice_goes_to_the_worker(alice: Client, redis_client: redis.Redis) -> None:
    request = ask(alice)
    assert [each.is_stepped for each in asked_of_workers(redis_client)] == [True]
    propose(request, 0)
    assert step(alice, request, position=0) == (202, "")
    append(request, token(0))
    propose(request, 1)
    assert step(alice, request, position=1, token_id=51, num_tokens=None) == (202, "")
    assert step(alice, request, position=0, num_tokens=0) == (202, "")
    wanted = [
        StepCommand(position=0),
        StepCommand(position=1, token_id=51, num_tokens=None),
        StepCommand(position=0, num_tokens=0),
    ]
    assert services.event_log().commands(request.pk, 0) == wanted
    assert services.event_log().commands(request.pk, 2) == wanted[2:]


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ({"position": 1}, 409, "moved_on"),
        ({"position": 0, "token_id": 77}, 400, "unknown_token"),
        ({"position": 0, "token_id": 1}, 400, "control_token"),
        ({"position": 0, "num_tokens": -1}, 400, "invalid"),
        ({"position": 0, "num_tokens": 10**9}, 400, "invalid"),
        ({"position": 0, "nonsense": 1}, 400, "invalid"),
        ({}, 400, "invalid"),
        ({"position": 0, "token_id": 2}, 202, ""),
    ],
)
def test_what_cannot_be_chosen_is_refused(alice: Client, command: dict[str, Any], status: int, code: str) -> None:
    request = ask(alice)
    assert step(alice, request, position=0) == (409, "not_stepped")
    propose(request, 0)
    assert step(alice, request, **command) == (status, code)
    assert len(services.event_log().commands(request.pk, 0)) == (status == 202)


def test_a_position_of_an_earlier_generation_cannot_be_chosen(alice: Client) -> None:
    request = ask(alice)
    propose(request, 0)
    assert step(alice, request, position=0) == (202, "")
    append(request, numbered(TokenProposed(at=20, token=token(0)), 1))
    assert step(alice, request, position=0) == (409, "moved_on")
    assert step(alice, request, position=0, generation=1) == (202, "")


def test_a_command_that_changes_nothing_is_refused(alice: Client) -> None:
    request = ask(alice)
    propose(request, 0)
    pause = {"position": 0, "num_tokens": 0}
    assert step(alice, request, **pause) == (409, "moved_on")
    assert step(alice, request, position=0, num_tokens=5) == (202, "")
    assert step(alice, request, position=0, token_id=51) == (409, "moved_on")
    assert step(alice, request, **pause) == (202, "")
    assert step(alice, request, **pause) == (409, "moved_on")
    assert step(alice, request, position=0) == (409, "moved_on")
    append(request, token(0))
    propose(request, 1)
    assert step(alice, request, position=1) == (202, "")
    assert len(services.event_log().commands(request.pk, 0)) == 3
    append(request, RequestCancelled(at=30, by="reader"))
    assert step(alice, request, position=1) == (409, "not_stepped")


def test_another_persons_answer_is_not_there(alice: Client) -> None:
    request = ask(alice)
    propose(request, 0)
    assert step(sign_in("bob"), request, position=0) == (404, "not_found")


def test_several_answers_cannot_be_chosen_at_once(alice: Client) -> None:
    _, conversation = post(alice, "/api/conversations", {})
    path = f"/api/conversations/{conversation['id']}/messages"
    status, body = post(alice, path, {"text": "Hello", "is_stepped": True, "n": 2})
    assert (status, body["error"]["field"]) == (400, "n")


@pytest.mark.parametrize(
    "end",
    [
        RequestCancelled(at=20, by="reader"),
        GenerationFinished(at=20, finish_reason="abort", usage=Usage(), prefill_us=1, decode_us=1),
    ],
)
def test_an_answer_that_has_ended_waits_for_no_choice(alice: Client, redis_client: redis.Redis, end: AnyEvent) -> None:
    request = ask(alice)
    propose(request, 0)
    append(request, end)
    redis_client.hset(worker_key("host:1"), "state", "ready")
    attend_after(STALL_S, request)
    assert request.is_settled


def test_few_answers_at_once_wait_for_one_person(alice: Client) -> None:
    first, _ = ask(alice), ask(alice)
    _, conversation = post(alice, "/api/conversations", {})
    path = f"/api/conversations/{conversation['id']}/messages"
    status, body = post(alice, path, {"text": "Hello", "is_stepped": True})
    assert status == 429 and "in step mode" in body["error"]["message"]
    assert post(alice, path, {"text": "Hello", "n": 1})[0] == 201
    settle(first.pk)
    assert post(alice, path, {"text": "Hello", "is_stepped": True})[0] == 201
    ask(sign_in("bob"))


def test_who_thinks_is_not_lost_as_long_as_the_worker_lives(alice: Client, redis_client: redis.Redis) -> None:
    request = ask(alice)
    propose(request, 0)
    redis_client.hset(worker_key("host:1"), "state", "ready")
    attend_after(STALL_S, request)
    assert not request.is_settled
    redis_client.delete(worker_key("host:1"))
    attend_after(STALL_S, request)
    assert request.error_code == "worker_lost"
