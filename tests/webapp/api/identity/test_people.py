"""Users on the desk: their use, their limits, and the stop of a user with all open requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.protocol.events import RequestAccepted, RequestCancelled
from inference.protocol.request import SamplingParams
from tests.events import STARTED
from tests.webapp.inputs import asked
from tests.webapp.usage.test_report import make_record, save
from webapp.requests import services
from webapp.requests.models import Request
from webapp.usage.limits.models import Rule

pytestmark = pytest.mark.django_db(transaction=True)
NO_LIMITS = {
    "max_open": None,
    "requests_per_minute": None,
    "input_tokens_per_minute": None,
    "output_tokens_per_minute": None,
    "tokens_per_day": None,
    "daily_budget_nano": None,
    "monthly_budget_nano": None,
    "may_share": None,
    "may_probe": None,
    "may_rerun": None,
}


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Requests have their log in a real server."""


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "view_usagerecord", "change_rule", "stop_user")


def client_of(name: str, *codenames: str, **more: bool) -> Client:
    user = User.objects.create_user(name, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def send(client: Client, method: str, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    response = client.generic(method, path, json.dumps(body), content_type="application/json")
    assert response.status_code == status, response.content
    found: dict[str, Any] = response.json() if response.content else {}
    return found.get("error", found)


def open_request(user: User) -> Request:
    """A request that waits for a worker."""
    request = Request.objects.create(
        user=user, surface="chat", model="m", title="", accepted_unix_us=unix_us(), input=asked()
    )
    accepted = RequestAccepted(
        at=0,
        request_id=request.pk,
        surface="chat",
        model="m",
        params=SamplingParams(),
        accepted_unix_us=request.accepted_unix_us,
    )
    services.event_log().append(request.pk, [accepted], request.attempt)
    return request


def test_users_and_groups_are_listed_with_their_use(operator: Client, alice: User) -> None:
    bob = User.objects.create_user("bob")
    bob.groups.add(Group.objects.create(name="research"))
    now = timezone.now()
    save(make_record(1, alice, now), make_record(2, bob, now), make_record(3, bob, now))
    found = operator.get("/api/users").json()
    assert [(user["name"], user["use"]["num_requests"]) for user in found["users"]][:2] == [("bob", 2), ("alice", 1)]
    assert found["users"][0]["use"]["cost"] == [{"currency": "USD", "nano": 2000}]
    assert found["users"][0]["last_seen"][:16] == now.isoformat()[:16]
    (group,) = found["groups"]
    assert (group["name"], group["num_users"], group["use"]["num_requests"]) == ("research", 1, 2)
    for text, names in [("ali", ["alice"]), ("RESEARCH", ["bob"]), ("%", []), ("", ["bob", "alice", "olive"])]:
        assert [user["name"] for user in operator.get("/api/users", {"text": text}).json()["users"]] == names


def test_a_users_page_tells_limits_open_requests_and_what_they_sent(operator: Client, alice: User) -> None:
    Rule.objects.create(user=alice, requests_per_minute=5)
    Rule.objects.create(is_site=True, tokens_per_day=100)
    open_request(alice)
    save(make_record(1, alice, timezone.now()))
    found = operator.get(f"/api/users/{alice.pk}").json()
    assert (found["num_open"], found["left_this_minute"], found["tokens_today"]) == (1, 5, 45)
    assert found["limits"]["sources"]["requests_per_minute"] == "user"
    assert found["limits"]["sources"]["tokens_per_day"] == "site"
    assert [request["request_id"] for request in found["requests"]] == ["req_1"]
    assert found["requests"][0]["is_readable"] is False
    assert operator.get("/api/users/999999").status_code == 404


def test_stop_ends_all_open_requests_and_blocks_the_next(operator: Client, alice: User) -> None:
    requests = [open_request(alice) for _ in range(3)]
    bobs = open_request(User.objects.create_user("bob"))
    found = send(operator, "POST", f"/api/users/{alice.pk}/stop", {"reason": "Too  much"})
    assert found == {"num_requests": 3, "num_sets": 0}
    for request in requests:
        events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
        assert [event.by for event in events if isinstance(event, RequestCancelled)] == ["operator"]
        request.refresh_from_db()
        assert request.status == "stopped"
    bobs.refresh_from_db()
    assert not bobs.is_settled
    state = operator.get(f"/api/users/{alice.pk}").json()
    assert (state["stop_reason"], state["person"]["is_stopped"], state["num_open"]) == ("Too much", True, 0)
    assert send(operator, "POST", f"/api/users/{alice.pk}/stop", {}) == {"num_requests": 0, "num_sets": 0}


def test_only_requests_that_it_stops_are_counted(operator: Client, alice: User) -> None:
    """One is being stopped by its user already; one has a row alone, because its process died."""
    open_request(alice)
    ending = open_request(alice)
    services.event_log().append(ending.pk, [STARTED, RequestCancelled(at=1, by="user")], ending.attempt)
    Request.objects.create(user=alice, surface="chat", model="m", title="t", input=asked(), accepted_unix_us=unix_us())
    found = send(operator, "POST", f"/api/users/{alice.pk}/stop", {})
    assert found["num_requests"] == 1


def test_the_undo_lets_the_user_send_again(operator: Client, alice: User) -> None:
    send(operator, "POST", f"/api/users/{alice.pk}/stop", {"reason": "Too much"})
    send(operator, "POST", f"/api/users/{alice.pk}/resume", {}, 204)
    assert operator.get(f"/api/users/{alice.pk}").json()["stop_reason"] is None


def test_each_action_is_in_the_audit_log_with_both_states(operator: Client, alice: User) -> None:
    open_request(alice)
    send(operator, "POST", f"/api/users/{alice.pk}/stop", {"reason": "Too much"})
    send(operator, "POST", f"/api/users/{alice.pk}/resume", {"reason": "Sorry"}, 204)
    send(operator, "PUT", f"/api/users/{alice.pk}/limits", NO_LIMITS | {"max_open": 2})
    told = [
        (entry.additional_data["action"], entry.additional_data["note"], entry.changes)
        for entry in LogEntry.objects.filter(object_repr="alice").order_by("pk")
        if entry.additional_data
    ]
    assert told == [
        ("stopped the sending of", "Too much", {"is_stopped": [False, True]}),
        ("stopped the requests of", "Too much", {"stopped requests": [None, 1], "stopped sets of runs": [None, 0]}),
        ("allowed the sending of", "Sorry", {"is_stopped": [True, False]}),
        ("set the limits of", "", {"max_open": [None, 2]}),
    ]
    actors = LogEntry.objects.filter(object_repr="alice", additional_data__isnull=False)
    assert {entry.actor.username for entry in actors if entry.actor} == {"olive"}


def test_an_operator_stops_neither_themselves_nor_a_superuser(operator: Client) -> None:
    olive, root = User.objects.get(username="olive"), User.objects.create_superuser("root")
    assert "yourself" in send(operator, "POST", f"/api/users/{olive.pk}/stop", {}, 403)["message"]
    for path, method, body in (("stop", "POST", {}), ("resume", "POST", {}), ("limits", "PUT", NO_LIMITS)):
        assert "superuser" in send(operator, method, f"/api/users/{root.pk}/{path}", body, 403)["message"]
    assert "your own stop" in send(operator, "POST", f"/api/users/{olive.pk}/resume", {}, 403)["message"]
    board = Group.objects.create(name="board")
    board.user_set.add(root)
    assert "superuser" in send(operator, "PUT", f"/api/groups/{board.pk}/limits", NO_LIMITS, 403)["message"]
    other = client_of("admin", is_superuser=True)
    send(other, "POST", f"/api/users/{root.pk}/stop", {})


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"max_open": 0}, "max_open", "To let a user send nothing, stop the user."),
        ({"max_open": 33}, "max_open", "must be 1 to 32"),
        ({"requests_per_minute": -1}, "requests_per_minute", "must be 1 to 10,000"),
        ({"tokens_per_day": 10**30}, "tokens_per_day", "1,000,000,000,000"),
        ({"may_share": "no"}, "may_share", "true or false"),
        ({"max_open": 1.5}, "max_open", "a whole number"),
    ],
)
def test_wrong_limits_are_refused_with_advice(
    operator: Client, alice: User, changed: dict[str, Any], field: str, words: str
) -> None:
    error = send(operator, "PUT", f"/api/users/{alice.pk}/limits", NO_LIMITS | changed, 400)
    assert error["field"] == field
    assert words in error["message"]
    assert not Rule.objects.exists()


