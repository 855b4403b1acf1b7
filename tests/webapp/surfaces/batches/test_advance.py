"""A batch advanced step by step without a worker: limits, keys, faults, ends, and other processes beside it."""

from __future__ import annotations

import json
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
import redis
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone

from inference.eventlog.keys import worker_key
from inference.grammar.check import ChecksBusy
from inference.protocol.events import GenerationFinished
from inference.protocol.failures import Failure
from inference.protocol.request import Usage
from tests.events import STARTED
from tests.webapp.registered import CONFIGURED
from tests.webapp.usage.limits.test_admission import send
from tests.webapp.usage.test_report import make_record, save
from webapp.identity.keys.keys import create, revoke
from webapp.lifecycle.admission import num_free
from webapp.lifecycle.generation_request import BATCH_PRIORITY, generation_request
from webapp.lifecycle.settle import settle
from webapp.lifecycle.tasks import prepare
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.batches import bounds
from webapp.surfaces.batches.advance import advance, in_turn
from webapp.surfaces.batches.answering import MAX_TRIES
from webapp.surfaces.batches.batches import costs_of, counts_of
from webapp.surfaces.batches.beginning import MAX_OF_ONE, MAX_OPEN
from webapp.surfaces.batches.files import delete_expired
from webapp.surfaces.batches.models import Batch, Line, StoredFile
from webapp.surfaces.batches.tasks import advance_task
from webapp.usage.limits.models import Reservation, Rule
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)
READY = {"state": "ready", "model": CONFIGURED, "num_places": "192"}
BODY = {"model": CONFIGURED, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}
LOST = Failure("generation", "worker_lost", "The worker was lost.")
OUTPUT_NANO = 80


