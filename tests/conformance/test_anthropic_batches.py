"""The official Python package `anthropic`: batches against the running product and its real model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse

from tests.conformance.conftest import MODEL, Access
from tests.faults.conftest import Processes, kill, until

PARAMS: dict[str, Any] = {"model": MODEL, "max_tokens": 4, "messages": [{"role": "user", "content": "Say hello."}]}


@pytest.fixture(scope="module")
def client(access: Access) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=access.address, api_key=access.key, max_retries=0, timeout=240) as client:
        yield client


def begin(client: anthropic.Anthropic, **params: dict[str, Any]) -> MessageBatch:
    requests: Any = [{"custom_id": custom_id, "params": each} for custom_id, each in params.items()]
    return client.messages.batches.create(requests=requests)


def ended(client: anthropic.Anthropic, batch: MessageBatch) -> MessageBatch:
    until(lambda: client.messages.batches.retrieve(batch.id).processing_status == "ended", 240)
    return client.messages.batches.retrieve(batch.id)


def results(client: anthropic.Anthropic, batch: MessageBatch) -> dict[str, MessageBatchIndividualResponse]:
    return {each.custom_id: each for each in client.messages.batches.results(batch.id)}


def test_runs_a_batch_and_reads_its_results(client: anthropic.Anthropic, site: Processes) -> None:
    batch = begin(client, one=PARAMS, two=PARAMS | {"max_tokens": 6})
    assert (batch.processing_status, batch.request_counts.processing, batch.results_url) == ("in_progress", 2, None)
    done = ended(client, batch)
    assert (done.request_counts.succeeded, done.request_counts.processing) == (2, 0)
    assert done.ended_at is not None
    found = results(client, done)
    result = found["two"].result
    assert result.type == "succeeded"
    assert result.message.content[0].type == "text"
    assert (result.message.stop_reason, result.message.usage.output_tokens) == ("max_tokens", 6)
    assert result.message.usage.service_tier == "batch"
    trace = site.client.get(f"/api/requests/req_{result.message.id.removeprefix('msg_')}").json()
    assert (trace["status"], trace["surface"]) == ("done", "anthropic")


def test_a_message_with_bad_params_has_its_own_error(client: anthropic.Anthropic) -> None:
    bad = {"hot": PARAMS | {"temperature": 7}, "no": PARAMS | {"model": "nope"}, "zero": PARAMS | {"max_tokens": 0}}
    done = ended(client, begin(client, **bad, good=PARAMS))
    assert (done.request_counts.succeeded, done.request_counts.errored) == (1, 3)
    found = results(client, done)
    told = {}
    for custom_id in bad:
        result = found[custom_id].result
        assert result.type == "errored"
        told[custom_id] = result.error.error.type
    assert told == {"hot": "invalid_request_error", "no": "not_found_error", "zero": "invalid_request_error"}


def test_a_body_with_a_bad_custom_id_is_refused(client: anthropic.Anthropic) -> None:
    for requests in ([], [{"custom_id": "a b", "params": PARAMS}], [{"custom_id": "a", "params": PARAMS}] * 2):
        with pytest.raises(anthropic.BadRequestError):
            client.messages.batches.create(requests=requests)  # type: ignore[arg-type]


def test_cancels_a_batch(client: anthropic.Anthropic) -> None:
    batch = begin(client, **{f"n{n}": PARAMS | {"max_tokens": 60} for n in range(30)})
    assert client.messages.batches.cancel(batch.id).processing_status == "canceling"
    done = ended(client, batch)
    assert done.cancel_initiated_at is not None
    assert done.request_counts.canceled + done.request_counts.succeeded == 30
    assert done.request_counts.canceled > 20
    assert {each.result.type for each in results(client, done).values()} <= {"canceled", "succeeded"}


def test_lists_batches_page_by_page_and_deletes_one(client: anthropic.Anthropic) -> None:
    batches = [begin(client, a=PARAMS) for _ in range(3)]
    page = client.messages.batches.list(limit=2)
    assert ([each.id for each in page.data], page.has_more) == ([batches[2].id, batches[1].id], True)
    assert batches[0].id in [each.id for each in page]
    assert [each.id for each in client.messages.batches.list(limit=2, before_id=batches[0].id).data] == [
        batches[2].id,
        batches[1].id,
    ]
    done = ended(client, batches[0])
    assert client.messages.batches.delete(done.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.retrieve(done.id)


def test_results_and_deletion_wait_for_the_end(client: anthropic.Anthropic) -> None:
    batch = begin(client, **{f"n{n}": PARAMS | {"max_tokens": 60} for n in range(6)})
    for early in (client.messages.batches.delete, client.messages.batches.results):
        with pytest.raises(anthropic.AnthropicError):
            early(batch.id)  # type: ignore[operator]
    client.messages.batches.cancel(batch.id)
    ended(client, batch)


def test_a_batch_outlives_its_lifecycle_worker(client: anthropic.Anthropic, site: Processes) -> None:
    batch = begin(client, **{f"n{n}": PARAMS | {"max_tokens": 20} for n in range(6)})
    until(lambda: any(row["status"] == "running" for row in open_rows(site)), 60)
    kill(site.lifecycle)
    site.lifecycle = site.start_lifecycle()
    done = ended(client, batch)
    assert done.request_counts.succeeded == 6
    ids = {each.result.message.id for each in results(client, done).values() if each.result.type == "succeeded"}
    assert len(ids) == 6


def open_rows(site: Processes) -> list[dict[str, Any]]:
    """The user's newest requests."""
    found: list[dict[str, Any]] = site.client.get("/api/requests").json()["requests"]
    return found
