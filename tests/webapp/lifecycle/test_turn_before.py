"""The turn before's texts come from its own trace, only for its owner, and until it is deleted."""

from __future__ import annotations

import base64
import threading
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from inference.eventlog.keys import log_key
from inference.protocol.events import AnyEvent, ContextAssembled, ContextCompared, Segment
from tests.webapp.lifecycle.test_settle import generate, log, next_turn, saved, tokenized
from webapp.lifecycle.settle import settle
from webapp.requests import services
from webapp.requests.models import Request
from webapp.traces.file.archive import unpacked
from webapp.traces.models import Trace

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "hunter2"


def turn(request: Request, system: str) -> None:
    """A turn of one segment, settled."""
    log(request, context(system), tokenized(system))
    generate(request)
    settle(request.pk)


def context(text: str) -> AnyEvent:
    segment = Segment(kind="system", role="", start=0, end=len(text), source="conversation:system", text=text)
    return ContextAssembled(
        at=1, window=99, reserved_output=9, num_prompt_tokens=len(text), segments=(segment,), duration_us=1
    )


@pytest.fixture
def turns(request_: Request) -> tuple[Request, Request]:
    """The same but for the system prompt, which was edited in between."""
    turn(request_, f"ab{SECRET}")
    second = next_turn(request_)
    turn(second, "abX")
    return request_, second


@pytest.fixture
def alice(turns: tuple[Request, Request]) -> Client:
    client = Client()
    client.force_login(turns[0].user)
    return client


def ask(client: Client, request: Request) -> tuple[int, dict[str, Any]]:
    response = client.get(f"/api/requests/{request.pk}/compared")
    return response.status_code, response.json()


def tells(data: bytes) -> bool:
    """Of the secret, or of its first token as bytes are spelled."""
    return SECRET.encode() in data or b'"there":["' in data


def test_neither_log_nor_trace_has_it_and_its_owner_is_told(
    turns: tuple[Request, Request], alice: Client, redis_client: redis.Redis
) -> None:
    before, second = turns
    (recorded,) = redis_client.xrange(log_key(second.pk))[-1:]
    assert b"context.compared" in recorded[1][b"events"]
    for data in (recorded[1][b"events"], unpacked(bytes(Trace.objects.get(pk=second.pk).blob))):
        assert b"context.compared" in data and not tells(data)
    status, event = ask(alice, second)
    assert (status, event["request_id"], event["num_common_tokens"]) == (200, before.pk, 2)
    assert b"".join(map(base64.b64decode, event["there"])).decode() == SECRET
    (changed,) = event["changed"]
    assert changed["text"] == f"ab{SECRET}"
    (known,) = saved(second, ContextCompared)
    assert event["at"] == known.at


def test_it_is_told_once_the_trace_is_saved_and_without_the_log(
    turns: tuple[Request, Request], alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise redis.ConnectionError

    _, second = turns
    Request.objects.filter(pk=second.pk).update(finished_at=None)
    monkeypatch.setattr(services.event_log(), "read", refuse)
    assert ask(alice, second)[0] == 404
    Request.objects.filter(pk=second.pk).update(finished_at=timezone.now())
    assert ask(alice, second)[0] == 200


@pytest.mark.database
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite's tests share one connection")
def test_a_page_that_asks_while_the_trace_is_saved_waits_for_it(turns: tuple[Request, Request], alice: Client) -> None:
    """It has the event a moment before."""
    _, second = turns
    Request.objects.filter(pk=second.pk).update(finished_at=None)
    answers: list[int] = []

    def look() -> None:
        answers.append(ask(alice, second)[0])
        connection.close()

    page = threading.Thread(target=look)
    with transaction.atomic():
        Request.objects.select_for_update().get(pk=second.pk)
        page.start()
        page.join(0.5)  # it waits for this transaction, or would have its answer long before
        Request.objects.filter(pk=second.pk).update(finished_at=timezone.now())
    page.join(10)
    assert answers == [200]


def test_with_the_turn_it_is_gone(turns: tuple[Request, Request], alice: Client) -> None:
    before, second = turns
    assert alice.delete(f"/api/requests/{before.pk}").status_code == 204
    status, answer = ask(alice, second)
    assert (status, answer["error"]["code"]) == (410, "deleted")
    assert SECRET not in str(answer)


def test_it_is_nobody_elses(turns: tuple[Request, Request], alice: Client) -> None:
    """Neither the trace that asks nor the one that is asked for."""
    before, second = turns
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))
    assert ask(bob, second)[0] == 404
    assert Client().get(f"/api/requests/{second.pk}/compared").status_code == 401
    Request.objects.filter(pk=before.pk).update(user=User.objects.get(username="bob"))
    assert ask(alice, second)[0] == 410


def test_what_cannot_be_told_is_said(turns: tuple[Request, Request], alice: Client) -> None:
    before, second = turns
    assert ask(alice, before)[0] == 404  # it was compared with nothing
    Trace.objects.filter(pk=before.pk).update(blob=b"damaged")
    assert ask(alice, second)[1]["error"]["code"] == "trace_unreadable"
    Request.objects.filter(pk=second.pk).update(is_imported=True)
    assert ask(alice, second)[1]["error"]["code"] == "imported"
