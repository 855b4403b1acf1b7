"""Demonstration data is marked, has what an operator looks for, and goes with one command."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db.models import Count, Sum
from django.utils import timezone

from webapp.billing.models import Price
from webapp.usage import roll_up
from webapp.usage.demo import PREFIX, remove, seed
from webapp.usage.models import SpeedSketch, UsageRecord, UsageSum, UserSum

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAYS = 15


@pytest.fixture
def real() -> UsageRecord:
    """A record of a real user."""
    user = User.objects.create_user("alice")
    record = UsageRecord(request_id="req_1", user=user, model="small", surface="chat", status="done", accepted_at=NOW)
    record.save()
    roll_up.add(record)
    return record


def test_it_is_marked_counted_and_removed_without_a_trace(real: UsageRecord) -> None:
    before = [table.objects.count() for table in (Price, Group, User, UsageSum, UserSum, SpeedSketch)]
    num = seed(NOW, DAYS)
    demo = UsageRecord.objects.filter(is_demo=True)
    assert num == demo.count() > 2_000
    assert not demo.filter(accepted_at__gt=NOW).exists()
    assert set(demo.values_list("user__username", flat=True)) <= {
        user.username for user in User.objects.filter(username__startswith=PREFIX)
    }
    assert UsageSum.objects.filter(span="day").aggregate(num=Sum("num_requests"))["num"] == num + 1
    assert not User.objects.get(username=f"{PREFIX}docs-1").has_usable_password()
    assert remove() == num
    assert [table.objects.count() for table in (Price, Group, User, UsageSum, UserSum, SpeedSketch)] == before
    assert UsageRecord.objects.get() == real


def test_it_is_the_same_each_time() -> None:
    def written() -> list[tuple[object, ...]]:
        columns = ("accepted_at", "user__username", "model", "cost_nano", "queue_us", "status")
        return sorted(UsageRecord.objects.values_list(*columns))

    seed(NOW, DAYS)
    first = written()
    seed(NOW, DAYS)
    assert written() == first


def test_it_has_an_incident_and_a_spike() -> None:
    seed(NOW, DAYS)
    lost = UsageRecord.objects.filter(error_code="worker_lost").values_list("accepted_at", flat=True)
    assert {(at.date().isoformat(), at.hour) for at in lost} == {("2026-11-19", 15)}
    evaluation = UsageRecord.objects.filter(user__username=f"{PREFIX}evaluation-1")
    days = evaluation.values("accepted_at__date").annotate(num=Count("id")).order_by("-num")
    assert days[0]["num"] > 5 * days[1]["num"]
    assert days[0]["accepted_at__date"].isoformat() == "2026-11-10"


def test_the_command_writes_and_removes(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("seed_demo", days=DAYS)
    assert "records of demonstration data" in capsys.readouterr().out
    assert UsageRecord.objects.latest("accepted_at").accepted_at <= timezone.now()
    call_command("seed_demo", remove=True)
    assert not UsageRecord.objects.exists()