@pytest.fixture(autouse=True)
def worker(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> redis.Redis:
    """One is ready, by its heartbeat; nothing takes the tasks. A look takes as long as it needs."""
    monkeypatch.setattr("webapp.surfaces.batches.beginning.TURN_S", 3600)
    redis_client.hset(worker_key("test:1"), mapping=READY)
    return redis_client


def client_of(user: str, **scopes: Any) -> Client:
    made = create(User.objects.get_or_create(username=user)[0].pk, "a test", **scopes)
    return Client(raise_request_exception=False, headers={"x-api-key": made.secret})


@pytest.fixture
def alice() -> Client:
    return client_of("alice")


def begin(client: Client, num: int = 1, **change: Any) -> Batch:
    """A batch that was looked at once."""
    requests = [{"custom_id": f"n{n}", "params": BODY | change} for n in range(num)]
    answer = client.post("/v1/messages/batches", {"requests": requests}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return look(Batch.objects.get(pk=answer.json()["id"]))


def begin_file(client: Client, num: int = 1, **change: Any) -> Batch:
    """A batch of OpenAI's form that was looked at once."""
    url = "/v1/chat/completions"
    lines = [{"custom_id": f"n{n}", "method": "POST", "url": url, "body": BODY | change} for n in range(num)]
    sent = SimpleUploadedFile("a", "\n".join(map(json.dumps, lines)).encode())
    file = client.post("/v1/files", {"purpose": "batch", "file": sent}).json()["id"]
    body = {"input_file_id": file, "endpoint": url, "completion_window": "24h"}
    answer = client.post("/v1/batches", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return look(Batch.objects.get(pk=answer.json()["id"]))


def streamed(answer: Any) -> bytes:
    """The whole body of an answer that comes in pieces."""

    async def joined() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(joined)()


def look(batch: Batch) -> Batch:
    advance([batch.pk])
    batch.refresh_from_db()
    return batch


def open_requests() -> list[Request]:
    return list(Request.objects.filter(finished_at=None).order_by("accepted_unix_us"))


def finish(request: Request, num_output: int = 5) -> None:
    usage = Usage(output=num_output)
    done = GenerationFinished(at=9, finish_reason="stop", usage=usage, prefill_us=1, decode_us=1)
    services.event_log().append(request.pk, [STARTED, done], request.attempt)
    settle(request.pk)


def states(batch: Batch) -> list[str]:
    return list(batch.lines.order_by("index").values_list("status", flat=True))


def result(batch: Batch, index: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(batch.lines.get(index=index).answer)["result"]
    return found


def error(batch: Batch, index: int = 0) -> str:
    return str(result(batch, index)["error"]["error"]["type"])


def test_few_lines_are_open_at_once_and_the_next_begins_when_one_has_ended(alice: Client) -> None:
    batch = begin(alice, 4)
    assert states(batch) == ["open", "open", "waiting", "waiting"]
    assert len(open_requests()) == MAX_OF_ONE
    finish(open_requests()[0])
    look(batch)
    assert states(batch) == ["succeeded", "open", "open", "waiting"]
    while requests := open_requests():
        finish(requests[0])
        look(batch)
    assert (batch.status, states(batch)) == ("completed", ["succeeded"] * 4)
    assert LedgerEntry.objects.count() == 4


def test_a_user_with_many_lines_leaves_places_to_others(alice: Client) -> None:
    batches = [begin(client_of(name), 4) for name in ("bob", "carol", "dave")]
    assert [states(batch).count("open") for batch in batches] == [2, 2, 0]
    finish(open_requests()[0])
    advance_task(batches[0].pk)
    assert [states(batch).count("open") for batch in batches] == [1, 2, 1]
    assert in_turn() == [batches[0].pk, batches[2].pk, batches[1].pk]  # the oldest first of equal ones


def test_places_are_those_of_requests(alice: Client) -> None:
    """Two lines of two answers each: the user's two places are those of one line."""
    batch = begin_file(alice, 3, n=2)
    assert states(batch) == ["open", "waiting", "waiting"]
    first, second = open_requests()
    finish(first)
    assert states(look(batch)) == ["open", "waiting", "waiting"]
    finish(second)
    assert states(look(batch)) == ["succeeded", "open", "waiting"]


def test_a_line_of_more_answers_than_one_user_has_places_begins_when_all_are_free(alice: Client) -> None:
    other = begin(client_of("bob"))
    batch = begin_file(alice, 2, n=MAX_OPEN)
    assert states(batch) == ["waiting", "waiting"]
    finish(open_requests()[0])
    look(other)
    assert states(look(batch)) == ["open", "waiting"]
    assert len(open_requests()) == MAX_OPEN


def test_a_line_of_more_answers_than_there_are_places_ends_with_the_reason(alice: Client) -> None:
    batch = begin_file(alice, 1, n=MAX_OPEN + 1)
    assert (batch.status, states(batch)) == ("completed", ["errored"])
    answered = json.loads(batch.lines.get().answer)["response"]
    assert answered["status_code"] == 400
    assert "5 answers; a line of a batch has 4 at most" in answered["body"]["error"]["message"]
    assert not Request.objects.exists()


def test_lines_leave_a_users_places_to_the_users_live_messages(alice: Client) -> None:
    user = User.objects.get(username="alice")
    Rule.objects.create(user=user, max_open=2)
    batch = begin(alice, 3)
    assert states(batch) == ["open", "open", "waiting"]
    assert num_free(user.pk, CONFIGURED, None) == 2
    assert [send(user).status_code for _ in range(3)] == [201, 201, 429]
    finish(open_requests()[0])
    assert states(look(batch)) == ["succeeded", "open", "waiting"], "live messages come first"


def test_the_user_with_the_fewest_open_answers_is_looked_at_first(alice: Client) -> None:
    wide, narrow = begin_file(alice, 2, n=2), begin(client_of("bob"), 2)
    finish(next(request for request in open_requests() if request.batch_id == narrow.pk))
    assert in_turn() == [narrow.pk, wide.pk]


def test_no_line_begins_while_another_request_is_open(alice: Client) -> None:
    user = User.objects.get_or_create(username="bob")[0]
    other = Request.objects.create(user=user, surface="chat", model=CONFIGURED)
    batch = begin(alice)
    assert states(batch) == ["waiting"]
    other.delete()
    assert states(look(batch)) == ["open"]


def test_a_request_of_a_batch_gives_way_to_others_and_names_its_batch(alice: Client) -> None:
    batch = begin(alice)
    (request,) = open_requests()
    prepare(request.pk)
    events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
    assert generation_request(request, events).priority == BATCH_PRIORITY < 0
    listed = Client()
    listed.force_login(User.objects.get(username="alice"))
    assert listed.get(f"/api/requests/{request.pk}").json()["batch_id"] == batch.pk


def test_an_answer_costs_half_of_the_price(alice: Client) -> None:
    begin(alice)
    finish(open_requests()[0], 10)
    entry = LedgerEntry.objects.get()
    assert entry.total_nano == 10 * OUTPUT_NANO // 2
    assert entry.price_version.endswith(", half price for a batch")
    record = UsageRecord.objects.get()
    assert (record.cost_nano, record.is_batch) == (entry.total_nano, True)


def test_the_reservation_is_of_the_lower_price(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=10**12)
    begin(alice, max_tokens=1000)
    nano = Reservation.objects.get().nano
    assert 1000 * OUTPUT_NANO // 2 <= nano < 1000 * OUTPUT_NANO


def test_a_line_that_the_budget_refuses_ends_as_an_error_and_the_next_begins(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=1)
    batch = begin(alice, 3)
    assert (batch.status, states(batch)) == ("completed", ["errored"] * 3)
    assert error(batch) == "rate_limit_error"
    assert not Request.objects.exists()


@pytest.mark.parametrize("budget", ["daily", "monthly"])
def test_a_budget_that_is_used_up_while_a_batch_runs_ends_each_further_line(alice: Client, budget: str) -> None:
    """The lines of both families name the budget, and the moment from which it is new."""
    user = User.objects.get(username="alice")
    Rule.objects.create(user=user, **{f"{budget}_budget_nano": 100_000})
    batches = begin(alice), begin_file(alice, 2)
    assert [states(batch) for batch in batches] == [["open"], ["open", "waiting"]]
    for request in open_requests():
        finish(request, 100)
    save(make_record(1, user, timezone.now(), cost_nano=95_000))
    for batch in batches:
        look(batch)
    assert (batches[1].status, states(batches[1])) == ("completed", ["succeeded", "errored"])
    answered = json.loads(batches[1].lines.get(index=1).answer)["response"]
    assert (answered["status_code"], answered["body"]["error"]["code"]) == (429, "insufficient_quota")
    told = f"of your {budget} budget of 0.0001 USD is left"
    assert told in answered["body"]["error"]["message"]
    assert told in batches[1].lines.get(index=1).error
    later = begin(alice, 2)
    assert (later.status, states(later), error(later)) == ("completed", ["errored"] * 2, "rate_limit_error")
    assert told in result(later)["error"]["error"]["message"]


def test_a_line_waits_for_the_part_of_a_budget_that_an_open_line_reserves(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), daily_budget_nano=100_000)
    batch = begin(alice, 2, max_tokens=1500)
    assert states(batch) == ["open", "waiting"]
    assert batch.resumes_at > timezone.now()


def test_a_rate_that_is_used_up_makes_the_batch_wait_and_leaves_no_refusal(alice: Client) -> None:
    Rule.objects.create(user=User.objects.get(username="alice"), requests_per_minute=1)
    batch = begin(alice, 2)
    assert states(batch) == ["open", "waiting"]
    assert batch.resumes_at > timezone.now()
    assert not UsageRecord.objects.exists()
    finish(open_requests()[0])
    assert states(look(batch)) == ["succeeded", "waiting"]


def test_a_line_whose_form_cannot_be_checked_now_waits(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_busy(*_: Any, **__: Any) -> None:
        raise ChecksBusy

    monkeypatch.setattr("webapp.surfaces.batches.beginning.begin", is_busy)
    batch = begin(alice)
    assert states(batch) == ["waiting"]
    monkeypatch.undo()
    Batch.objects.update(resumes_at=timezone.now())
    assert states(look(batch)) == ["open"]


def test_lines_of_a_revoked_key_begin_no_more(alice: Client) -> None:
    batch = begin(alice, 4)
    assert batch.key is not None
    revoke(batch.key)
    for request in open_requests():
        finish(request)
    look(batch)
    assert states(batch) == ["succeeded", "succeeded", "errored", "errored"]
    assert error(batch, 2) == "authentication_error"
    assert batch.status == "completed"


def test_lines_that_have_not_begun_expire(alice: Client) -> None:
    batch = begin(alice, 3)
    Batch.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for request in open_requests():
        finish(request)
    look(batch)
    assert (batch.status, states(batch)) == ("expired", ["succeeded", "succeeded", "expired"])
    assert result(batch, 2) == {"type": "expired"}


def test_a_line_whose_worker_was_lost_runs_again_and_then_ends_as_an_error(alice: Client) -> None:
    batch = begin(alice)
    for tries in range(1, MAX_TRIES + 1):
        (request,) = open_requests()
        settle(request.pk, LOST)
        look(batch)
        assert states(batch) == ["open" if tries < MAX_TRIES else "errored"]
    assert batch.status == "completed"
    assert not LedgerEntry.objects.exists()


def test_a_line_whose_trace_was_deleted_ends_as_an_error(alice: Client) -> None:
    batch = begin(alice)
    open_requests()[0].delete()
    assert states(look(batch)) == ["errored"]


def test_processes_that_advance_a_batch_at_once_begin_and_end_each_line_once(alice: Client) -> None:
    batch = begin(alice, 6)

    def run() -> None:
        advance([batch.pk] * 3)
        connection.close()

    while batch.status != "completed":
        if requests := open_requests():
            finish(requests[0])
        threads = [Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(open_requests()) <= MAX_OF_ONE
        batch.refresh_from_db()
    assert counts_of([batch])[batch.pk].succeeded == Request.objects.count() == LedgerEntry.objects.count() == 6


def test_a_process_that_dies_after_it_saved_a_line_loses_nothing(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is there and no log: the watchdog goes on with the request, and no second one begins."""

    def dies(*_: Any, **__: Any) -> None:
        raise SystemExit

    monkeypatch.setattr("webapp.lifecycle.begin.start", dies)
    with pytest.raises(SystemExit):
        begin(alice)
    monkeypatch.undo()
    batch = Batch.objects.get()
    assert states(look(batch)) == ["open"]
    assert Request.objects.count() == 1


def test_a_queue_that_is_away_takes_nothing(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from webapp.lifecycle.start import QueueUnavailable

    def fails(*_: Any, **__: Any) -> None:
        raise QueueUnavailable("away")

    monkeypatch.setattr("webapp.lifecycle.begin.start", fails)
    batch = begin(alice)
    assert states(batch) == ["waiting"]
    assert (Request.objects.count(), batch.lines.get().num_tries) == (0, 0)
    monkeypatch.undo()
    Batch.objects.update(resumes_at=timezone.now())
    assert states(look(batch)) == ["open"]


def test_what_one_user_stores_is_bounded(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begin(alice)
    monkeypatch.setattr("webapp.surfaces.batches.answering.MAX_STORED_BYTES", 10)
    finish(open_requests()[0])
    look(batch)
    assert error(batch) == "request_too_large"
    monkeypatch.setattr(bounds, "MAX_STORED_BYTES", 10)
    answer = alice.post(
        "/v1/messages/batches", {"requests": [{"custom_id": "a", "params": BODY}]}, content_type="application/json"
    )
    assert answer.status_code == 413


def test_another_user_and_a_key_of_another_model_see_no_batch(alice: Client) -> None:
    batch = begin(alice)
    assert alice.get(f"/v1/messages/batches/{batch.pk}").status_code == 200
    assert client_of("bob").get(f"/v1/messages/batches/{batch.pk}").status_code == 404
    assert client_of("bob").get("/v1/messages/batches").json()["data"] == []
    Batch.objects.update(model_ids=["another"])
    limited = client_of("alice", models=[CONFIGURED])
    assert limited.get(f"/v1/messages/batches/{batch.pk}").status_code == 404


def test_files_that_have_expired_are_deleted_with_their_content(alice: Client) -> None:
    user = User.objects.get(username="alice")
    past = timezone.now() - timedelta(seconds=1)
    StoredFile.objects.create(user=user, name="old", content="{}", num_bytes=2, expires_at=past)
    kept = StoredFile.objects.create(user=user, name="new", content="{}", num_bytes=2)
    batch = begin(alice)
    Batch.objects.update(ended_at=timezone.now() - timedelta(days=31))
    delete_expired()
    assert list(StoredFile.objects.all()) == [kept]
    assert not Batch.objects.filter(pk=batch.pk).exists()


def test_the_content_of_a_result_file_goes_with_it(alice: Client) -> None:
    batch = begin_file(alice, 1)
    finish(open_requests()[0])
    look(batch)
    (file,) = StoredFile.objects.filter(batch=batch)
    assert file.num_bytes == len(streamed(alice.get(f"/v1/files/{file.pk}/content")))
    assert alice.delete(f"/v1/files/{file.pk}").json()["deleted"]
    assert [(line.answer, line.body) for line in Line.objects.all()] == [("", "")]
    assert alice.get(f"/v1/files/{file.pk}").status_code == 404
    batch.refresh_from_db()
    assert batch.num_stored_bytes == 0


def test_the_stored_bytes_of_a_batch_are_those_of_its_lines(alice: Client) -> None:
    batch = begin(alice, 4)
    finish(open_requests()[0])
    alice.post(f"/v1/messages/batches/{batch.pk}/cancel")
    look(batch)
    assert states(batch) == ["succeeded", "open", "canceled", "canceled"]
    assert batch.num_stored_bytes == sum(batch.lines.values_list("num_bytes", flat=True)) > 0


def test_only_the_family_with_files_lists_result_files(alice: Client) -> None:
    batches = begin(alice), begin_file(alice, 1)
    for request in open_requests():
        finish(request)
    for batch in batches:
        assert look(batch).status == "completed"
    listed = alice.get("/v1/files?purpose=batch_output").json()["data"]
    assert [each["filename"] for each in listed] == [f"{batches[1].pk}_output.jsonl"]


def test_a_line_keeps_its_cost_when_its_trace_is_deleted(alice: Client) -> None:
    batch = begin(alice)
    (request,) = open_requests()
    finish(request, 10)
    look(batch)
    request.delete()
    assert costs_of([batch]) == {batch.pk: {"USD": 10 * OUTPUT_NANO // 2}}


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        ("/v1/batches", b"{", 400),
        ("/v1/batches", b"{}", 400),
        ("/v1/batches", b'{"input_file_id": "x", "endpoint": "/v1/x", "completion_window": "24h"}', 400),
        ("/v1/batches", b'{"input_file_id": "x", "endpoint": "/v1/responses", "completion_window": "1h"}', 400),
        ("/v1/batches", b'{"input_file_id": "x", "endpoint": "/v1/responses", "completion_window": "24h"}', 404),
        ("/v1/messages/batches", b'{"requests": [{"custom_id": "a", "params": [1]}]}', 400),
        ("/v1/messages/batches", b'{"requests": [{"custom_id": "a"}]}', 400),
        ("/v1/messages/batches", b'{"requests": 5}', 400),
        ("/v1/files", b"", 400),
        ("/v1/batches/nope/cancel", b"", 404),
        ("/v1/messages/batches/nope/cancel", b"", 404),
    ],
)
def test_a_bad_call_is_refused_in_its_familys_form(alice: Client, path: str, data: bytes, status: int) -> None:
    answer = alice.post(path, data, content_type="application/json")
    assert answer.status_code == status, answer.content
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(("content", "told"), [(b"\xff", "UTF-8"), (b"a\x00", "NUL"), (b"", "")])
def test_a_file_that_is_no_text_is_refused(alice: Client, content: bytes, told: str) -> None:
    answer = alice.post("/v1/files", {"purpose": "batch", "file": SimpleUploadedFile("a", content)})
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]
    assert not StoredFile.objects.exists()
