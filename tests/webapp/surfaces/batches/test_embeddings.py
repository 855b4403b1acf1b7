"""Embeddings, live and in a batch: a bill, a record of use, and a trace."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from msgspec.structs import astuple

from inference.eventlog.clock import unix_us
from inference.protocol.events import EmbeddingComputed, EmbeddingTokenized, first
from tests.webapp.surfaces.batches.test_advance import client_of, look
from webapp.lifecycle.start import Arrival
from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_book import KINDS
from webapp.requests.models import Request
from webapp.surfaces.batches.models import Batch
from webapp.surfaces.calls.embedding_call import Embedded, EmbeddingCall
from webapp.surfaces.calls.embeddings import Computed, Embedder
from webapp.traces.recordings.models import Turn
from webapp.traces.store import load_frames
from webapp.usage.limits.models import Hold, Rule
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.room import HELD
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
        Price.objects.create(model=MODEL, kind=kind, unit_price_nano=12, effective_from=date(2026, 1, 2))


def embed(client: Client) -> Any:
    return client.post("/v1/embeddings", BODY, content_type="application/json")


async def gathered(call: EmbeddingCall) -> Exception | None:
    try:
        await call.answer(lambda _name: None)
    except Refused as refused:
        return refused
    return None


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
    assert entry.total_nano == record.cost_nano == 12 * num_tokens
    assert (record.request_id, record.model, record.uncached_input) == (entry.request_id, MODEL, num_tokens)
    assert (record.surface, record.status) == ("openai", "done")
    assert record.key is not None
    assert UserSum.objects.get(span="day").cost_nano == entry.total_nano


def test_every_installation_has_a_price(alice: Client) -> None:
    num_tokens = embed(alice).json()["usage"]["total_tokens"]
    assert LedgerEntry.objects.get().total_nano == 5 * num_tokens


def test_without_a_price_it_is_recorded_as_unpriced(alice: Client) -> None:
    Price.objects.filter(model=MODEL).delete()
    embed(alice)
    assert UsageRecord.objects.get().price_version == "unpriced"


@pytest.mark.usefixtures("prices")
def test_a_budget_that_is_used_up_refuses_it(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=50)
    refused = embed(alice)
    assert refused.status_code == 429
    assert refused.json()["error"]["message"].endswith("Ask for embeddings of fewer or shorter texts.")


def test_a_rate_that_is_too_low_for_it_refuses_it(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), input_tokens_per_minute=1)
    assert embed(alice).json()["error"]["message"].endswith("Send shorter texts.")
    assert UsageRecord.objects.filter(status="done").count() == 0


def test_its_trace_tells_what_happened_and_has_no_vectors(alice: Client) -> None:
    answer = embed(alice)
    request = Request.objects.get()
    assert answer["Sightglass-Trace"] == f"http://testserver/requests/{request.pk}"
    assert "embed;dur=" in answer["Server-Timing"]
    events = [event for frame in load_frames(request.pk) for event in frame.events]
    assert [event.__struct_config__.tag for event in events] == [
        "request.accepted",
        "gateway.checked",
        "embedding.tokenized",
        "embedding.computed",
        "bill.posted",
        "request.finished",
    ]
    tokenized, computed = first(events, EmbeddingTokenized), first(events, EmbeddingComputed)
    assert tokenized is not None and computed is not None
    assert [(each.text, each.num_tokens) for each in tokenized.texts] == [("A text.", 5), ("Another text.", 5)]
    assert (computed.num_tokens, computed.num_texts, computed.num_dimensions) == (10, 2, 384)
    assert (request.status, request.num_input_tokens, request.cost_nano) == ("done", 10, 50)
    assert {type(value) for value in astuple(computed)} == {int, str}


def test_it_stands_in_the_library_and_can_be_read(alice: Client) -> None:
    embed(alice)
    alice.force_login(User.objects.get(username="alice"))
    (found,) = alice.get("/api/requests").json()["requests"]
    assert (found["model"], found["title"], found["status"]) == (MODEL, "A text.", "done")
    assert alice.get(f"/api/requests/{found['id']}/trace").status_code == 200


def test_one_of_a_recording_is_a_turn(alice: Client) -> None:
    answer = alice.post("/record/vectors/v1/embeddings", BODY, content_type="application/json")
    assert answer.status_code == 200
    assert Turn.objects.get().recording.name == "vectors"


def test_one_of_a_recording_too_many_is_refused_before_it_is_computed(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, compute = [], EmbeddingCall.compute

    async def counted(call: EmbeddingCall) -> Embedded:
        computed.append(call.request.pk)
        return await compute(call)

    assert alice.post("/record/vectors/v1/embeddings", BODY, content_type="application/json").status_code == 200
    monkeypatch.setattr("webapp.traces.recordings.turns.MAX_RECORDINGS", 1)
    monkeypatch.setattr(EmbeddingCall, "compute", counted)
    assert alice.post("/record/vectors/v1/embeddings", BODY, content_type="application/json").status_code == 200
    answer = alice.post("/record/others/v1/embeddings", BODY, content_type="application/json")
    assert answer.status_code == 409 and "recordings, the limit" in answer.json()["error"]["message"]
    assert len(computed) == 1 and Request.objects.count() == 2


def test_a_text_that_is_too_long_leaves_a_trace_and_no_bill(alice: Client) -> None:
    answer = alice.post(
        "/v1/embeddings", {"model": MODEL, "input": ["Hi", "word " * 300]}, content_type="application/json"
    )
    request = Request.objects.get()
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input[1]")
    assert answer["Sightglass-Trace"].endswith(request.pk)
    assert (request.status, request.error_stage, request.error_code) == ("failed", "prompt", "prompt_too_long")
    assert not LedgerEntry.objects.exists()
    assert UsageRecord.objects.get().uncached_input == 0


def test_a_refused_one_is_counted(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), requests_per_minute=1)
    assert [embed(alice).status_code for _ in range(2)] == [200, 429]
    assert list(UsageRecord.objects.filter(status="refused").values_list("model", flat=True)) == [MODEL]
    assert Request.objects.count() == 1


def calls_of(num: int) -> list[EmbeddingCall]:
    user = User.objects.get(username="alice")
    return [EmbeddingCall(BODY["input"], user.pk, Arrival(unix_us(), "openai")) for _ in range(num)]


@pytest.mark.usefixtures("prices")
def test_calls_at_once_pass_no_budget_and_none_computes_in_vain(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=3 * 12 * 10)
    calls, computed, compute = calls_of(8), list[int](), Embedder.compute

    async def after_all_began(self: Embedder, ids: Any, user_id: int) -> Computed:
        """No call ends before each of them has reserved, or was refused."""
        computed.append(user_id)
        while len(computed) + len(refused) < len(calls):
            await asyncio.sleep(0)
        return await compute(self, ids, user_id)

    refused: list[Exception] = []

    async def all_at_once() -> list[Exception | None]:
        return await asyncio.gather(*map(noted, calls))

    async def noted(call: EmbeddingCall) -> Exception | None:
        if (error := await gathered(call)) is not None:
            refused.append(error)
        return error

    monkeypatch.setattr(Embedder, "compute", after_all_began)
    for call in calls:
        call.admit()
    assert async_to_sync(all_at_once)().count(None) == len(computed) == 3
    assert sum(LedgerEntry.objects.values_list("total_nano", flat=True)) == 3 * 12 * 10
    assert Request.objects.filter(status="failed", error_code="budget_used_up").count() == 5
    assert not Hold.objects.exists()


def test_a_bill_takes_the_prices_of_its_reservation(
    alice: Client, prices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=10**9)
    compute = Embedder.compute

    async def dearer(self: Embedder, ids: Any, user_id: int) -> Computed:
        await Price.objects.filter(model=MODEL).aupdate(unit_price_nano=99)
        return await compute(self, ids, user_id)

    monkeypatch.setattr(Embedder, "compute", dearer)
    num_tokens = embed(alice).json()["usage"]["total_tokens"]
    assert LedgerEntry.objects.get().total_nano == 12 * num_tokens


@pytest.mark.usefixtures("prices")
def test_a_process_that_dies_holds_no_budget_for_long(alice: Client) -> None:
    user = User.objects.get(username="alice")
    Rule.objects.create(user=user, daily_budget_nano=12 * 10)
    Hold.objects.create(
        request_id="req_died", user=user, model=MODEL, nano=12 * 10, currency="USD", ends_at=timezone.now() + HELD
    )
    assert embed(alice).status_code == 429
    Hold.objects.update(ends_at=timezone.now())
    assert embed(alice).status_code == 200
    assert not Hold.objects.exists()


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
    assert len(entries) == UsageRecord.objects.count() == Request.objects.filter(batch_id=batch.pk).count() == 2
    result = json.loads(batch.lines.get(index=0).answer)
    assert result["response"]["request_id"] in {entry.request_id for entry in entries}
    assert len(result["response"]["body"]["data"]) == 2


@pytest.mark.usefixtures("prices")
def test_a_line_that_finds_the_embedder_full_is_tried_again(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.surfaces.calls.embeddings.MOST_OF_ONE", 0)
    batch = batch_of(alice, BODY)
    assert (batch.status, batch.lines.get().status) == ("in_progress", "waiting")
    assert batch.resumes_at > timezone.now()
    monkeypatch.undo()
    Batch.objects.update(resumes_at=timezone.now())
    assert look(batch).lines.get().status == "succeeded"
    assert LedgerEntry.objects.count() == 1
