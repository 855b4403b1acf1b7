"""Roles in a group: invitations, changes and departures, with the last owner, and two who leave at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from tests.webapp.at_once import called_during, on_postgres
from webapp.identity.accounts.models import Invitation, Membership, Role
from webapp.identity.accounts.role_changes import LastOwner, NoInvitation, accept, change_role, invite, leave
from webapp.identity.accounts.roles import is_views_only, people_of, role_of
from webapp.usage.limits import rules

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Invitations are counted in a real server."""


@pytest.fixture
def team() -> Group:
    """Alice owns it, Bob is in it, Charlie is not."""
    group = Group.objects.create(name="team")
    for name in ("alice", "bob", "charlie"):
        user = User.objects.create_user(name)
        if name != "charlie":
            user.groups.add(group)
    change_role(group, named("alice"), Role.OWNER)
    return group


def named(name: str) -> User:
    return User.objects.get(username=name)


def call(name: str, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    client = Client()
    client.force_login(named(name))
    answer = client.generic(method, path, json.dumps(body or {}), "application/json")
    found = answer.json() if answer.content else {}
    return answer.status_code, found.get("error", found)


def operator(*codenames: str) -> str:
    """The name of an operator."""
    user, _ = User.objects.get_or_create(username="olive")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return "olive"


def people(group: Group) -> dict[str, str]:
    return {place.user.username: place.role.value for place in people_of(group)}


def person(group: Group, name: str) -> str:
    return f"/api/groups/{group.pk}/people/{named(name).pk}"


def invitation_of(name: str) -> int:
    (found,) = call(name, "GET", "/api/account/invitations")[1]["invitations"]
    return int(found["id"])


def told() -> list[tuple[str, str, str]]:
    entries = LogEntry.objects.filter(additional_data__isnull=False).select_related("actor").order_by("pk")
    return [
        (each.actor.username if each.actor else "", each.additional_data["action"], each.object_repr)
        for each in entries
    ]


def test_an_invited_user_joins_by_accepting(team: Group) -> None:
    path = f"/api/groups/{team.pk}/invitations"
    status, found = call("alice", "POST", path, {"name": "charlie", "role": "viewer"})
    assert (status, [each["name"] for each in found["people"]]) == (201, ["alice", "bob"])
    assert [(each["name"], each["role"], each["invited_by"]) for each in found["invited"]] == [
        ("charlie", "viewer", "alice")
    ]
    (invited,) = call("charlie", "GET", "/api/account/invitations")[1]["invitations"]
    assert (invited["group"], invited["role"], invited["invited_by"], invited["ends_work"]) == (
        "team",
        "viewer",
        "alice",
        True,
    )
    assert call("charlie", "GET", f"/api/usage/groups/{team.pk}")[0] == 404
    assert call("charlie", "POST", f"/api/account/invitations/{invited['id']}/accept")[0] == 204
    assert people(team) == {"alice": "owner", "bob": "member", "charlie": "viewer"}
    assert call("charlie", "GET", f"/api/usage/groups/{team.pk}")[0] == 200
    assert not Invitation.objects.exists()


def test_a_declined_or_withdrawn_invitation_is_over(team: Group) -> None:
    path = f"/api/groups/{team.pk}/invitations"
    call("alice", "POST", path, {"name": "charlie"})
    declined = invitation_of("charlie")
    assert call("charlie", "POST", f"/api/account/invitations/{declined}/decline")[0] == 204
    assert call("charlie", "POST", f"/api/account/invitations/{declined}/accept")[0] == 404
    call("alice", "POST", path, {"name": "charlie"})
    withdrawn = invitation_of("charlie")
    assert call("alice", "DELETE", f"{path}/{withdrawn}") == (200, call("alice", "GET", f"{path[:-12]}/people")[1])
    assert call("charlie", "POST", f"/api/account/invitations/{withdrawn}/accept")[0] == 404
    assert role_of(named("charlie").pk, team.pk) is None


def test_an_invitation_is_its_users_alone(team: Group) -> None:
    call("alice", "POST", f"/api/groups/{team.pk}/invitations", {"name": "charlie"})
    number = invitation_of("charlie")
    for name in ("alice", "bob"):
        for way in ("accept", "decline"):
            assert call(name, "POST", f"/api/account/invitations/{number}/{way}")[0] == 404
    assert call("bob", "GET", "/api/account/invitations")[1]["invitations"] == []


def test_a_second_invitation_replaces_the_first(team: Group) -> None:
    path = f"/api/groups/{team.pk}/invitations"
    call("alice", "POST", path, {"name": "charlie", "role": "owner"})
    call("alice", "POST", path, {"name": "charlie", "role": "viewer"})
    accept(Invitation.objects.get(pk=invitation_of("charlie")))
    assert role_of(named("charlie").pk, team.pk) is Role.VIEWER


def test_a_user_whom_an_operator_added_meanwhile_keeps_the_role(team: Group) -> None:
    invitation = invite(team, named("charlie"), Role.OWNER, named("alice"))
    named("charlie").groups.add(team)
    accept(invitation)
    assert role_of(named("charlie").pk, team.pk) is Role.MEMBER


def test_a_user_in_the_group_is_not_invited(team: Group) -> None:
    status, error = call("alice", "POST", f"/api/groups/{team.pk}/invitations", {"name": "bob"})
    assert (status, error["code"], error["field"]) == (409, "in_group", "name")


@pytest.mark.parametrize("name", ["nobody", "", "<b>bob</b>", "a\u202eb", "'; DROP TABLE", "x" * 5000, "Bob"])
def test_a_name_of_no_account_is_refused_in_a_short_sentence(team: Group, name: str) -> None:
    status, error = call("alice", "POST", f"/api/groups/{team.pk}/invitations", {"name": name})
    assert (status, error["field"]) == (400, "name")
    assert len(error["message"]) < 1100
    assert not Invitation.objects.exists()


def test_a_name_with_a_nul_or_a_wrong_role_is_refused(team: Group) -> None:
    path = f"/api/groups/{team.pk}/invitations"
    for body in ({"name": "bob\x00"}, {"name": "charlie", "role": "king"}, {"name": "charlie", "role": None}):
        assert call("alice", "POST", path, body)[0] == 400


def test_a_closed_account_is_not_invited(team: Group) -> None:
    User.objects.filter(username="charlie").update(is_active=False)
    assert call("alice", "POST", f"/api/groups/{team.pk}/invitations", {"name": "charlie"})[0] == 400


def test_names_cannot_be_tried_without_end(team: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.api.identity.group_people.MAX_TRIES", 2)
    path = f"/api/groups/{team.pk}/invitations"
    tried = [call("alice", "POST", path, {"name": name})[0] for name in ("a", "b", "charlie")]
    assert tried == [400, 400, 429]


def test_an_owner_changes_roles_and_removes_people(team: Group) -> None:
    assert call("alice", "PATCH", person(team, "bob"), {"role": "viewer"})[0] == 200
    assert is_views_only(named("bob").pk)
    assert call("alice", "PATCH", person(team, "bob"), {"role": "owner"})[0] == 200
    assert call("bob", "PATCH", person(team, "alice"), {"role": "member"})[0] == 200
    assert people(team) == {"bob": "owner", "alice": "member"}
    assert call("bob", "DELETE", person(team, "alice"))[0] == 200
    assert people(team) == {"bob": "owner"}
    assert call("bob", "DELETE", person(team, "alice"))[0] == 404


def test_the_last_owner_stays(team: Group) -> None:
    sentence = "alice is the last owner of team. Make another person an owner first."
    for method, path, body in (
        ("PATCH", person(team, "alice"), {"role": "member"}),
        ("PATCH", person(team, "alice"), {"role": "viewer"}),
        ("DELETE", person(team, "alice"), {}),
        ("DELETE", f"/api/account/groups/{team.pk}", {}),
    ):
        status, error = call("alice", method, path, body)
        assert (status, error["code"], error["message"]) == (409, "last_owner", sentence)
    assert people(team)["alice"] == "owner"


def test_an_owner_whose_account_is_closed_is_no_owner_to_stay(team: Group) -> None:
    change_role(team, named("bob"), Role.OWNER)
    User.objects.filter(username="bob").update(is_active=False)
    assert call("alice", "DELETE", f"/api/account/groups/{team.pk}")[0] == 409


def test_people_leave_by_themselves_and_come_back_without_the_role(team: Group) -> None:
    change_role(team, named("bob"), Role.VIEWER)
    assert call("bob", "DELETE", f"/api/account/groups/{team.pk}")[0] == 204
    assert people(team) == {"alice": "owner"}
    assert not Membership.objects.filter(user=named("bob")).exists()
    named("bob").groups.add(team)
    assert role_of(named("bob").pk, team.pk) is Role.MEMBER


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_only_owners_manage_people(team: Group, role: Role) -> None:
    change_role(team, named("bob"), role)
    calls = managing(team)
    assert {call("bob", *each)[0] for each in calls} == {403}
    assert {call("charlie", *each)[0] for each in calls} == {404}
    assert people(team) == {"alice": "owner", "bob": role.value}


def managing(team: Group) -> list[tuple[str, str, dict[str, str]]]:
    return [
        ("GET", f"/api/groups/{team.pk}/people", {}),
        ("POST", f"/api/groups/{team.pk}/invitations", {"name": "charlie"}),
        ("DELETE", f"/api/groups/{team.pk}/invitations/1", {}),
        ("PATCH", person(team, "alice"), {"role": "member"}),
        ("DELETE", person(team, "alice"), {}),
    ]


def test_an_owner_of_another_group_finds_none_of_this(team: Group) -> None:
    other = Group.objects.create(name="other")
    named("charlie").groups.add(other)
    change_role(other, named("charlie"), Role.OWNER)
    assert {call("charlie", *each)[0] for each in managing(team)} == {404}
    assert call("charlie", "PATCH", f"/api/groups/{other.pk}/people/{named('bob').pk}", {"role": "viewer"})[0] == 404
    assert call("charlie", "DELETE", f"/api/account/groups/{team.pk}")[0] == 404
    invitation = invite(team, User.objects.create_user("dora"), Role.MEMBER, named("alice"))
    assert call("charlie", "DELETE", f"/api/groups/{other.pk}/invitations/{invitation.pk}")[0] == 404
    assert people(team) == {"alice": "owner", "bob": "member"}


def test_operators_manage_the_people_of_any_group(team: Group) -> None:
    name = operator("change_membership", "view_usagerecord")
    assert call(name, "GET", f"/api/groups/{team.pk}/people")[0] == 200
    assert call(name, "POST", f"/api/groups/{team.pk}/invitations", {"name": "charlie"})[0] == 201
    assert call(name, "PATCH", person(team, "alice"), {"role": "viewer"})[0] == 200
    assert people(team) == {"bob": "member", "alice": "viewer"}
    assert call(name, "GET", "/api/groups/999999/people")[0] == 404
    (found,) = call(name, "GET", "/api/users")[1]["groups"]
    assert found["owners"] == []


@pytest.mark.parametrize("codenames", [[], ["view_usagerecord"], ["change_membership"]])
def test_operators_need_both_permissions(team: Group, codenames: list[str]) -> None:
    assert {call(operator(*codenames), *each)[0] for each in managing(team)} == {404}


def test_an_operator_changes_no_superuser(team: Group) -> None:
    User.objects.filter(username="bob").update(is_superuser=True)
    name = operator("change_membership", "view_usagerecord")
    assert call(name, "PATCH", person(team, "bob"), {"role": "viewer"})[0] == 403
    assert call(name, "DELETE", person(team, "bob"))[0] == 403


def test_nobody_escapes_an_operators_stop_of_the_group(team: Group) -> None:
    invitation = invite(team, named("charlie"), Role.MEMBER, named("alice"))
    change_role(team, named("bob"), Role.OWNER)
    rules.change(team, is_stopped=True, stop_reason="")
    for name, method, path, body in (
        ("bob", "DELETE", f"/api/account/groups/{team.pk}", {}),
        ("alice", "DELETE", person(team, "bob"), {}),
        ("alice", "PATCH", person(team, "bob"), {"role": "viewer"}),
        ("charlie", "POST", f"/api/account/invitations/{invitation.pk}/accept", {}),
    ):
        status, error = call(name, method, path, body)
        assert (status, error["code"]) == (409, "group_stopped")
    change_role(team, named("bob"), Role.VIEWER)
    assert rules.effective_of(named("bob").pk).stop_reason == ""


def test_each_change_is_in_the_audit_log_with_its_actor(team: Group) -> None:
    LogEntry.objects.all().delete()
    call("alice", "POST", f"/api/groups/{team.pk}/invitations", {"name": "charlie"})
    call("charlie", "POST", f"/api/account/invitations/{invitation_of('charlie')}/accept")
    call("alice", "PATCH", person(team, "charlie"), {"role": "owner"})
    call("charlie", "DELETE", person(team, "bob"))
    call("charlie", "DELETE", f"/api/account/groups/{team.pk}")
    assert told() == [
        ("alice", "invited into a group", "charlie"),
        ("charlie", "accepted the invitation of", "charlie"),
        ("alice", "changed the role of", "charlie"),
        ("charlie", "ended the membership of", "bob"),
        ("charlie", "ended the role of", "charlie"),
        ("charlie", "ended the membership of", "charlie"),
    ]
    changed = LogEntry.objects.get(additional_data__action="changed the role of")
    assert changed.changes == {"group": ["team", "team"], "role": ["member", "owner"]}


def raised(act: Callable[[], Any]) -> type[Exception] | None:
    """What the call raises. None: nothing."""
    try:
        act()
    except (LastOwner, NoInvitation) as error:
        return type(error)
    return None


@on_postgres
def test_of_two_owners_who_leave_at_once_one_stays(team: Group) -> None:
    alice, bob = named("alice"), named("bob")
    change_role(team, bob, Role.OWNER)
    assert called_during(lambda: leave(team, alice), lambda: raised(lambda: leave(team, bob))) is LastOwner
    assert people(team) == {"bob": "owner"}


@on_postgres
def test_of_two_owners_who_demote_each_other_at_once_one_stays(team: Group) -> None:
    alice, bob = named("alice"), named("bob")
    change_role(team, bob, Role.OWNER)
    late = called_during(
        lambda: change_role(team, alice, Role.VIEWER), lambda: raised(lambda: change_role(team, bob, Role.MEMBER))
    )
    assert late is LastOwner
    assert people(team) == {"bob": "owner", "alice": "viewer"}


@on_postgres
def test_an_invitation_is_answered_once(team: Group) -> None:
    invitation = invite(team, named("charlie"), Role.VIEWER, named("alice"))
    assert called_during(lambda: accept(invitation), lambda: raised(lambda: accept(invitation))) is NoInvitation
    assert people(team)["charlie"] == "viewer"
