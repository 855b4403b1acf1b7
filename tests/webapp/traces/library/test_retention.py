"""Retention rules: the traces that they delete, those that stay, and the preview before a rule is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.request import Usage
from tests.webapp.inputs import asked
from tests.webapp.traces.library.test_filters import saved, signed_in
from webapp.models.billing.bill import post_bill
from webapp.models.billing.models import LedgerEntry
from webapp.requests.input import NoInput
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation, Message
from webapp.traces.library import retention
from webapp.traces.models import Entry, RetentionRule, Trace

pytestmark = [pytest.mark.django_db, pytest.mark.database]

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


def old(user: User, days: float, **more: Any) -> str:
    return saved(user, finished_at=NOW - timedelta(days=days), **more)


def put(client: Client, keep_days: object) -> Any:
    return client.put("/api/retention", {"keep_days": keep_days}, content_type="application/json")


def test_what_is_older_than_the_rule_goes_and_the_bill_stays() -> None:
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    RetentionRule.objects.create(user=alice, keep_days=30)
    gone, pinned, young, hers = old(alice, 31), old(alice, 99, is_pinned=True), old(alice, 29), old(bob, 999)
    open_ = Request.objects.create(user=alice, surface="chat", model="m", title="T")
    post_bill(gone, alice.pk, "smollm2-135m-instruct", Usage(uncached_input=5, output=7))
    assert retention.enforce(NOW) == 1
    assert set(Request.objects.values_list("pk", flat=True)) == {pinned, young, hers, open_.pk}
    assert (LedgerEntry.objects.get().request_id, LedgerEntry.objects.get().output) == (gone, 7)
    assert retention.enforce(NOW) == 0
    assert retention.enforce(NOW + timedelta(days=2)) == 1
    assert set(Trace.objects.values_list("pk", flat=True)) == {pinned, hers}


def test_what_is_pinned_after_it_was_found_stays() -> None:
    alice = User.objects.create_user("alice")
    old(alice, 9)
    (found,) = retention.due(alice.pk, 1, NOW)
    Entry.objects.update(is_pinned=True)
    assert not retention.delete_unpinned(found)
    Entry.objects.update(is_pinned=False)
    assert retention.delete_unpinned(found)
    assert not Trace.objects.exists()


def test_an_answer_stays_in_its_conversation_without_its_trace_and_its_input() -> None:
    alice = User.objects.create_user("alice")
    RetentionRule.objects.create(user=alice, keep_days=1)
    request_id = old(alice, 2, output_text="Paris.", input=asked("secret"))
    conversation = Conversation.objects.create(user=alice, model="m")
    Message.objects.create(conversation=conversation, role="assistant", request_id=request_id)
    assert retention.enforce(NOW) == 1
    request = Request.objects.get()
    assert (request.output_text, request.input, Entry.objects.count()) == ("Paris.", NoInput(), 0)


@given(ages=st.lists(st.floats(0, 20), max_size=8), keep_days=st.integers(1, 20))
def test_only_what_is_older_is_due(ages: list[float], keep_days: int) -> None:
    User.objects.all().delete()
    alice = User.objects.create_user("alice")
    kept = {old(alice, age): age for age in ages}
    due = set(retention.due(alice.pk, keep_days, NOW).values_list("pk", flat=True))
    assert due == {request_id for request_id, age in kept.items() if age > keep_days}


def test_it_is_told_before_it_is_set_and_only_of_one_s_own() -> None:
    user, other = User.objects.create_user("alice"), User.objects.create_user("bob")
    alice, bob = signed_in(user), signed_in(other)
    for days in (3, 2):
        saved(user, finished_at=datetime.now(UTC) - timedelta(days=days, hours=1))
    saved(user, finished_at=datetime.now(UTC) - timedelta(days=9), is_pinned=True)
    forever = {"keep_days": None, "site_days": None, "num_due": 0, "num_traces": 3, "num_pinned": 1}
    assert alice.get("/api/retention").json() == forever
    assert alice.get("/api/retention?keep_days=2").json() == forever | {"num_due": 2}
    assert alice.get("/api/retention?keep_days=3").json() == forever | {"num_due": 1}
    assert bob.get("/api/retention?keep_days=2").json()["num_due"] == 0
    assert Client().get("/api/retention").status_code == 401
    assert put(alice, 3).json() == forever | {"keep_days": 3, "num_due": 1}
    assert bob.get("/api/retention").json()["keep_days"] is None
    assert put(alice, None).json() == forever
    for wrong in (0, -1, 3651, "x", 1.5, True):
        assert (put(alice, wrong).status_code, put(alice, wrong).json()["error"]["field"]) == (400, "keep_days")
    for text in ("0", "x", "9" * 5000):
        assert alice.get(f"/api/retention?keep_days={text}").status_code == 400
    assert not RetentionRule.objects.exists()
