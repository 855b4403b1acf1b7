"""The stop of a whole group: whom it concerns, what it ends, its undo, and whom it protects."""

from __future__ import annotations

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client

from inference.protocol.events import RequestCancelled
from tests.webapp.api.identity.test_people import client_of, open_request, send
from webapp.requests import services
from webapp.usage.limits.models import Rule
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.rules import check_sending

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Requests have their log in a real server."""


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "view_usagerecord", "stop_user")


@pytest.fixture
def team() -> Group:
    group = Group.objects.create(name="team")
    for name in ("alice", "bob", "zoe"):
        User.objects.create_user(name).groups.add(group)
    User.objects.create_user("carol")
    return group


def named(name: str) -> User:
    return User.objects.get(username=name)


def reason_of(name: str) -> str | None:
    """None: the user may send."""
    try:
        check_sending(named(name).pk)
    except Refused as refused:
        assert refused.code == "sending_stopped"
        return str(refused)
    return None


def test_the_preview_names_the_members_and_stops_nothing(operator: Client, team: Group) -> None:
    open_request(named("zoe"))
    open_request(named("zoe"))
    open_request(named("carol"))
    found = operator.get(f"/api/groups/{team.pk}/stop").json()
    assert found == {"num_users": 3, "users": ["zoe", "alice", "bob"], "num_requests": 2, "num_sets": 0}
    assert not Rule.objects.exists()


def test_a_stop_ends_the_members_requests_and_refuses_new_ones(operator: Client, team: Group) -> None:
    running = [open_request(named(name)) for name in ("alice", "alice", "bob")]
    others = open_request(named("carol"))
    found = send(operator, "POST", f"/api/groups/{team.pk}/stop", {"reason": "Too  much"})
    assert found == {"num_requests": 3, "num_sets": 0}
    for request in running:
        events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
        assert [event.by for event in events if isinstance(event, RequestCancelled)] == ["operator"]
        request.refresh_from_db()
        assert request.status == "stopped"
    others.refresh_from_db()
    assert not others.is_settled
    told = "An operator has stopped your sending: Too much. Ask the operator to undo it."
    assert [reason_of(name) for name in ("alice", "bob", "zoe", "carol")] == [told, told, told, None]
    assert send(operator, "POST", f"/api/groups/{team.pk}/stop", {}) == {"num_requests": 0, "num_sets": 0}


def test_a_stopped_group_is_shown_with_its_members(operator: Client, team: Group) -> None:
    send(operator, "POST", f"/api/groups/{team.pk}/stop", {"reason": "Too much"})
    found = operator.get("/api/users").json()
    assert [(group["is_stopped"], group["stop_reason"]) for group in found["groups"]] == [(True, "Too much")]
    stopped = {user["name"]: (user["is_stopped"], user["stopped_groups"]) for user in found["users"]}
    assert (stopped["alice"], stopped["carol"]) == ((False, ["team"]), (False, []))
    state = operator.get(f"/api/users/{named('alice').pk}").json()
    assert (state["stop_reason"], state["person"]["stopped_groups"]) == ("Too much", ["team"])


def test_the_undo_lets_members_send_again_and_leaves_their_own_stops(operator: Client, team: Group) -> None:
    send(operator, "POST", f"/api/users/{named('bob').pk}/stop", {"reason": "Alone"})
    send(operator, "POST", f"/api/groups/{team.pk}/stop", {"reason": "All"})
    send(operator, "POST", f"/api/groups/{team.pk}/resume", {"reason": "Over"}, 204)
    assert reason_of("alice") is None
    assert "Alone" in (reason_of("bob") or "")


def test_who_joins_is_stopped_and_who_leaves_may_send(operator: Client, team: Group) -> None:
    send(operator, "POST", f"/api/groups/{team.pk}/stop", {})
    named("carol").groups.add(team)
    named("zoe").groups.remove(team)
    assert reason_of("carol") == "An operator has stopped your sending. Ask the operator to undo it."
    assert reason_of("zoe") is None
    team.delete()
    assert reason_of("carol") is None


def test_each_action_is_in_the_audit_log(operator: Client, team: Group) -> None:
    open_request(named("alice"))
    send(operator, "POST", f"/api/groups/{team.pk}/stop", {"reason": "Too much"})
    send(operator, "POST", f"/api/groups/{team.pk}/resume", {"reason": "Sorry"}, 204)
    entries = LogEntry.objects.filter(object_repr="team", additional_data__isnull=False).order_by("pk")
    assert [(entry.additional_data["action"], entry.additional_data["note"], entry.changes) for entry in entries] == [
        ("stopped the sending of", "Too much", {"is_stopped": [False, True]}),
        ("stopped the requests of", "Too much", {"stopped requests": [None, 1], "stopped sets of runs": [None, 0]}),
        ("allowed the sending of", "Sorry", {"is_stopped": [True, False]}),
    ]
    assert {entry.actor.username for entry in entries if entry.actor} == {"olive"}


def test_an_operator_stops_neither_their_own_group_nor_one_with_a_superuser(operator: Client, team: Group) -> None:
    paths = [("POST", "stop", "yourself"), ("GET", "stop", "yourself"), ("POST", "resume", "your own stop")]
    named("olive").groups.add(team)
    for method, path, words in paths:
        assert words in send(operator, method, f"/api/groups/{team.pk}/{path}", {}, 403)["message"]
    named("olive").groups.clear()
    User.objects.create_superuser("root").groups.add(team)
    for method, path, _ in paths:
        assert "root is a superuser." in send(operator, method, f"/api/groups/{team.pk}/{path}", {}, 403)["message"]
    assert not Rule.objects.exists()
    other = client_of("admin", is_superuser=True)
    send(other, "POST", f"/api/groups/{team.pk}/stop", {})
    assert reason_of("root") is not None


def test_a_stop_needs_the_permission_a_group_and_a_plain_reason(operator: Client, team: Group) -> None:
    reader = client_of("vera", "view_usagerecord", "change_rule")
    for method, path in (("GET", "stop"), ("POST", "stop"), ("POST", "resume")):
        assert send(reader, method, f"/api/groups/{team.pk}/{path}", {}, 403)["code"] == "forbidden"
        assert send(operator, method, f"/api/groups/999999/{path}", {}, 404)["code"] == "not_found"
    for reason in ("x" * 301, "\x07", "a\u202eb"):
        assert send(operator, "POST", f"/api/groups/{team.pk}/stop", {"reason": reason}, 400)["field"] == "reason"
    assert not Rule.objects.exists()
