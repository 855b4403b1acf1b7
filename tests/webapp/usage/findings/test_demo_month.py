"""The demonstration month has an incident and a spike. Both are found with causes; quiet days are quiet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.webapp.demonstration import DAYS, NOW, put_demonstration
from webapp.operations.demo.prices import PREFIX
from webapp.requests.models import Request
from webapp.usage.findings.find import Findings, findings
from webapp.usage.findings.reading import Records
from webapp.usage.listing import Reader
from webapp.usage.models import UsageRecord
from webapp.usage.period import Period
from webapp.usage.sums import Filter

SPIKE, INCIDENT = date(2026, 11, 10), date(2026, 11, 19)
EVALUATION = f"{PREFIX}evaluation-1"


@pytest.fixture(scope="class")
def month(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Two months of demonstration data, put once."""
    from django.db import transaction

    with django_db_blocker.unblock(), transaction.atomic():
        put_demonstration()
        yield
        transaction.set_rollback(True)


@pytest.fixture
def _month(month: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


def look(first: date, last: date, zone: str = "UTC", user: str = "") -> Findings:
    chosen = Filter(user_ids=(User.objects.get(username=user).pk,) if user else None)
    names = dict(User.objects.values_list("pk", "username"))
    records = Records(chosen, names, Reader(0), is_own=bool(user))
    return findings(Period(first, last, ZoneInfo(zone)), chosen, records)


@pytest.mark.usefixtures("_month")
class TestMonth:
    def test_the_spike_is_found_with_the_user_who_made_it_and_why(self) -> None:
        found = look(SPIKE - timedelta(days=6), SPIKE).findings
        cost = next(each for each in found if each.kind == "cost")
        assert (cost.severity, cost.lead.first, cost.lead.last) == ("high", SPIKE, SPIKE)
        assert cost.title.startswith("Cost on Tuesday, Nov 10 was ")
        assert "times a usual Tuesday" in cost.title
        num = UsageRecord.objects.filter(user__username=EVALUATION, accepted_at__date=SPIKE).count()
        assert f"{EVALUATION}'s {num} requests made" in cost.why
        assert "came from the cache" in cost.why
        assert {request.user for request in cost.requests} == {EVALUATION}
        assert not any(request.is_readable for request in cost.requests)
        cache = next(each for each in found if each.kind == "cache")
        assert cache.lead.first == SPIKE
        assert f"{EVALUATION}'s" in cache.why
        spender = next(each for each in found if each.kind == "spender")
        assert spender.title.startswith(f"{EVALUATION} spent most from Nov 4 to Nov 10: $")

    def test_the_incident_is_found_with_the_part_that_was_slow(self) -> None:
        slow, causes = look(INCIDENT, INCIDENT).findings
        assert slow.kind == "slow_hours"
        assert (slow.start.hour, slow.end.hour) == (15, 16)
        assert "on Thursday, Nov 19, from 15:00 to 16:00" in slow.title
        assert "The queue made it slow" in slow.why
        assert f"{PREFIX}worker-1 took no request" in slow.why
        lost = UsageRecord.objects.filter(error_code="worker_lost")
        assert causes.title.startswith(f"{lost.count()} requests failed on Thursday, Nov 19, from 15:00 to 16:00")
        assert f"last ran on {PREFIX}worker-2" in causes.why
        assert {request.error_code for request in causes.requests} == {"worker_lost"}
        assert causes.lead.status == "failed"

    def test_the_incident_has_the_hours_of_the_readers_zone(self) -> None:
        slow = look(INCIDENT, INCIDENT, "Europe/Berlin").findings[0]
        assert "from 16:00 to 17:00" in slow.title

    def test_the_quiet_days_are_quiet(self) -> None:
        days = [date(2026, 10, 25) + timedelta(days=number) for number in range((NOW.date() - date(2026, 10, 25)).days)]
        loud = {day: found for day in days if (found := look(day, day).findings)}
        assert set(loud) == {SPIKE, INCIDENT}

    def test_the_first_days_are_not_compared_with_nothing(self) -> None:
        first = NOW.date() - timedelta(days=DAYS - 1)
        found = look(first, first + timedelta(days=2))
        assert (found.num_days_known, found.findings) == (0, [])

    def test_a_users_own_findings_say_your_and_name_no_one_else(self) -> None:
        found = look(date(2026, 10, 22), NOW.date(), user=EVALUATION).findings
        assert found[0].title.startswith("Your cost on Tuesday, Nov 10 was ")
        said = " ".join(each.title + each.why for each in found)
        assert PREFIX + "worker" not in said
        assert EVALUATION not in said

    def test_a_long_period_is_covered_up_to_its_last_35_days(self) -> None:
        found = look(date(2024, 1, 1), NOW.date())
        assert (found.first, found.last) == (date(2026, 10, 17), NOW.date())

    def test_the_key_of_a_finding_stays_as_the_period_moves(self) -> None:
        one, other = look(SPIKE, SPIKE).findings, look(SPIKE - timedelta(days=3), SPIKE + timedelta(days=1)).findings
        assert one[0].key in {each.key for each in other}


@pytest.mark.django_db
class TestOperations:
    QUERY: dict[str, str] = {"first": "2026-11-01", "last": "2026-11-20"}  # noqa: RUF012

    def signed_in(self, name: str, *permissions: str) -> Client:
        user = User.objects.create_user(name)
        user.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
        client = Client()
        client.force_login(user)
        return client

    def test_all_findings_need_the_permission(self) -> None:
        assert self.signed_in("bob").get("/api/usage/all/findings").status_code == 403
        found = self.signed_in("olive", "view_usagerecord").get("/api/usage/all/findings", self.QUERY)
        assert found.json() == {"first": "2026-11-01", "last": "2026-11-20", "num_days_known": 0, "findings": []}

    def test_own_findings_need_none(self) -> None:
        assert self.signed_in("bob").get("/api/usage/findings").json()["findings"] == []

    def test_a_period_without_days_before_it_is_refused(self) -> None:
        answer = self.signed_in("bob").get("/api/usage/findings", {"first": "1970-01-05", "last": "1970-01-05"})
        assert answer.status_code == 400
        assert "Choose later days." in answer.json()["error"]["message"]

    def test_only_the_readers_own_requests_are_readable(self) -> None:
        bob = self.signed_in("bob")
        alice = User.objects.create_user("alice")
        assert Request.objects.count() == 0
        mine = User.objects.get(username="bob")
        for number, user in enumerate([mine, alice]):
            Request.objects.create(id=f"req_{number}", user=user, model="a", surface="chat", accepted_unix_us=1)
        records = Records(Filter(), {}, Reader(mine.pk), is_own=False)
        for number, user in enumerate([mine, alice]):
            UsageRecord.objects.create(
                request_id=f"req_{number}", user=user, model="a", surface="chat", status="done", accepted_at=NOW
            )
        from webapp.usage.findings.history import Span

        top = records.top(Span(NOW, NOW + timedelta(hours=1)), "newest")
        assert {each.request_id: each.is_readable for each in top} == {"req_0": True, "req_1": False}
        assert bob.get("/api/usage/findings").status_code == 200
