"""Demonstration data is marked, has what an operator looks for, opens traces, and goes with one command."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import transaction
from django.db.models import Count, Sum
from django.test import Client
from django.utils import timezone

from inference.protocol.events import BillPosted, ContextAssembled, Frame, RequestAccepted
from tests.webapp.demonstration import NOW
from webapp.ground.audit.listing import listing
from webapp.models.billing.bill import prices_in_force
from webapp.models.billing.models import LedgerEntry
from webapp.operations.demo.prices import PREFIX
from webapp.operations.demo.seed import remove, seed
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.surfaces.chat.models import Conversation, Message
from webapp.traces import store
from webapp.traces.library import retention
from webapp.traces.models import SiteRetentionRule, Trace
from webapp.usage import roll_up
from webapp.usage.models import UsageRecord, UsageSum

DAYS = 15
"""Fewer may lack the day of the spike."""


@pytest.fixture
def real() -> UsageRecord:
    """A record of a real user."""
    user = User.objects.create_user("alice")
    record = UsageRecord(request_id="req_1", user=user, model="small", surface="chat", status="done", accepted_at=NOW)
    record.save()
    roll_up.add(record)
    return record


@pytest.fixture(scope="class")
def seeded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Demonstration data, written once."""
    with django_db_blocker.unblock(), transaction.atomic():
        seed(NOW, DAYS)
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="class")
def logs(seeded: None, django_db_blocker: Any) -> dict[str, list[Frame]]:
    """The frames of each request. Reading them takes seconds."""
    with django_db_blocker.unblock():
        return {request.pk: store.load_frames(request.pk) for request, _ in recorded()}


@pytest.fixture
def _seeded(seeded: None, django_db_blocker: Any) -> Iterator[None]:
    """The same data for each test, which may change it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def reader(_seeded: None) -> Client:
    """An operator who may read all traces."""
    user = User.objects.create_user("olive", is_staff=True)
    wanted = ("view_usagerecord", "view_any_trace")
    user.user_permissions.add(*Permission.objects.filter(codename__in=wanted))
    client = Client()
    client.force_login(user)
    return client


def counts() -> dict[str, int]:
    """The number of rows of every table."""
    return {model._meta.label: model._base_manager.count() for model in apps.get_models()}


def recorded() -> list[tuple[Request, UsageRecord]]:
    """The demonstration's requests with their records."""
    records = {record.request_id: record for record in UsageRecord.objects.filter(is_demo=True)}
    return [(request, records[request.pk]) for request in Request.objects.filter(trace__isnull=False)]


def assert_priced(record: UsageRecord, bill: BillPosted | None) -> None:
    """The bill in the log has the prices that the desk shows."""
    prices = prices_in_force(record.model, record.accepted_at.date())
    assert prices is not None
    if bill is not None:
        assert (
            (bill.currency, bill.price_version)
            == (prices.currency, prices.version)
            == (
                record.currency,
                record.price_version,
            )
        )
        assert {line.kind: line.unit_price_nano for line in bill.lines}.items() <= prices.unit_nano.items()


def written() -> list[tuple[object, ...]]:
    columns = ("accepted_at", "user__username", "model", "cost_nano", "queue_us", "status")
    return sorted(UsageRecord.objects.values_list(*columns), key=repr)


@pytest.mark.django_db
def test_it_is_marked_counted_the_same_each_time_and_removed_from_every_table(real: UsageRecord) -> None:
    before = counts()
    seeded = seed(NOW, DAYS)
    demo = UsageRecord.objects.filter(is_demo=True)
    assert seeded.num_records == demo.count() > 2_000
    assert seeded.num_traces == Trace.objects.count() == Request.objects.count() > 100
    assert not demo.filter(accepted_at__gt=NOW).exists()
    names = {user.username for user in User.objects.filter(username__startswith=PREFIX)}
    assert set(demo.values_list("user__username", flat=True)) <= names
    assert set(Conversation.objects.values_list("user__username", flat=True)) <= names
    total = UsageSum.objects.filter(span="day").aggregate(num=Sum("num_requests"))["num"]
    assert total == seeded.num_records + 1
    assert not User.objects.get(username=f"{PREFIX}docs-1").has_usable_password()
    first, num_rows = written(), counts()
    assert seed(NOW, DAYS) == seeded
    assert (written(), counts()) == (first, num_rows)
    assert remove() == seeded.num_records
    assert counts() == before
    assert UsageRecord.objects.get() == real


@pytest.mark.django_db
def test_the_command_writes_and_removes_as_no_action_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("seed_demo", days=DAYS)
    assert "of them with a trace" in capsys.readouterr().out
    assert UsageRecord.objects.latest("accepted_at").accepted_at <= timezone.now()
    call_command("seed_demo", remove=True)
    assert not UsageRecord.objects.exists()
    assert listing().entries == []


