"""Usage by day, model and key adds up to the records, keeps to its reader, and states its projection."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from tests.webapp.identity.keys.programs import new_key, program
from tests.webapp.usage.limits.test_admission import client_of
from tests.webapp.usage.test_report import make_record, save
from webapp.identity.accounts.models import Membership
from webapp.usage.daily import as_csv, daily_use, pace
from webapp.usage.limits.models import SharedRule
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 11, 12, tzinfo=UTC)
ASKED = "first=2026-03-10&last=2026-03-11"


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def records(alice: User) -> list[UsageRecord]:
    key = new_key(alice).key
    return save(
        make_record(1, alice, NOON),
        make_record(2, alice, NOON, key=key),
        make_record(3, alice, NOON, key=key, cost_nano=500),
        make_record(4, alice, NOON - timedelta(days=1), model="b"),
        make_record(5, User.objects.create_user("bob"), NOON),
    )


def test_days_models_and_keys_add_up_to_the_own_records(alice: User, records: list[UsageRecord]) -> None:
    found = client_of(alice).get(f"/api/usage/days?{ASKED}").json()["days"]
    prefix = records[1].key.prefix  # type: ignore[union-attr]
    assert [(row["day"], row["model"], row["key"], row["num_requests"]) for row in found] == [
        ("2026-03-10", "b", "", 1),
        ("2026-03-11", "a", "", 1),
        ("2026-03-11", "a", prefix, 2),
    ]
    own = [each for each in records if each.user_id == alice.pk]
    assert sum(row["cost_nano"] for row in found) == sum(each.cost_nano or 0 for each in own)
    assert sum(row["output"] for row in found) == sum(each.output for each in own)


def test_the_file_has_the_same_rows(alice: User, records: list[UsageRecord]) -> None:
    client = client_of(alice)
    answer = client.get(f"/api/usage/days.csv?{ASKED}")
    assert answer["Content-Type"].startswith("text/csv") and "attachment" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    asked = client.get(f"/api/usage/days?{ASKED}").json()["days"]
    assert rows == [{name: "" if value is None else str(value) for name, value in row.items()} for row in asked]


def test_thinking_is_told_where_every_request_recorded_it(alice: User) -> None:
    days = [NOON, NOON - timedelta(days=1), NOON - timedelta(days=2)]
    recorded = [(days[0], 30), (days[0], 0), (days[1], 5), (days[1], None), (days[2], 0)]
    save(*(make_record(at, alice, day, thinking=thinking) for at, (day, thinking) in enumerate(recorded)))
    found = client_of(alice).get("/api/usage/days?first=2026-03-09&last=2026-03-11").json()["days"]
    assert [(row["day"], row["thinking"]) for row in found] == [
        ("2026-03-09", 0),
        ("2026-03-10", None),
        ("2026-03-11", 30),
    ]


def test_a_text_is_no_formula_in_the_file(alice: User) -> None:
    save(make_record(1, alice, NOON, model="=1+1"))
    from webapp.api.usage.usage import PeriodQuery, period_of

    rows = daily_use(period_of(PeriodQuery(NOON.date(), NOON.date())), [alice.pk])
    assert "'=1+1" in as_csv(rows).decode()


def test_a_key_reads_its_users_days(alice: User, records: list[UsageRecord]) -> None:
    assert len(program(new_key(alice).secret).get(f"/api/usage/days?{ASKED}").json()["days"]) == 3
    narrow = program(new_key(alice, features=["chat"]).secret)
    assert narrow.get(f"/api/usage/days?{ASKED}").status_code == 403


def test_owners_of_a_group_see_users_and_keys_and_its_other_people_sums(
    alice: User, records: list[UsageRecord]
) -> None:
    group, bob = Group.objects.create(name="research"), User.objects.get(username="bob")
    bob.groups.add(group)
    path = f"/api/usage/groups/{group.pk}/days"
    assert client_of(alice).get(f"{path}?{ASKED}").status_code == 404
    assert client_of(alice).get(f"{path}.csv?{ASKED}").status_code == 404
    alice.groups.add(group)
    summed = client_of(alice).get(f"{path}?{ASKED}").json()["days"]
    assert {(row["user"], row["key"]) for row in summed} == {("", "")}
    assert sum(row["num_requests"] for row in summed) == len(records)
    assert "bob" not in client_of(alice).get(f"{path}.csv?{ASKED}").content.decode()
    Membership.objects.create(user=alice, group=group, role="owner")
    found = client_of(alice).get(f"{path}?{ASKED}").json()["days"]
    assert {row["user"] for row in found} == {"alice", "bob"}
    assert sum(row["num_requests"] for row in found) == len(records)


def test_a_groups_pace_has_the_budget_that_its_members_share(alice: User) -> None:
    group = Group.objects.create(name="research")
    alice.groups.add(group)
    Membership.objects.create(user=alice, group=group, role="owner")
    save(make_record(1, alice, timezone.now()))
    path = f"/api/usage/groups/{group.pk}/days"
    assert [each["budget_nano"] for each in client_of(alice).get(path).json()["pace"]] == [None]
    SharedRule.objects.create(subject=f"group:{group.pk}", group=group, monthly_budget_nano=7000)
    assert [each["budget_nano"] for each in client_of(alice).get(path).json()["pace"]] == [7000]


def test_the_pace_is_what_is_spent_by_the_days_elapsed(alice: User, records: list[UsageRecord]) -> None:
    (found,) = pace([alice.pk], 9000, NOON)
    assert (found.spent_nano, found.days_elapsed, found.days_of_month) == (3500, 10.5, 31)
    assert found.projected_nano == round(3500 / 10.5 * 31)
    assert (found.budget_nano, found.formula) == (9000, "spent / days elapsed * days of the month")


def test_the_first_day_counts_as_a_whole_one(alice: User) -> None:
    morning = datetime(2026, 4, 1, 1, tzinfo=UTC)
    save(make_record(1, alice, morning))
    (found,) = pace([alice.pk], None, morning + timedelta(hours=1))
    assert found.projected_nano == 30 * 1000
