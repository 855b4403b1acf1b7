"""The official Python package `openai`: files and batches against the running product and its real model."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import openai
import pytest
from openai.types import Batch

from tests.conformance.openai.conftest import EMBEDDING_MODEL, MODEL, new_key
from tests.faults.conftest import Processes, until

CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
ENDED = ("completed", "failed", "cancelled", "expired")


def line(custom_id: str, body: dict[str, Any], url: str = "/v1/chat/completions") -> dict[str, Any]:
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def begin(client: openai.OpenAI, lines: Iterable[object], endpoint: str = "/v1/chat/completions") -> Batch:
    content = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    file = client.files.create(file=("calls.jsonl", content.encode()), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]


def ended(client: openai.OpenAI, batch: Batch) -> Batch:
    until(lambda: client.batches.retrieve(batch.id).status in ENDED, 240)
    return client.batches.retrieve(batch.id)


def results(client: openai.OpenAI, file_id: str | None) -> dict[str, dict[str, Any]]:
    assert file_id is not None
    rows = [json.loads(row) for row in client.files.content(file_id).text.splitlines()]
    return {row["custom_id"]: row for row in rows}


def billed(product: Processes, batch_id: str) -> set[str]:
    """The requests of a batch that were billed."""
    with closing(product.connect()) as database:
        statement = (
            "SELECT e.request_id FROM billing_ledgerentry e JOIN lifecycle_request r ON r.id = e.request_id"
            f" WHERE r.batch_id = '{batch_id}'"
        )
        return {request_id for (request_id,) in database.execute(statement).fetchall()}


def test_sends_lists_reads_and_deletes_files(client: openai.OpenAI) -> None:
    files = [client.files.create(file=(f"{n}.jsonl", b'{"n": 1}\n'), purpose="batch") for n in range(3)]
    assert (files[0].bytes, files[0].filename, files[0].purpose) == (9, "0.jsonl", "batch")
    page = client.files.list(limit=2)
    assert [each.id for each in page.data] == [files[2].id, files[1].id]
    assert files[0].id in [each.id for each in page]  # the client walks on by itself
    assert client.files.retrieve(files[0].id) == files[0]
    assert client.files.content(files[0].id).content == b'{"n": 1}\n'
    for each in files:
        assert client.files.delete(each.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(files[0].id)


def test_runs_a_batch_of_chat_completions_at_half_price(client: openai.OpenAI, product: Processes) -> None:
    batch = begin(client, [line("one", CHAT), line("two", CHAT | {"n": 2}), line("three", CHAT)])
    assert batch.status == "validating"
    done = ended(client, batch)
    assert done.status == "completed"
    assert done.request_counts is not None
    assert (done.request_counts.total, done.request_counts.completed, done.request_counts.failed) == (3, 3, 0)
    assert done.error_file_id is None
    found = results(client, done.output_file_id)
    assert list(found) == ["one", "two", "three"]
    assert len(found["two"]["response"]["body"]["choices"]) == 2
    answer = found["one"]["response"]
    assert answer["status_code"] == 200
    assert answer["body"]["object"] == "chat.completion"
    assert answer["body"]["usage"]["completion_tokens"] == 4
    assert done.usage is not None
    assert done.usage.output_tokens == 16
    trace = product.settled(answer["request_id"])
    events = list(product.events(answer["request_id"]))
    (bill,) = [event for event in events if event["type"] == "bill.posted"]
    assert "half price for a batch" in bill["price_version"]
    assert bill["total_nano"] == trace["cost_nano"] == product.ledger_total(answer["request_id"])
    live = client.chat.completions.create(**CHAT)  # type: ignore[call-overload]
    live_bill = next(
        e for e in product.events(f"req_{live.id.removeprefix('chatcmpl-')}") if e["type"] == "bill.posted"
    )
    output = {row["kind"]: row["unit_price_nano"] for row in bill["lines"]}["output"]
    assert output * 2 == {row["kind"]: row["unit_price_nano"] for row in live_bill["lines"]}["output"]


@pytest.mark.parametrize(
    ("endpoint", "body", "kind"),
    [
        ("/v1/completions", {"model": MODEL, "prompt": ["Once", "Then"], "max_tokens": 3}, "text_completion"),
        ("/v1/responses", {"model": MODEL, "input": "Hi", "max_output_tokens": 16}, "response"),
        ("/v1/embeddings", {"model": EMBEDDING_MODEL, "input": "A text."}, "list"),
    ],
)
def test_runs_a_batch_of_another_endpoint(
    client: openai.OpenAI, endpoint: str, body: dict[str, Any], kind: str
) -> None:
    done = ended(client, begin(client, [line("a", body, endpoint)], endpoint))
    assert done.status == "completed", done
    assert results(client, done.output_file_id)["a"]["response"]["body"]["object"] == kind


def test_a_line_with_a_bad_body_has_its_own_error(client: openai.OpenAI) -> None:
    bad = [
        line("hot", CHAT | {"temperature": 9}),
        line("no", CHAT | {"model": "nope"}),
        line("s", CHAT | {"stream": True}),
    ]
    done = ended(client, begin(client, [*bad, line("good", CHAT)]))
    assert done.status == "completed"
    assert done.request_counts is not None
    assert (done.request_counts.completed, done.request_counts.failed) == (1, 3)
    assert list(results(client, done.output_file_id)) == ["good"]
    errors = results(client, done.error_file_id)
    assert errors["hot"]["response"]["status_code"] == 400
    assert errors["hot"]["response"]["body"]["error"]["param"] == "temperature"
    assert errors["no"]["response"]["body"]["error"]["code"] == "model_not_found"
    assert errors["s"]["response"]["body"]["error"]["param"] == "stream"


def test_a_file_with_bad_lines_fails_the_batch(client: openai.OpenAI) -> None:
    bad = ["no json", line("a", CHAT), line("a", CHAT), line("b", CHAT, "/v1/completions"), '{"custom_id": "c"}']
    done = ended(client, begin(client, bad))
    assert done.status == "failed"
    assert done.errors is not None
    assert done.errors.data is not None
    told = [(each.line, each.code) for each in done.errors.data]
    assert told == [
        (1, "invalid_json_line"),
        (3, "duplicate_custom_id"),
        (4, "invalid_url"),
        (5, "invalid_line"),
    ]


def test_cancels_a_batch(client: openai.OpenAI) -> None:
    long = CHAT | {"max_tokens": 60}
    batch = begin(client, [line(f"{n}", long) for n in range(30)])
    until(lambda: client.batches.retrieve(batch.id).status == "in_progress", 60)
    assert client.batches.cancel(batch.id).status == "cancelling"
    done = ended(client, batch)
    assert done.status == "cancelled"
    errors = results(client, done.error_file_id)
    assert {row["error"]["code"] for row in errors.values()} == {"batch_cancelled"}
    assert len(errors) > 20


def test_lists_batches_page_by_page(client: openai.OpenAI) -> None:
    batches = [begin(client, ["broken"]) for _ in range(3)]
    assert [each.id for each in client.batches.list(limit=2).data] == [batches[2].id, batches[1].id]
    assert batches[0].id in [each.id for each in client.batches.list(limit=2)]


def test_a_repeat_under_the_same_key_begins_no_second_batch(client: openai.OpenAI) -> None:
    file = client.files.create(file=("a.jsonl", json.dumps(line("a", CHAT)).encode()), purpose="batch")
    body: Any = {"input_file_id": file.id, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    headers = {"Idempotency-Key": "batch-1"}
    first, second = (client.batches.create(**body, extra_headers=headers) for _ in range(2))
    assert first.id == second.id
    assert ended(client, first).request_counts.total == 1  # type: ignore[union-attr]


def test_a_key_without_the_feature_has_no_batches(product: Processes, user: str, client: openai.OpenAI) -> None:
    reading = client.with_options(api_key=new_key(product, user, "--feature", "read"))
    chatting = client.with_options(api_key=new_key(product, user, "--feature", "chat"))
    only = client.with_options(api_key=new_key(product, user, "--feature", "batches"))
    batch = begin(only, [line("a", CHAT)])
    assert ended(only, batch).status == "completed"  # its lines need no other feature
    assert reading.batches.retrieve(batch.id).id == batch.id
    with pytest.raises(openai.PermissionDeniedError):
        reading.batches.cancel(batch.id)
    with pytest.raises(openai.PermissionDeniedError):
        chatting.batches.list()


def test_a_live_message_comes_before_the_lines_of_a_batch(client: openai.OpenAI) -> None:
    batch = begin(client, [line(f"{n}", CHAT | {"max_tokens": 30}) for n in range(12)])
    until(lambda: (client.batches.retrieve(batch.id).request_counts or batch).completed > 0, 120)  # type: ignore[union-attr]
    before = client.batches.retrieve(batch.id).request_counts
    live = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Hi"}], max_tokens=60, temperature=1
    )
    after = client.batches.retrieve(batch.id).request_counts
    assert live.choices
    assert before is not None
    assert after is not None
    assert after.completed - before.completed <= 4  # those that were open
    assert ended(client, batch).status == "completed"


def test_nothing_is_lost_or_done_twice_when_workers_are_killed(client: openai.OpenAI, product: Processes) -> None:
    """The lifecycle worker, the web process and the inference worker die in the middle of a batch."""
    batch = begin(client, [line(f"{n}", CHAT | {"max_tokens": 20}) for n in range(10)])

    def num_done() -> int:
        counts = client.batches.retrieve(batch.id).request_counts
        return 0 if counts is None else counts.completed

    for least, part in ((1, "lifecycle"), (3, "inference"), (5, "web")):
        until(lambda least=least: num_done() >= least, 120)
        child = {"lifecycle": product.lifecycle, "web": product.web, "inference": product.inference[-1]}[part]
        child.send(signal.SIGKILL)
        assert child.wait(10)
        if part == "lifecycle":
            product.lifecycle = product.start_lifecycle()
        elif part == "inference":
            product.wait_until_unready()
            product.start_inference()
        else:
            product.web = product.start_web()
            product.wait_for("/healthz")
    done = ended(client, batch)
    assert done.status == "completed", done
    found = results(client, done.output_file_id)
    assert sorted(found) == sorted(f"{n}" for n in range(10))
    ids = {row["response"]["request_id"] for row in found.values()}
    assert len(ids) == 10
    assert billed(product, batch.id) == ids  # no other request of the batch was billed