@pytest.mark.usefixtures("_seeded")
class TestSeeded:
    def test_it_has_an_incident_and_a_spike(self) -> None:
        lost = UsageRecord.objects.filter(error_code="worker_lost").values_list("accepted_at", flat=True)
        assert {(at.date().isoformat(), at.hour) for at in lost} == {("2026-11-19", 15)}
        evaluation = UsageRecord.objects.filter(user__username=f"{PREFIX}evaluation-1")
        days = evaluation.values("accepted_at__date").annotate(num=Count("id")).order_by("-num")
        assert days[0]["num"] > 5 * days[1]["num"]
        assert days[0]["accepted_at__date"].isoformat() == "2026-11-10"

    def test_each_traced_record_agrees_with_its_log_its_request_and_the_prices(
        self, logs: dict[str, list[Frame]]
    ) -> None:
        for request, record in recorded():
            frames = logs[request.pk]
            outcome, accepted = fold(frames), frames[0].events[0]
            assert isinstance(accepted, RequestAccepted)
            assert accepted.request_id == request.pk == record.request_id
            assert (
                (accepted.model, accepted.surface) == (record.model, record.surface) == (request.model, request.surface)
            )
            at = timedelta(microseconds=accepted.accepted_unix_us)
            assert datetime(1970, 1, 1, tzinfo=UTC) + at == record.accepted_at == request.created_at
            assert request.finished_at is not None
            assert request.finished_at - request.created_at == timedelta(microseconds=outcome.duration_us)
            told = (outcome.queue_us, outcome.first_token_us, outcome.duration_us, outcome.worker or "")
            assert told == (record.queue_us, record.first_token_us, record.duration_us, record.worker)
            used = outcome.usage
            assert (used.uncached_input, used.cache_read, used.output) == (
                record.uncached_input,
                record.cache_read,
                record.output,
            )
            assert (outcome.safety_verdict or "") == record.verdict
            assert record.status == request.status
            assert record.cost_nano == request.cost_nano == (outcome.bill and outcome.bill.total_nano)
            assert_priced(record, outcome.bill)

    def test_the_chats_are_whole(self, logs: dict[str, list[Frame]]) -> None:
        for request, _ in recorded():
            answer = Message.objects.select_related("parent", "conversation").get(request=request)
            assert answer.parent is not None
            assert answer.parent.user_text == request.input.messages[-1].content
            assert answer.parent.created_at <= answer.created_at
            assert answer.conversation.user_id == request.user_id
            ids = {f"message:{pk}" for pk in answer.conversation.messages.values_list("pk", flat=True)}
            events = (event for frame in logs[request.pk] for event in frame.events)
            for context in (event for event in events if isinstance(event, ContextAssembled)):
                sources = {each.source for each in context.segments if each.source.startswith("message:")}
                assert sources <= ids
        assert Message.objects.values("parent").annotate(num=Count("id")).filter(num=2, parent__isnull=False).exists()

    def test_the_requests_that_an_operator_reaches_first_have_traces(self, reader: Client) -> None:
        days = {"first": "2026-11-06", "last": "2026-11-20"}

        def readable(**query: str) -> int:
            found = reader.get("/api/usage/all/requests", days | query).json()["requests"]
            assert [each["is_readable"] for each in found] == [each["has_trace"] for each in found]
            return sum(each["is_readable"] for each in found[:10])

        assert readable(order="cost") == 10
        assert readable(order="first_token") == 10
        assert readable(order="input") >= 5
        assert readable(status="failed") >= 5
        assert readable(status="blocked") >= 1
        assert readable() >= 3

    def test_a_trace_opens_for_an_operator_and_a_record_without_one_says_so(self, reader: Client) -> None:
        request, record = recorded()[0]
        answer = reader.get(f"/api/requests/{request.pk}/reading").json()
        assert (answer["user"], answer["title"]) == (record.user.username, request.title)
        assert answer["frames"][0]["events"][0]["request_id"] == request.pk
        bare = UsageRecord.objects.exclude(request_id__in=Request.objects.values("pk")).first()
        assert bare is not None
        missing = reader.get(f"/api/requests/{bare.request_id}/reading")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_trace")
        assert "The demonstration has no trace of this request." in missing.json()["error"]["message"]

    def test_rules_of_retention_hold_for_it_as_for_all_traces(self) -> None:
        SiteRetentionRule.objects.create(keep_days=7)
        num_records = UsageRecord.objects.count()
        while retention.enforce(NOW):
            pass
        assert not Request.objects.filter(trace__isnull=False, finished_at__lt=NOW - timedelta(days=7)).exists()
        assert Trace.objects.exists()
        assert UsageRecord.objects.count() == num_records
        assert remove() == num_records
        assert not Request.objects.exists()

    def test_a_demonstration_user_who_really_chatted_stays(self) -> None:
        user = User.objects.get(username=f"{PREFIX}docs-1")
        LedgerEntry(
            request_id="req_1",
            user=user,
            model="m",
            posted_at=NOW,
            uncached_input=1,
            cache_read=0,
            cache_write_5m=0,
            cache_write_1h=0,
            output=1,
            total_nano=1,
            currency="USD",
            price_version="1",
            lines=[],
        ).save()
        remove()
        assert User.objects.get().username == user.username
        assert not UsageRecord.objects.exists()
