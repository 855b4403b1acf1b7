"""Budgets hold for what is spent and reserved together, whatever order requests begin, settle, fail and vanish in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inference.protocol.events import GenerationFinished
from inference.protocol.failures import Failure
from inference.protocol.request import Usage
from tests.events import STARTED
from tests.webapp.usage.limits.test_admission import OUTPUT_NANO, refusal, runs, send
from tests.webapp.usage.test_report import make_record, save
from webapp.lifecycle.admission import admit
from webapp.lifecycle.settle import settle
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.models import Request
from webapp.usage.limits.models import Reservation, Rule, SharedRule
from webapp.usage.limits.rates import rates
from webapp.usage.limits.refusal import Refused
from webapp.usage.models import UsageRecord

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
MODEL = "smollm2-135m-instruct"
INPUT_NANO = 20
FAILED = Failure("generation", "worker_lost", "The worker was lost.")


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Requests take their rates from a real server."""


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def begin(user: User, num_output: int, **fields: int) -> Request:
    """Begin a request that may write so many tokens. Raises Refused."""
    (request,), charges = runs(user, 1, most_output=num_output)
    for name, value in fields.items():
        setattr(request, name, value)
    with transaction.atomic():
        admit([request], charges, is_stepped=False)
        request.save(force_insert=True)
    return request


def finish(request: Request, num_output: int) -> None:
    """Settle an answer of so many tokens."""
    usage = Usage(output=num_output)
    done = GenerationFinished(at=9, finish_reason="stop", usage=usage, prefill_us=1, decode_us=1)
    services.event_log().append(request.pk, [STARTED, done], request.attempt)
    settle(request.pk)


def test_what_is_open_and_what_is_spent_count_together(alice: User) -> None:
    Rule.objects.create(user=alice, max_open=32, daily_budget_nano=3 * 100 * OUTPUT_NANO)
    first, *_ = [begin(alice, 100) for _ in range(3)]
    with pytest.raises(Refused) as refused:
        begin(alice, 1)
    assert (refused.value.code, refused.value.limit, refused.value.retry_after_s) == (
        "budget_used_up",
        "daily_budget",
        5,
    )
    finish(first, 40)
    begin(alice, 60)
    with pytest.raises(Refused):
        begin(alice, 1)


def test_an_answer_that_fails_gives_its_reservation_back(alice: User) -> None:
    Rule.objects.create(user=alice, monthly_budget_nano=100 * OUTPUT_NANO)
    settle(begin(alice, 100).pk, FAILED)
    assert not Reservation.objects.exists()
    begin(alice, 100)


def test_a_reservation_goes_with_its_request(alice: User) -> None:
    Rule.objects.create(user=alice, daily_budget_nano=100 * OUTPUT_NANO)
    begin(alice, 100).delete()
    begin(alice, 100)


