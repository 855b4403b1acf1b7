"""The audit log: an entry for each action, with its actor, the state before and after, and no secret."""

from __future__ import annotations

from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from webapp.ground.audit.actor import acting
from webapp.ground.audit.listing import Change, listing
from webapp.ground.audit.log import record
from webapp.models.billing.models import Price

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root", password="a long word")


@pytest.fixture
def client(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


def newest() -> Any:
    return listing().entries[0]


def test_a_change_in_the_admins_tables_names_its_actor(client: Client) -> None:
    price = Price.objects.create(model="m", kind="output", unit_price_nano=5, effective_from="2026-01-01")
    client.post(
        f"/admin/billing/price/{price.pk}/change/",
        {"model": "m", "kind": "output", "unit_price_nano": 7, "currency": "USD", "effective_from": "2026-01-01"},
    )
    entry = newest()
    assert (entry.actor, entry.action, entry.subject_kind) == ("root", "changed", "price")
    assert entry.changes == [Change("unit_price_nano", "5", "7")]


def test_a_command_has_no_actor() -> None:
    User.objects.create_user("anna", first_name="Anna")
    assert (newest().actor, newest().action, newest().subject) == (None, "created", "anna")
    assert {change.before for change in newest().changes} == {None}
    assert {change.name: change.after for change in newest().changes} == {
        "username": "anna",
        "first_name": "Anna",
        "password": "(hidden)",
        "is_active": "true",
        "is_staff": "false",
        "is_superuser": "false",
    }


def test_a_password_never_enters_the_log() -> None:
    anna = User.objects.create_user("anna", password="first secret")
    anna.set_password("second secret")
    anna.save()
    assert newest().changes == [Change("password", "(hidden)", "(hidden)")]
    stored = " ".join(str(row) for row in LogEntry.objects.values_list())
    assert anna.password not in stored
    assert "secret" not in stored


def test_a_sign_in_is_no_action() -> None:
    anna = User.objects.create_user("anna")
    before = listing().entries
    Client().force_login(anna)
    assert listing().entries == before


def test_groups_and_permissions_are_told_by_name() -> None:
    anna, group = User.objects.create_user("anna"), Group.objects.create(name="guests")
    anna.groups.add(group)
    assert newest().changes == [Change("groups", None, "guests")]
    anna.groups.remove(group)
    assert newest().changes == [Change("groups", "guests", None)]
    permission = Permission.objects.first()
    group.permissions.add(permission)
    assert newest().changes == [Change("permissions", None, str(permission))]


def test_an_action_is_recorded_with_both_states_and_its_reason(root: User) -> None:
    anna = User.objects.create_user("anna")
    with acting(root.pk):
        record(anna, "stopped the requests of", {"running": 3}, {"running": 0, "blocked": True}, "runs wild")
    entry = newest()
    assert (entry.actor, entry.action, entry.subject, entry.note) == (
        "root",
        "stopped the requests of",
        "anna",
        "runs wild",
    )
    assert entry.changes == [Change("running", "3", "0"), Change("blocked", None, "true")]


def test_the_actor_ends_with_the_block_also_where_it_fails(root: User) -> None:
    with pytest.raises(ZeroDivisionError), acting(root.pk):
        raise ZeroDivisionError
    User.objects.create_user("anna")
    assert newest().actor is None


def test_a_part_of_the_log_leads_to_the_next(root: User) -> None:
    for index in range(5):
        User.objects.create_user(f"user{index}")
    first = listing(num=2)
    assert [entry.subject for entry in first.entries] == ["user4", "user3"]
    second = listing(first.before, num=2)
    assert [entry.subject for entry in second.entries] == ["user2", "user1"]
    last = listing(second.before, num=2)
    assert ([entry.subject for entry in last.entries], last.before) == (["user0", "root"], None)


def test_the_log_is_searched_by_actor_and_subject(root: User) -> None:
    with acting(root.pk):
        User.objects.create_user("anna")
    User.objects.create_user("berta")
    assert [entry.subject for entry in listing(text="ANN").entries] == ["anna"]
    assert [entry.subject for entry in listing(text="roo").entries] == ["anna", "root"]


def test_only_operators_with_the_permission_read_the_log(client: Client) -> None:
    assert client.get("/api/audit").json()["entries"][0]["subject"] == "root"
    stranger = Client()
    assert stranger.get("/api/audit").status_code == 401
    stranger.force_login(User.objects.create_user("anna", is_staff=True))
    answer = stranger.get("/api/audit")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


def test_no_page_of_the_admin_changes_an_entry(client: Client) -> None:
    User.objects.create_user("anna")
    pk = newest().id
    assert client.post(f"/admin/auditlog/logentry/{pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"/admin/auditlog/logentry/{pk}/change/", {"changes": "{}"}).status_code == 403
    assert newest().id == pk


def test_a_deleted_row_keeps_its_last_values() -> None:
    User.objects.create_user("anna", first_name="Anna").delete()
    entry = newest()
    assert (entry.action, entry.subject) == ("deleted", "anna")
    assert Change("first_name", "Anna", None) in entry.changes
    assert Change("password", "(hidden)", None) in entry.changes
