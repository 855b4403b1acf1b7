"""The batches of the page: begun from a file, watched, cancelled, and their results read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from inference.eventlog.keys import worker_key
from tests.webapp.registered import CONFIGURED
from tests.webapp.surfaces.batches.test_advance import (
    BODY,
    OUTPUT_NANO,
    READY,
    begin,
    client_of,
    finish,
    look,
    open_requests,
    states,
    streamed,
)
from webapp.identity.keys.keys import create
from webapp.requests.models import Request
from webapp.surfaces.batches.models import Batch, Line

pytestmark = pytest.mark.django_db(transaction=True)
CHAT = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def worker(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is ready, by its heartbeat; nothing takes the tasks. Looks and checks take as long as they need."""
    monkeypatch.setattr("webapp.surfaces.batches.brought.CHECKED_S", 3600)
    redis_client.hset(worker_key("test:1"), mapping=READY)
    monkeypatch.setattr("webapp.surfaces.batches.beginning.TURN_S", 3600)


@pytest.fixture
def alice() -> Client:
    return signed_in("alice")


def signed_in(name: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


def line(name: str, url: str = CHAT, **change: Any) -> dict[str, Any]:
    return {"custom_id": name, "method": "POST", "url": url, "body": BODY | change}


def post(client: Client, lines: list[Any] | bytes, **headers: str) -> Any:
    content = lines if isinstance(lines, bytes) else "\n".join(map(json.dumps, lines)).encode()
    return client.post("/api/batches", {"file": SimpleUploadedFile("lines.jsonl", content)}, headers=headers)


def test_a_batch_of_the_page_runs_without_a_key_and_tells_each_lines_end(alice: Client) -> None:
    made = post(alice, [line("a"), line("b"), line("c", temperature=2)])
    assert made.status_code == 201, made.content
    assert (made.json()["num_checked"], made.json()["is_of_sign_in"], made.json()["key"]) == (3, True, None)
    batch = look(Batch.objects.get())
    assert states(batch) == ["open", "open", "waiting"]
    first, second = open_requests()
    finish(first, 10)
    look(batch)
    (shown,) = alice.get("/api/batches").json()["batches"]
    assert (shown["status"], shown["can_cancel"]) == ("in_progress", True)
    assert shown["counts"] == {"waiting": 0, "open": 2, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0}
    assert shown["costs"] == [{"currency": "USD", "nano": 10 * OUTPUT_NANO // 2}]
    for request in open_requests():
        finish(request, 10)
    look(batch)
    whole = alice.get(f"/api/batches/{batch.pk}").json()
    assert (whole["status"], whole["can_cancel"]) == ("completed", False)
    assert [each["status"] for each in whole["lines"]] == ["succeeded"] * 3
    assert whole["lines"][0]["traces"] == [first.pk]
    assert (whole["lines"][0]["cost_nano"], whole["lines"][0]["error"]) == (10 * OUTPUT_NANO // 2, "")
    answers = streamed(alice.get(f"/api/batches/{batch.pk}/results")).splitlines()
    assert [json.loads(each)["custom_id"] for each in answers] == ["a", "b", "c"]
    assert streamed(alice.get(f"/api/batches/{batch.pk}/results?part=errors")) == b""
    second.delete()
    assert alice.get(f"/api/batches/{batch.pk}").json()["lines"][1]["traces"] == []


def test_lines_come_a_hundred_at_a_time(alice: Client) -> None:
    batch = Batch.objects.get(pk=post(alice, [line(f"n{n}") for n in range(120)]).json()["id"])
    first = alice.get(f"/api/batches/{batch.pk}").json()["lines"]
    rest = alice.get(f"/api/batches/{batch.pk}?after={first[-1]['index']}").json()["lines"]
    assert [each["index"] for each in first + rest] == list(range(120)) and len(first) == 100
    assert alice.get(f"/api/batches/{batch.pk}?after=-2").status_code == 400


def test_lines_of_messages_make_a_batch_of_that_api(alice: Client) -> None:
    made = post(alice, [{"custom_id": "a", "params": BODY}, {"custom_id": "b", "params": BODY}])
    assert (made.json()["family"], made.json()["endpoint"]) == ("anthropic", "/v1/messages")
    assert states(look(Batch.objects.get())) == ["open", "open"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "The file has no line."),
        (b"{", "Line 1: "),
        (b"[1]", "Line 1: "),
        (b"\xff", "Line 1: it is not UTF-8 text"),
        (json.dumps(line("a")).encode() + b"\n\x00", "Line 2: it has a NUL character"),
        ([line("a"), line("a")], "Line 2: custom_id stands in line 1 too."),
        ([line("a", "/v1/other")], "Line 1: url must be one of: "),
        ([line("a"), line("b", "/v1/responses")], f"Line 2: url must be {CHAT}"),
        ([line("a"), line("b", temperature=3), line("c", top_p=7)], "Line 2: temperature must be from 0 to 2."),
        ([line("a"), line("b", model="none")], "Line 2: "),
        ([line("a", stream=True)], "Line 1: A batch has no streams."),
        ([{"custom_id": "a", "params": BODY}, {"custom_id": "b", "params": []}], "Line 2: params must be an object."),
        ([{"custom_id": "a", "params": BODY | {"max_tokens": -1}}], "Line 1: "),
    ],
)
def test_the_first_mistake_is_named_with_its_line_and_nothing_is_saved(
    alice: Client, content: list[Any] | bytes, told: str
) -> None:
    refused = post(alice, content)
    assert 400 <= refused.status_code < 500, refused.content
    assert refused.json()["error"]["message"].startswith(told)
    assert not Batch.objects.exists() and not Line.objects.exists() and not Request.objects.exists()


def test_blank_lines_and_a_mark_of_utf_8_are_no_mistake(alice: Client) -> None:
    content = b"\xef\xbb\xbf\n" + json.dumps(line("a")).encode() + b"\r\n\r\n" + json.dumps(line("b", n=99)).encode()
    assert post(alice, content).json()["error"]["message"].startswith("Line 4: n must be from 1 to 8")
    assert post(alice, content.replace(b"99", b"1")).status_code == 201


def test_bodies_after_the_time_for_checks_are_read_when_they_begin(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.surfaces.batches.brought.CHECKED_S", -1)
    made = post(alice, [line("a", temperature=3)])
    assert (made.status_code, made.json()["num_checked"]) == (201, 0)
    assert states(look(Batch.objects.get())) == ["errored"]
    shown = alice.get(f"/api/batches/{made.json()['id']}").json()
    assert shown["lines"][0]["error"] == "temperature must be from 0 to 2."


def test_a_batch_is_its_users_own(alice: Client) -> None:
    batch = Batch.objects.get(pk=post(alice, [line("a")]).json()["id"])
    bob = signed_in("bob")
    assert bob.get("/api/batches").json() == {"batches": [], "has_more": False}
    for path in ("", "/results", "/results?part=errors"):
        assert bob.get(f"/api/batches/{batch.pk}{path}").status_code == 404
    assert bob.post(f"/api/batches/{batch.pk}/cancel").status_code == 404
    batch.refresh_from_db()
    assert batch.status == "in_progress"
    assert Client().get(f"/api/batches/{batch.pk}").status_code == 401


def test_a_key_needs_batches_and_one_that_reads_begins_none(alice: Client) -> None:
    batch = begin(client_of("alice"))
    address = f"/api/batches/{batch.pk}"
    reads, chats = client_of("alice", features=["read"]), client_of("alice", features=["chat"])
    assert [each.get(address).status_code for each in (reads, chats)] == [200, 403]
    assert [each.post(f"{address}/cancel").status_code for each in (reads, chats)] == [403, 403]
    assert [post(each, [line("b")]).status_code for each in (reads, chats)] == [403, 403]
    named = alice.get(address).json()
    assert (named["key"], named["is_of_sign_in"]) == ("a test", False)
    Batch.objects.update(model_ids=["another"])
    assert client_of("alice", models=[CONFIGURED]).get(address).status_code == 404


def test_a_batch_of_a_key_stops_with_the_key_and_one_of_the_page_does_not(alice: Client) -> None:
    key = create(User.objects.get(username="alice").pk, "gone")
    program = Client(headers={"x-api-key": key.secret})
    batches = [Batch.objects.get(pk=post(client, [line("a")]).json()["id"]) for client in (program, alice)]
    key.key.delete()
    assert [states(look(batch)) for batch in batches] == [["errored"], ["open"]]


def test_a_cancelled_batch_begins_no_further_line(alice: Client) -> None:
    batch = look(Batch.objects.get(pk=post(alice, [line(f"n{n}") for n in range(4)]).json()["id"]))
    cancelled = alice.post(f"/api/batches/{batch.pk}/cancel").json()
    assert (cancelled["status"], cancelled["can_cancel"]) == ("cancelling", False)
    for request in open_requests():
        finish(request)
    look(batch)
    shown = alice.get(f"/api/batches/{batch.pk}").json()
    assert (shown["status"], shown["counts"]["succeeded"], shown["counts"]["canceled"]) == ("cancelled", 2, 2)
    unrun = streamed(alice.get(f"/api/batches/{batch.pk}/results?part=errors")).splitlines()
    assert [json.loads(each)["error"]["code"] for each in unrun] == ["batch_cancelled"] * 2


def test_a_repeated_call_begins_one_batch(alice: Client) -> None:
    key = {"Idempotency-Key": "k" * 20}
    first, second = post(alice, [line("a")], **key), post(alice, [line("a")], **key)
    assert first.json()["id"] == second.json()["id"] and second["Idempotent-Replayed"] == "true"
    assert post(alice, [line("b")], **key).status_code == 422
    assert Batch.objects.count() == 1


def test_the_model_of_a_line_is_named(alice: Client) -> None:
    assert post(alice, [line("a")]).json()["models"] == [CONFIGURED]