def test_a_settlement_that_dies_and_is_repeated_counts_once(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    Rule.objects.create(user=alice, daily_budget_nano=100 * OUTPUT_NANO)
    request = begin(alice, 60)
    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr("webapp.lifecycle.settle.record_use", lambda *_: 1 / 0)
        finish(request, 50)
    with pytest.raises(Refused):
        begin(alice, 50)  # 60 are still reserved
    settle(request.pk)
    settle(request.pk)
    begin(alice, 50)
    with pytest.raises(Refused):
        begin(alice, 1)


def test_a_refusal_says_when_waiting_helps(alice: User) -> None:
    Rule.objects.create(user=alice, daily_budget_nano=1000, monthly_budget_nano=5000)
    save(make_record(1, alice, datetime.now(UTC), cost_nano=990))
    never = send(alice)
    assert (never.status_code, refusal(never)["code"]) == (429, "budget_used_up")
    assert "Retry-After" not in never  # the answer alone may cost more than the budget
    assert refusal(never)["message"].startswith("0.00000001 USD of your daily budget of 0.000001 USD is left")
    assert UsageRecord.objects.get(status="refused").error_code == "budget_used_up:daily_budget"
    with pytest.raises(Refused) as refused:
        begin(alice, 1)
    assert 0 < refused.value.retry_after_s <= 86_401


def test_yesterday_and_other_currencies_do_not_count(alice: User) -> None:
    Rule.objects.create(user=alice, daily_budget_nano=100 * OUTPUT_NANO)
    now = datetime.now(UTC)
    save(
        make_record(1, alice, now - timedelta(days=1), cost_nano=10**9),
        make_record(2, alice, now, cost_nano=10**9, currency="EUR"),
    )
    begin(alice, 100)


def test_members_of_a_group_share_its_budget_and_places(alice: User) -> None:
    bob, carol = (User.objects.create_user(name) for name in ("bob", "carol"))
    group = Group.objects.create(name="research")
    group.user_set.add(alice, bob)
    SharedRule.objects.create(subject=f"group:{group.pk}", group=group, daily_budget_nano=100 * OUTPUT_NANO)
    begin(alice, 60)
    with pytest.raises(Refused):
        begin(bob, 60)
    begin(bob, 40)
    begin(carol, 1000)
    SharedRule.objects.update(daily_budget_nano=None, max_open=2)
    with pytest.raises(Refused) as refused:
        begin(alice, 1)
    assert refused.value.code == "too_many_open"


def test_a_model_has_limits_for_all_and_for_one_user(alice: User) -> None:
    bob = User.objects.create_user("bob")
    SharedRule.objects.create(subject=f"model:{MODEL}", model=MODEL, monthly_budget_nano=100 * OUTPUT_NANO)
    own = f"model:{MODEL} user:{alice.pk}"
    SharedRule.objects.create(subject=own, model=MODEL, user=alice, daily_budget_nano=10 * OUTPUT_NANO)
    with pytest.raises(Refused):
        begin(alice, 11)
    finish(begin(alice, 10), 10)
    with pytest.raises(Refused):
        begin(alice, 1)
    begin(bob, 90)
    with pytest.raises(Refused):
        begin(bob, 1)


def test_the_users_rates_are_corrected_by_what_a_request_used(alice: User) -> None:
    Rule.objects.create(user=alice, output_tokens_per_minute=1000, input_tokens_per_minute=10_000)
    assert send(alice, params={"max_tokens": 800}).status_code == 201
    refused = send(alice, params={"max_tokens": 300})
    assert (refused.status_code, refusal(refused)["code"]) == (429, "rate_limited")
    assert 1 <= int(refused["Retry-After"]) <= 6
    assert UsageRecord.objects.get().error_code == "rate_limited:output_tokens"
    finish(Request.objects.get(), 100)
    assert not rates().give_back(Request.objects.get().pk)  # it was corrected, and is not twice
    assert send(alice, params={"max_tokens": 900}).status_code == 201


def test_a_message_that_no_bucket_holds_is_refused_outright(alice: User) -> None:
    Rule.objects.create(user=alice, input_tokens_per_minute=100)
    refused = send(alice, text="word " * 1000)
    assert (refused.status_code, refusal(refused)["code"]) == (429, "rate_limited")
    assert "Retry-After" not in refused


@dataclass
class _Open:
    request: Request
    most: int


class Histories(RuleBasedStateMachine):
    """Random histories of one budget against a plain count: nothing is lost, nothing counts twice."""

    user: ClassVar[User]
    LIMIT = 1000

    @initialize()
    def empty(self) -> None:
        for table in (Reservation, Request):
            table.objects.all().delete()
        UsageRecord.objects.all().delete()
        save()
        LedgerEntry.objects.all()._raw_delete("default")
        Rule.objects.update_or_create(
            user=self.user, defaults={"max_open": 1000, "daily_budget_nano": self.LIMIT * OUTPUT_NANO}
        )
        self.open: list[_Open] = []
        self.spent = 0

    @rule(most=st.integers(1, 400))
    def begin(self, most: int) -> None:
        fits = self.spent + sum(each.most for each in self.open) + most <= self.LIMIT
        try:
            self.open.append(_Open(begin(self.user, most), most))
        except Refused:
            assert not fits
        else:
            assert fits

    @precondition(lambda self: self.open)
    @rule(at=st.integers(0, 100), share=st.floats(0.01, 1), dies=st.booleans())
    def settle(self, at: int, share: float, dies: bool) -> None:
        each = self.open.pop(at % len(self.open))
        used = max(1, int(each.most * share))
        if dies:
            with pytest.MonkeyPatch.context() as patched, pytest.raises(ZeroDivisionError):
                patched.setattr("webapp.lifecycle.settle.record_use", lambda *_: 1 / 0)
                finish(each.request, used)
            settle(each.request.pk)
        else:
            finish(each.request, used)
        settle(each.request.pk)
        self.spent += used

    @precondition(lambda self: self.open)
    @rule(at=st.integers(0, 100), is_deleted=st.booleans())
    def lose(self, at: int, is_deleted: bool) -> None:
        each = self.open.pop(at % len(self.open))
        if is_deleted:
            each.request.delete()
        else:
            settle(each.request.pk, FAILED)

    @invariant()
    def agrees_with_the_ledger(self) -> None:
        if hasattr(self, "spent"):
            totals = LedgerEntry.objects.values_list("total_nano", flat=True)
            assert sum(totals) == self.spent * OUTPUT_NANO
            assert Reservation.objects.count() == len(self.open)


def test_random_histories_never_go_beyond_the_budget(alice: User) -> None:
    Histories.user = alice
    Histories.TestCase.settings = settings(
        max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
    )
    Histories.TestCase().runTest()
