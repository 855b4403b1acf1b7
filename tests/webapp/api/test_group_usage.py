"""A group's usage for its owners: its figures, its requests, and each user who is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from inference.eventlog.clock import unix_us
from tests.webapp.inputs import asked
from tests.webapp.usage.test_report import make_record, save
from webapp.accounts.models import Membership
from webapp.accounts.owners import end_ownership, name_owner, owned_by
from webapp.api import site
from webapp.privacy.block import begin
from webapp.privacy.erase import advance
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db
REFUSAL = "Only an owner of the group sees its usage. Ask an operator to name you as an owner."


@pytest.fixture
def team() -> Group:
    """alice owns it; alice and bob are members; carol is not."""
    group = Group.objects.create(name="team")
    for name in ("alice", "bob", "carol"):
        user = User.objects.create_user(name)
        if name != "carol":
            user.groups.add(group, Group.objects.get_or_create(name=f"club of {name}")[0])
    name_owner(group, User.objects.get(username="alice"))
    now = timezone.now()
    users = [User.objects.get(username=name) for name in ("alice", "bob", "bob", "carol")]
    save(*(make_record(number, user, now) for number, user in enumerate(users)))
    return group


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def operator(*codenames: str) -> Client:
    user, _ = User.objects.get_or_create(username="olive")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return signed_in("olive")


def paths(group: Group) -> list[str]:
    return [f"/api/usage/groups/{group.pk}{part}" for part in ("", "/requests", "/findings")]


def refused(client: Client, group: Group) -> bool:
    """Refused at each address, with the same words."""
    answers = [client.get(path) for path in paths(group)]
    assert {answer.status_code for answer in answers} in ({200}, {403})
    if answers[0].status_code == 200:
        return False
    assert {answer.json()["error"]["message"] for answer in answers} == {REFUSAL}
    assert not client.get("/api/usage/groups").json()["groups"]
    return True


def test_an_owner_sees_the_figures_of_the_members_alone(team: Group) -> None:
    alice = signed_in("alice")
    assert alice.get("/api/usage/groups").json() == {"groups": [{"id": team.pk, "name": "team", "num_users": 2}]}
    found = alice.get(paths(team)[0], {"by": "user"}).json()
    assert found["now"]["num_requests"] == 3
    assert {group["label"]: group["now"]["num_requests"] for group in found["groups"]} == {"bob": 2, "alice": 1}
    assert [user["label"] for user in found["users"]] == ["alice", "bob"]
    assert alice.get("/api/usage").json()["now"]["num_requests"] == 1


def test_an_owner_learns_nothing_of_the_members_other_groups(team: Group) -> None:
    found = signed_in("alice").get(paths(team)[0], {"by": "group"}).json()
    assert [choice["key"] for choice in found["user_groups"]] == ["team"]
    assert [group["label"] for group in found["groups"]] == ["team"]


def test_a_filter_of_a_user_reaches_no_stranger(team: Group) -> None:
    alice = signed_in("alice")
    bob, carol = (User.objects.get(username=name).pk for name in ("bob", "carol"))
    for user, num in ((bob, 2), (carol, 0), (999_999, 0)):
        assert alice.get(paths(team)[0], {"user": user}).json()["now"]["num_requests"] == num
        assert alice.get(paths(team)[1], {"user": user}).json()["num_requests"] == num


def test_an_owner_lists_requests_and_no_link_to_a_members_trace(team: Group) -> None:
    for name in ("alice", "bob"):
        Request.objects.create(
            pk=f"req_of_{name}",
            user=User.objects.get(username=name),
            surface="chat",
            model="a",
            title="t",
            input=asked(),
            accepted_unix_us=unix_us(),
        )
    now = timezone.now()
    for name in ("alice", "bob"):
        record = make_record(0, User.objects.get(username=name), now)
        record.request_id = f"req_of_{name}"
        save(record)
    alice = signed_in("alice")
    listed = {each["request_id"]: each for each in alice.get(paths(team)[1]).json()["requests"]}
    assert (listed["req_of_alice"]["is_own"], listed["req_of_alice"]["is_readable"]) == (True, True)
    assert (listed["req_of_bob"]["is_own"], listed["req_of_bob"]["is_readable"]) == (False, False)
    for path in ("", "/trace", "/reading"):
        assert alice.get(f"/api/requests/req_of_bob{path}").status_code == 404


@pytest.mark.parametrize("name", ["bob", "carol"])
def test_members_and_strangers_are_refused(team: Group, name: str) -> None:
    assert refused(signed_in(name), team)


def test_a_group_that_is_not_there_is_refused_in_the_same_words(team: Group) -> None:
    assert refused(signed_in("carol"), Group(pk=999_999))


def test_a_former_owner_is_refused(team: Group) -> None:
    alice = User.objects.get(username="alice")
    assert not refused(signed_in("alice"), team)
    end_ownership([team.pk], alice)
    assert refused(signed_in("alice"), team)


@pytest.mark.parametrize("way", ["remove", "clear", "set", "from the group"])
def test_an_owner_who_leaves_the_group_is_refused_also_after_a_return(team: Group, way: str) -> None:
    alice = User.objects.get(username="alice")
    match way:
        case "remove":
            alice.groups.remove(team)
        case "clear":
            alice.groups.clear()
        case "set":
            alice.groups.set([])
        case _:
            team.user_set.clear()
    assert refused(signed_in("alice"), team)
    alice.groups.add(team)
    assert refused(signed_in("alice"), team)


def test_another_members_departure_leaves_the_owner(team: Group) -> None:
    User.objects.get(username="bob").groups.remove(team)
    assert not refused(signed_in("alice"), team)


def test_the_ownership_goes_with_the_group(team: Group) -> None:
    pk = team.pk
    team.delete()
    assert not Membership.objects.exists()
    assert refused(signed_in("alice"), Group(pk=pk))


@pytest.mark.django_db(transaction=True)
def test_the_ownership_goes_with_the_owners_data(team: Group, redis_client: object) -> None:
    alice = User.objects.get(username="alice")
    begin(alice, alice)
    advance(alice.pk, timezone.now())
    assert not Membership.objects.exists()
    assert not owned_by(alice.pk).exists()


def test_the_page_of_a_group_is_there_for_its_owner_alone(team: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "built", lambda source: {"script": "main.js", "styles": []})
    pages = [signed_in(name).get(f"/usage/groups/{team.pk}").status_code for name in ("alice", "bob", "carol")]
    assert pages == [200, 404, 404]


def change(client: Client, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    answer = client.generic(method, path, json.dumps(body or {}), "application/json")
    return answer.status_code, answer.json()


def test_an_operator_names_and_ends_owners_and_the_audit_log_tells(team: Group) -> None:
    client = operator("change_membership", "view_usagerecord")
    path, bob = f"/api/groups/{team.pk}/owners", User.objects.get(username="bob")
    status, found = change(client, "POST", path, {"name": "bob"})
    assert (status, [owner["name"] for owner in found["owners"]]) == (201, ["alice", "bob"])
    assert change(client, "POST", path, {"name": "bob"})[0] == 201
    (group,) = [each for each in client.get("/api/users").json()["groups"] if each["name"] == "team"]
    assert [owner["name"] for owner in group["owners"]] == ["alice", "bob"]
    status, found = change(client, "DELETE", f"{path}/{bob.pk}")
    assert (status, [owner["name"] for owner in found["owners"]]) == (200, ["alice"])
    assert change(client, "DELETE", f"{path}/{bob.pk}")[0] == 404
    told = [
        (entry.actor and entry.actor.username, entry.additional_data["action"], entry.changes)
        for entry in LogEntry.objects.filter(object_repr="bob", additional_data__isnull=False).order_by("pk")
    ]
    assert told == [
        ("olive", "named as an owner of a group", {"group": [None, "team"]}),
        ("olive", "ended the ownership of", {"group": ["team", None]}),
    ]


@pytest.mark.parametrize("name", ["carol", "nobody", "", "<b>bob</b>", "a\u202eb" * 500])
def test_only_members_become_owners(team: Group, name: str) -> None:
    client = operator("change_membership", "view_usagerecord")
    status, found = change(client, "POST", f"/api/groups/{team.pk}/owners", {"name": name})
    assert (status, found["error"]["field"]) == (400, "name")
    assert "An owner is a member of the group." in found["error"]["message"]
    assert len(found["error"]["message"]) < 1100
    assert Membership.objects.count() == 1


def test_a_closed_account_becomes_no_owner(team: Group) -> None:
    User.objects.filter(username="bob").update(is_active=False)
    client = operator("change_membership", "view_usagerecord")
    assert change(client, "POST", f"/api/groups/{team.pk}/owners", {"name": "bob"})[0] == 400


@pytest.mark.parametrize("codenames", [[], ["view_usagerecord"], ["change_membership"]])
def test_naming_owners_needs_both_permissions(team: Group, codenames: list[str]) -> None:
    client, bob = operator(*codenames), User.objects.get(username="bob")
    path = f"/api/groups/{team.pk}/owners"
    assert change(client, "POST", path, {"name": "bob"})[0] == 403
    assert change(client, "DELETE", f"{path}/{bob.pk}")[0] == 403
    assert change(signed_in("alice"), "POST", path, {"name": "bob"})[0] == 403
