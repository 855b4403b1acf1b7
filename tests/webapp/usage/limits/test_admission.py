"""Requests are admitted by the limits in force: each refusal says when to try again, and is recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.protocol.events import GatewayChecked
from tests.webapp.usage.test_report import make_record, save
from webapp.lifecycle.admission import admit_some
from webapp.requests import services
from webapp.requests.models import Request
from webapp.usage.limits.charge import NOTHING, Charge
from webapp.usage.limits.models import Reservation, Rule, SharedRule
from webapp.usage.limits.room import MAX_TOO_COMPLEX, TOO_COMPLEX_TIME
from webapp.usage.models import UsageRecord

MODEL = "smollm2-135m-instruct"
OUTPUT_NANO = 80
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Every request is logged and queued in a real server; no worker takes it."""


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def send(user: User, **more: Any) -> Any:
    """A message in a new conversation."""
    client, kind = client_of(user), "application/json"
    conversation = client.post("/api/conversations", "{}", kind).json()["id"]
    body = json.dumps({"text": "Hello", **more})
    return client.post(f"/api/conversations/{conversation}/messages", body, kind)


def refusal(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.json()["error"]
    return found


def test_a_rate_admits_so_many_and_says_when_to_try_again(alice: User) -> None:
    Rule.objects.create(user=alice, requests_per_minute=2)
    assert [send(alice).status_code for _ in range(2)] == [201, 201]
    refused = send(alice)
    assert (refused.status_code, refusal(refused)["code"]) == (429, "rate_limited")
    assert 0 < int(refused["Retry-After"]) <= 30
    assert f"Try again in {refused['Retry-After']} s." in refusal(refused)["message"]
    record = UsageRecord.objects.get()
    assert (record.status, record.error_code, record.user) == ("refused", "rate_limited:requests", alice)


def test_a_deleted_request_gives_nothing_back(alice: User) -> None:
    Rule.objects.create(user=alice, requests_per_minute=1)
    assert send(alice).status_code == 201
    Request.objects.all().delete()
    assert send(alice).status_code == 429


def test_more_answers_than_the_rate_are_never_admitted(alice: User) -> None:
    Rule.objects.create(user=alice, requests_per_minute=2)
    refused = send(alice, n=3)
    assert "Retry-After" not in refused
    assert refusal(refused)["message"].endswith("Ask for fewer.")
    assert send(alice, n=2).status_code == 201


def test_the_log_holds_each_limit_as_it_was_before_the_request(alice: User) -> None:
    Rule.objects.create(user=alice, max_open=5, requests_per_minute=6, tokens_per_day=1000)
    assert send(alice, n=2).status_code == 201
    found = {}
    for request in Request.objects.all():
        events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
        checked = next(event for event in events if isinstance(event, GatewayChecked))
        found[request.pk] = {limit.name: (limit.limit, limit.remaining) for limit in checked.limits}
    assert sorted(found.values(), key=str) == [
        {"concurrency": (5, 4), "requests": (6, 5), "daily_tokens": (1000, 1000)},
        {"concurrency": (5, 5), "requests": (6, 6), "daily_tokens": (1000, 1000)},
    ]


def test_a_users_own_limit_of_open_requests_holds(alice: User) -> None:
    Rule.objects.create(user=alice, max_open=1)
    assert send(alice).status_code == 201
    refused = send(alice)
    assert (refused.status_code, refusal(refused)["code"]) == (429, "too_many_requests")


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_send_that_no_waiting_lets_pass_has_no_time_to_wait(alice: User, is_shared: bool) -> None:
    if is_shared:
        SharedRule.objects.create(subject="site", max_open=2)
    else:
        Rule.objects.create(user=alice, max_open=2)
    never = send(alice, n=3)
    assert (never.status_code, refusal(never)["code"]) == (429, "too_many_requests")
    assert "Retry-After" not in never
    assert send(alice, n=2).status_code == 201
    assert send(alice)["Retry-After"] == "5"


def test_the_tokens_of_today_are_counted_in_utc(alice: User) -> None:
    Rule.objects.create(user=alice, tokens_per_day=50)
    now = timezone.now()
    save(make_record(1, alice, now), make_record(2, alice, now - timezone.timedelta(days=1), output=10**6))
    assert send(alice).status_code == 201
    save(make_record(3, alice, now, uncached_input=1))
    refused = send(alice)
    assert (refused.status_code, refusal(refused)["code"]) == (429, "day_used_up")
    assert "81 of your 50 tokens for today" in refusal(refused)["message"]
    assert 0 < int(refused["Retry-After"]) <= 86_401


def test_answers_that_fail_by_their_form_are_few_in_ten_minutes(alice: User) -> None:
    """They cost nothing."""
    now = timezone.now()
    for number in range(MAX_TOO_COMPLEX):
        assert send(alice).status_code == 201
        Request.objects.update(finished_at=now)
        at = now - timedelta(seconds=60 * number)
        save(
            make_record(2 * number, alice, at, status="failed", error_code="grammar_too_complex"),
            make_record(2 * number + 1, alice, now, status="failed", error_code="internal"),
        )
    refused = send(alice)
    assert (refused.status_code, refusal(refused)["code"]) == (429, "rate_limited")
    assert 0 < int(refused["Retry-After"]) <= 61
    assert "form" in refusal(refused)["message"]
    with transaction.atomic():
        assert admit_some(*runs(alice, 3)) == []
    assert send(User.objects.create_user("bob")).status_code == 201
    UsageRecord.objects.filter(accepted_at__lt=now - timedelta(seconds=500)).update(accepted_at=now - TOO_COMPLEX_TIME)
    assert send(alice).status_code == 201


def test_a_stopped_user_is_told_the_reason(alice: User) -> None:
    Rule.objects.create(user=alice, is_stopped=True, stop_reason="<b>Budget</b> spent")
    refused = send(alice)
    assert (refused.status_code, refusal(refused)["code"]) == (403, "sending_stopped")
    assert "<b>Budget</b> spent" in refusal(refused)["message"]
    assert UsageRecord.objects.get().error_code == "sending_stopped"


def test_a_group_and_the_site_decide_where_no_nearer_rule_does(alice: User) -> None:
    Rule.objects.create(is_site=True, requests_per_minute=1)
    assert [send(alice).status_code for _ in range(2)] == [201, 429]
    alice.groups.add(group := Group.objects.create(name="research"))
    Rule.objects.create(group=group, requests_per_minute=3)
    assert [send(alice).status_code for _ in range(3)] == [201, 201, 429]  # one is taken already


def runs(user: User, num: int, **charge: int) -> tuple[list[Request], list[Charge]]:
    """Requests that a set is about to begin, with what each may use."""
    made = (Request(user=user, surface="replay", model=MODEL, title="", accepted_unix_us=unix_us()) for _ in range(num))
    return list(made), [replace(NOTHING, **charge)] * num


def test_as_many_runs_are_admitted_as_fit(alice: User) -> None:
    Rule.objects.create(user=alice, max_open=3)
    with transaction.atomic():
        for wanted, fitting in ((2, 2), (2, 1), (2, 0)):
            requests, charges = runs(alice, wanted)
            assert len(admit_some(requests, charges)) == fitting
            Request.objects.bulk_create(requests[:fitting])


def test_runs_begin_as_far_as_the_budget_goes(alice: User) -> None:
    Rule.objects.create(user=alice, daily_budget_nano=2 * 10 * OUTPUT_NANO + 1)
    with transaction.atomic():
        requests, charges = runs(alice, 4, most_output=10)
        assert len(admit_some(requests, charges)) == 2
        Request.objects.bulk_create(requests[:2])
    assert Reservation.objects.count() == 2


def test_a_transaction_that_fails_takes_nothing(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    Rule.objects.create(user=alice, requests_per_minute=1, daily_budget_nano=10**12)

    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr(Request.objects, "bulk_create", fail)
        send(alice)
    assert not Reservation.objects.exists()
    assert [send(alice).status_code for _ in range(2)] == [201, 429]


@pytest.mark.parametrize(("flag", "path"), [("may_share", "shares"), ("may_rerun", "reruns"), ("may_probe", "probes")])
def test_a_flag_switches_its_action_off(alice: User, flag: str, path: str) -> None:
    request = Request.objects.create(user=alice, surface="chat", model="m", title="", finished_at=timezone.now())
    bodies = {
        "shares": {"expires_in_s": 300, "is_redacted": True},
        "reruns": {},
        "probes": {"kind": "lens", "position": 0},
    }
    client = client_of(alice)
    answer = client.post(f"/api/requests/{request.pk}/{path}", bodies[path], "application/json")
    assert answer.status_code == 404
    Rule.objects.create(user=alice, **{flag: False})
    answer = client.post(f"/api/requests/{request.pk}/{path}", bodies[path], "application/json")
    assert (answer.status_code, refusal(answer)["code"]) == (403, "switched_off")
    assert UsageRecord.objects.filter(error_code="switched_off").count() == (1 if flag == "may_rerun" else 0)
