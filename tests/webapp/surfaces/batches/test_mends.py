"""Lines that one process computes, answers that cannot be read, bytes that are no text, and batches not read yet."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from inference.eventlog.keys import worker_key
from tests.webapp.registered import CONFIGURED
from tests.webapp.surfaces.batches.test_advance import (
    BODY,
    READY,
    begin,
    client_of,
    error,
    finish,
    look,
    open_requests,
    states,
)
from tests.webapp.surfaces.batches.test_embeddings import BODY as TEXTS
from tests.webapp.surfaces.batches.test_embeddings import batch_of, prices  # noqa: F401
from webapp.models.billing.models import LedgerEntry
from webapp.requests.models import Request
from webapp.surfaces.batches.advance import advance
from webapp.surfaces.batches.answering import ANSWER_BYTES, Answering
from webapp.surfaces.batches.form import Embedding
from webapp.surfaces.batches.models import Batch, Line
from webapp.traces.models import Trace
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def worker(redis_client: redis.Redis) -> None:
    """One is ready, by its heartbeat; nothing takes the tasks."""
    redis_client.hset(worker_key("test:1"), mapping=READY)


@pytest.fixture
def alice() -> Client:
    return client_of("alice")


def test_a_process_leaves_a_batch_alone_whose_line_another_one_computes(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, compute = [], Answering.embed

    def slow(self: Answering, line: Line, work: Embedding) -> None:
        """Another process looks at the batch meanwhile."""
        computed.append(line.index)
        if len(computed) == 1:
            advance([line.batch_id])
        compute(self, line, work)

    monkeypatch.setattr(Answering, "embed", slow)
    batch = look(batch_of(alice, TEXTS, TEXTS))
    assert (computed, states(batch), batch.status) == ([0, 1], ["succeeded"] * 2, "completed")
    assert UsageRecord.objects.count() == 2


def test_a_line_whose_trace_is_damaged_ends_as_an_error_and_the_next_ones_go_on(alice: Client) -> None:
    batch = begin(alice, 3)
    damaged, whole = open_requests()
    finish(damaged)
    Trace.objects.filter(pk=damaged.pk).update(blob=b"no trace")
    look(batch)
    assert states(batch) == ["errored", "open", "open"] and error(batch) == "conflict_error"
    finish(whole)
    assert states(look(batch)) == ["errored", "succeeded", "open"]


@pytest.mark.parametrize("place", [b"Hi", b"messages"])
def test_params_of_bytes_that_are_no_text_are_refused_with_their_place(alice: Client, place: bytes) -> None:
    requests = [{"custom_id": name, "params": BODY} for name in ("a", "b")]
    head, found, tail = json.dumps({"requests": requests}).encode().rpartition(place)
    answer = alice.post("/v1/messages/batches", head + found + b"\xff" + tail, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["type"] == "invalid_request_error"
    at = len(head + found)
    assert f"not UTF-8 text: byte {at} is wrong" in answer.json()["error"]["message"]
    assert not Batch.objects.exists()


def test_a_key_of_some_models_sees_no_batch_that_is_not_read_yet(alice: Client) -> None:
    batch = begin(alice)
    limited = client_of("alice", models=[CONFIGURED])
    address = f"/v1/messages/batches/{batch.pk}"
    assert limited.get(address).status_code == 200
    Batch.objects.update(model_ids=[])
    assert limited.get(address).status_code == 404
    assert ids(limited) == [] and ids(alice) == [batch.pk]
    assert alice.get(address).status_code == 200
    Batch.objects.update(key=User.objects.get(username="alice").api_keys.latest("pk"))
    assert limited.get(address).status_code == 200, "it began this one itself"


def ids(client: Client) -> list[Any]:
    return [each["id"] for each in client.get("/v1/messages/batches").json()["data"]]


def test_a_line_whose_answer_would_find_no_room_ends_before_it_is_computed(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.surfaces.batches.answering.MAX_STORED_BYTES", ANSWER_BYTES)
    chat, texts = begin(alice, 3), look(batch_of(alice, TEXTS))
    assert states(chat) == ["errored"] * 3 and states(texts) == ["errored"]
    assert error(chat) == "request_too_large" and chat.lines.get(index=0).cost_nano is None
    assert not Request.objects.exists() and not UsageRecord.objects.filter(status="done").exists()


@pytest.mark.usefixtures("prices")
def test_vectors_that_find_no_room_cost_nothing(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.surfaces.batches.answering.MAX_STORED_BYTES", ANSWER_BYTES + 5000)
    batch = look(batch_of(alice, TEXTS | {"input": ["Hi"] * 400}))
    line = batch.lines.get()
    assert (line.status, line.cost_nano) == ("errored", None)
    assert "MiB" in line.error
    assert not LedgerEntry.objects.exists()


def test_a_line_whose_request_was_deleted_before_it_was_taken_keeps_its_cost(alice: Client) -> None:
    batch = begin(alice)
    (request,) = open_requests()
    finish(request, 10)
    cost = LedgerEntry.objects.get().total_nano
    request.delete()
    look(batch)
    line = batch.lines.get()
    assert cost > 0
    assert (line.status, line.cost_nano, line.currency) == ("errored", cost, "USD")
