"""Embeddings, live and in a batch: a bill, a record of use, and no trace."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from tests.webapp.batches.test_advance import client_of, look
from webapp.batches.models import Batch
from webapp.billing.book import KINDS
from webapp.billing.models import LedgerEntry, Price
from webapp.limits.models import Rule
from webapp.requests.models import Request
from webapp.usage.models import UsageRecord, UserSum

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "all-minilm-l6-v2"
BODY = {"model": MODEL, "input": ["A text.", "Another text."]}


@pytest.fixture
def alice(redis_client: object) -> Client:
    return client_of("alice")


@pytest.fixture
def prices() -> None:
    for kind in KINDS:
        Price.objects.create(model=MODEL, kind=kind, unit_price_nano=11, effective_from=date(2026, 1, 1))


def embed(client: Client) -> Any:
    return client.post("/v1/embeddings", BODY, content_type="application/json")


def batch_of(client: Client, *bodies: dict[str, Any]) -> Batch:
    lines = [
        {"custom_id": f"n{n}", "method": "POST", "url": "/v1/embeddings", "body": body} for n, body in enumerate(bodies)
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    file = client.post("/v1/files", {"purpose": "batch", "file": SimpleUploadedFile("a", content)}).json()["id"]
    body = {"input_file_id": file, "endpoint": "/v1/embeddings", "completion_window": "24h"}
    answer = client.post("/v1/batches", body, content_type="application/json")
    return look(Batch.objects.get(pk=answer.json()["id"]))


@pytest.mark.usefixtures("prices")
def test_an_embedding_is_billed_and_recorded(alice: Client) -> None:
    num_tokens = embed(alice).json()["usage"]["total_tokens"]
    entry, record = LedgerEntry.objects.get(), UsageRecord.objects.get()
    assert entry.total_nano == record.cost_nano == 11 * num_tokens
    assert (record.request_id, record.model, record.uncached_input) == (entry.request_id, MODEL, num_tokens)
    assert (record.surface, record.status) == ("openai", "done")
    assert record.key is not None
    assert UserSum.objects.get(span="day").cost_nano == entry.total_nano
    assert not Request.objects.exists()


def test_without_a_price_it_is_recorded_as_unpriced(alice: Client) -> None:
    embed(alice)
    assert UsageRecord.objects.get().price_version == "unpriced"


@pytest.mark.usefixtures("prices")
def test_a_budget_that_is_used_up_refuses_it(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=50)
    assert embed(alice).status_code == 429
    assert UsageRecord.objects.filter(status="done").count() == 0


@pytest.mark.usefixtures("prices")
def test_lines_of_a_batch_cost_half_and_are_each_billed_once(alice: Client) -> None:
    batch = batch_of(alice, BODY, BODY | {"dimensions": 3}, BODY)
    look(batch)
    assert (batch.status, [line.status for line in batch.lines.all()]) == (
        "completed",
        ["succeeded", "errored", "succeeded"],
    )
    entries = list(LedgerEntry.objects.all())
    assert [entry.total_nano for entry in entries] == [6 * entry.uncached_input for entry in entries]
    assert len(entries) == UsageRecord.objects.count() == 2
    result = json.loads(batch.lines.get(index=0).answer)
    assert result["response"]["request_id"] in {entry.request_id for entry in entries}
    assert len(result["response"]["body"]["data"]) == 2


@pytest.mark.usefixtures("prices")
def test_a_line_that_finds_the_embedder_full_is_tried_again(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.calls.embeddings.MOST_OF_ONE", 0)
    batch = batch_of(alice, BODY)
    assert (batch.status, batch.lines.get().status) == ("in_progress", "waiting")
    assert batch.resumes_at > timezone.now()
    monkeypatch.undo()
    Batch.objects.update(resumes_at=timezone.now())
    assert look(batch).lines.get().status == "succeeded"
    assert LedgerEntry.objects.count() == 1
