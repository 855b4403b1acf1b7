"""Each request that ends leaves one record of its use, whose sums by hour and day equal a recount."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TransactionTestCase

from inference.protocol.events import (
    GenerationFinished,
    GenerationQueued,
    TextReleased,
    ThinkingEnded,
)
from inference.protocol.failures import Failure
from inference.protocol.request import Usage
from tests.events import STARTED
from webapp.lifecycle.settle import settle
from webapp.models.billing.models import LedgerEntry, Price
from webapp.requests import services
from webapp.requests.models import MAX_IN_FLIGHT, Request
from webapp.surfaces.chat.models import Conversation
from webapp.traces import store
from webapp.usage import roll_up
from webapp.usage.models import SUMMED, SpeedSketch, UsageRecord, UsageSum, UserSum
from webapp.usage.sketch import TIMES, num_values

pytestmark = pytest.mark.django_db(transaction=True)


def answer(request: Request, usage: Usage) -> None:
    """The events of an answered request, as its workers append them."""
    events = (
        GenerationQueued(at=2, attempt=1, queue_depth=0),
        STARTED,
        TextReleased(at=STARTED.at + 10, text="Hi!", num_tokens=2),
        GenerationFinished(at=STARTED.at + 20, finish_reason="stop", usage=usage, prefill_us=1, decode_us=1),
    )
    services.event_log().append(request.pk, events, request.attempt)


def sums() -> list[list[tuple[Any, ...]]]:
    tables = [
        sorted(table.objects.values_list("span", "start", *table.GROUPED, *SUMMED)) for table in (UsageSum, UserSum)
    ]
    sketches = SpeedSketch.objects.values_list("span", "start", "model", "surface", "sketch")
    return [*tables, sorted((*key, bytes(sketch)) for *key, sketch in sketches)]


@pytest.fixture
def prices() -> None:
    """A test that flushes the database takes away the prices that a migration wrote."""
    for kind, nano in {
        "uncached_input": 20,
        "cache_read": 2,
        "cache_write_5m": 25,
        "cache_write_1h": 40,
        "output": 80,
    }.items():
        Price.objects.update_or_create(
            model="smollm2-135m-instruct",
            kind=kind,
            effective_from=date(2026, 1, 1),
            defaults={"unit_price_nano": nano},
        )


def test_an_answer_is_recorded_with_its_cost_times_and_worker(request_: Request, prices: None) -> None:
    answer(request_, Usage(uncached_input=5, cache_read=100, output=3))
    settle(request_.pk)
    record = UsageRecord.objects.get()
    entry = LedgerEntry.objects.get()
    assert (record.request_id, record.user, record.surface) == (request_.pk, request_.user, "chat")
    assert (record.status, record.finish_reason, record.error_code) == ("done", "stop", "")
    assert (record.uncached_input, record.cache_read, record.output) == (5, 100, 3)
    assert (record.cost_nano, record.currency, record.price_version) == (entry.total_nano, "USD", entry.price_version)
    assert record.saved_nano == 100 * (20 - 2)
    assert (record.queue_us, record.first_text_us) == (STARTED.at - 2, STARTED.at + 10)
    assert (record.first_token_us, record.per_token_us) == (None, None)
    assert (record.worker, record.num_attempts) == (STARTED.worker, 1)
    for table in (UsageSum, UserSum):
        for row in table.objects.all():
            assert (row.num_requests, row.cost_nano, row.saved_nano) == (1, entry.total_nano, 1800)
        assert sorted(row.span for row in table.objects.all()) == ["day", "hour"]
    assert [num_values(bytes(row.sketch), "queue_us") for row in SpeedSketch.objects.all()] == [1, 1]


def test_thinking_is_a_part_of_the_recorded_output(request_: Request, prices: None) -> None:
    ended = ThinkingEnded(at=STARTED.at + 5, num_tokens=2, duration_us=3, cause="model")
    services.event_log().append(request_.pk, [ended], request_.attempt)
    answer(request_, Usage(uncached_input=5, output=3))
    settle(request_.pk)
    record = UsageRecord.objects.get()
    assert (record.output, record.thinking) == (3, 2)


def test_a_failed_request_is_recorded_with_its_cause(request_: Request) -> None:
    settle(request_.pk, Failure("generation", "worker_lost", "The worker was lost. Send it again."))
    record = UsageRecord.objects.get()
    assert (record.status, record.error_code, record.price_version) == ("failed", "worker_lost", "")
    assert (record.cost_nano, record.saved_nano, record.worker, record.num_attempts) == (None, None, "", 0)


def test_a_prompt_that_is_too_long_is_refused_and_has_not_failed(request_: Request) -> None:
    settle(request_.pk, Failure("context", "prompt_too_long", "The prompt has 9,000 tokens."))
    record = UsageRecord.objects.get()
    assert (record.status, record.error_code) == ("refused", "prompt_too_long")
    assert Request.objects.get().status == "failed"


def test_a_model_without_a_price_is_unpriced_and_not_free(request_: Request) -> None:
    Request.objects.update(model="unknown")
    answer(request_, Usage(uncached_input=5, output=3))
    settle(request_.pk)
    record, hour = UsageRecord.objects.get(), UsageSum.objects.get(span="hour")
    assert (record.cost_nano, record.saved_nano, record.currency, record.price_version) == (None, None, "", "unpriced")
    assert (hour.num_unpriced, hour.cost_nano) == (1, 0)


def test_the_record_outlives_the_trace_and_the_request(request_: Request) -> None:
    answer(request_, Usage(uncached_input=5, output=3))
    settle(request_.pk)
    before = sums()
    request_.refresh_from_db()
    store.delete(request_)
    assert not Request.objects.exists()
    assert UsageRecord.objects.get().output == 3
    call_command("recount")
    assert sums() == before


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def test_a_request_that_is_refused_is_recorded(alice: User, redis_client: object) -> None:
    client = Client()
    client.force_login(alice)
    conversation = Conversation.objects.create(user=alice, model="smollm2-135m-instruct")
    for _ in range(MAX_IN_FLIGHT):
        Request.objects.create(user=alice, surface="chat", model=conversation.model, title="Open")
    path = f"/api/conversations/{conversation.pk}/messages"
    reply = client.post(path, json.dumps({"text": "Hello", "n": 2}), content_type="application/json")
    assert reply.status_code == 429
    found = UsageRecord.objects.values_list("status", "error_code", "surface", "user_id", "model")
    assert list(found) == [("refused", "too_many_open", "chat", alice.pk, conversation.model)] * 2
    assert UsageSum.objects.get(span="hour").num_requests == 2
    assert not SpeedSketch.objects.exists()


@pytest.mark.database
def test_sums_are_rebuilt_after_a_migration_only(request_: Request) -> None:
    answer(request_, Usage(uncached_input=5, output=3))
    settle(request_.pk)
    before = sums()
    UsageSum.objects.all().delete()
    roll_up.recount_if_never_counted()
    assert sums() == before
    UsageSum.objects.update(num_requests=7)
    roll_up.recount_if_never_counted()
    assert UsageSum.objects.get(span="day").num_requests == 7


class Death(Exception):
    """The process ends here."""


STARTS = datetime(2026, 3, 29, tzinfo=UTC)
RECORDS = st.builds(
    UsageRecord,
    surface=st.sampled_from(["chat", "replay"]),
    model=st.sampled_from(["a", "b"]),
    status=st.sampled_from(["done", "failed"]),
    error_code=st.sampled_from(["", "worker_lost"]),
    verdict=st.sampled_from(["", "allow", "block"]),
    currency=st.sampled_from(["", "USD", "EUR"]),
    accepted_at=st.integers(0, 3 * 86_400).map(lambda s: STARTS + timedelta(seconds=s)),
    is_cache_known=st.sampled_from([None, False, True]),
    price_version=st.sampled_from(["", "unpriced", "2026-01-01"]),
    uncached_input=st.integers(0, 10**6),
    cache_read=st.integers(0, 10**6),
    output=st.integers(0, 10**6),
    cost_nano=st.none() | st.integers(0, 10**12),
    saved_nano=st.none() | st.integers(-(10**12), 10**12),
    **{name: st.none() | st.integers(0, 10**9) for name in (*TIMES, "duration_us")},
)


class Recount(TransactionTestCase):
    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.tuples(RECORDS, st.booleans()), max_size=12))
    def test_sums_equal_a_recount_also_when_settlements_die(self, records: list[tuple[UsageRecord, bool]]) -> None:
        users = [User.objects.create_user(name) for name in ("alice", "bob")]
        for number, (record, dies) in enumerate(records):
            record.pk, record.request_id, record.user = None, f"req_{number}", users[number % 2]
            try:
                with transaction.atomic():
                    record.save(force_insert=True)
                    roll_up.add(record)
                    if dies:
                        raise Death
            except Death:
                pass
        assert UsageRecord.objects.count() == sum(not dies for _, dies in records)
        kept = sums()
        call_command("recount", verbosity=0)
        assert sums() == kept


@pytest.mark.skipif(connection.vendor == "sqlite", reason="a test's database in memory has no writers side by side")
@pytest.mark.database
def test_a_recount_while_requests_settle_loses_none(alice: User) -> None:
    """Settlements go on in other threads, as in other processes."""
    errors: list[Exception] = []

    def settle_some(first: int) -> None:
        try:
            for number in range(first, first + 15):
                record = UsageRecord(
                    request_id=f"req_{number}",
                    user=alice,
                    surface="chat",
                    model="ab"[number % 2],
                    status="done",
                    accepted_at=STARTS + timedelta(hours=number % 5),
                    queue_us=number,
                )
                with transaction.atomic():
                    record.save(force_insert=True)
                    roll_up.add(record)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [Thread(target=settle_some, args=(100 * number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        roll_up.recount_day(STARTS)
    assert errors == []
    kept = sums()
    assert sum(UsageSum.objects.filter(span="hour").values_list("num_requests", flat=True)) == 45
    roll_up.recount()
    assert sums() == kept