def test_limits_of_a_group_and_of_the_site_are_kept(operator: Client) -> None:
    group = Group.objects.create(name="research")
    for path in (f"/api/groups/{group.pk}/limits", "/api/limits"):
        found = send(operator, "PUT", path, NO_LIMITS | {"may_share": False})
        assert found == NO_LIMITS | {"may_share": False}
        assert send(operator, "PUT", path, NO_LIMITS) == NO_LIMITS
    assert Rule.objects.count() == 2
    assert LogEntry.objects.filter(additional_data__action="set the limits of").count() == 4
    assert send(operator, "PUT", "/api/groups/999999/limits", NO_LIMITS, 404)["code"] == "not_found"


def test_a_long_or_hostile_reason_is_refused(operator: Client, alice: User) -> None:
    for reason in ("x" * 301, "\x07", "a\u202eb"):
        assert send(operator, "POST", f"/api/users/{alice.pk}/stop", {"reason": reason}, 400)["field"] == "reason"
    assert not Rule.objects.exists()


def test_each_operation_needs_its_permission(alice: User) -> None:
    reader = client_of("vera", "view_usagerecord")
    assert reader.get("/api/users").status_code == 200
    for path in ("stop", "resume"):
        assert reader.post(f"/api/users/{alice.pk}/{path}", {}, "application/json").status_code == 403
    for path in (f"/api/users/{alice.pk}/limits", "/api/limits"):
        assert reader.put(path, NO_LIMITS, "application/json").status_code == 403
    stranger = client_of("bob")
    assert [stranger.get(path).status_code for path in ("/api/users", f"/api/users/{alice.pk}")] == [403, 403]
