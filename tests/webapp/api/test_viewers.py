"""A user who only views: every door that begins work is closed, in its own wire format, and work already begun ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.webapp.identity.keys.programs import new_key, program
from tests.webapp.inputs import SAVED, asked
from webapp.api.doors import BEGINS_NOTHING, begins_work
from webapp.identity.accounts.models import Role
from webapp.identity.accounts.role_changes import change_role
from webapp.identity.keys.keys import New
from webapp.lifecycle.admission import admit, admit_at_once, admit_some, num_free
from webapp.requests.models import Request
from webapp.surfaces.runs import advance as reruns
from webapp.surfaces.runs.models import Rerun, Run
from webapp.usage.limits.charge import Charge
from webapp.usage.limits.models import Rule, SharedRule
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.room import room_of
from webapp.usage.limits.rules import check_sending, effective_of
from webapp.usage.limits.shared import shared_rules

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "You are a viewer in each of your groups, and a viewer begins no work."
SENTENCE = f"{WHY} Ask an owner of a group to make you a member."
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
WORK = {
    ("POST", "api/conversations"),
    ("POST", "api/conversations/import"),
    ("POST", "api/conversations/preview"),
    ("POST", "api/conversations/<str:conversation_id>/messages"),
    ("POST", "api/conversations/<str:conversation_id>/preview"),
    ("POST", "api/conversations/<str:conversation_id>/compactions"),
    ("POST", "api/attachments"),
    ("POST", "api/batches"),
    ("POST", "api/messages/<str:message_id>/regenerate"),
    ("POST", "api/requests/import"),
    ("POST", "api/requests/<str:request_id>/fork"),
    ("POST", "api/requests/<str:request_id>/step"),
    ("POST", "api/requests/<str:request_id>/reruns"),
    ("POST", "api/keys"),
    ("POST", "api/bring/send"),
    ("POST", "api/registry"),
    ("PATCH", "api/registry/<str:model>"),
    ("POST", "api/registry/<str:model>/check"),
    ("POST", "api/repricings"),
    ("POST", "api/learn/chat"),
    ("POST", "api/learn/gateway"),
    ("POST", "api/learn/checks"),
    ("POST", "api/learn/injections"),
    ("POST", "api/learn/retrievals"),
    ("POST", "api/learn/simulations"),
    ("POST", "api/learn/experiments"),
    ("POST", "v1/chat/completions"),
    ("POST", "v1/completions"),
    ("POST", "v1/embeddings"),
    ("POST", "v1/files"),
    ("POST", "v1/batches"),
    ("POST", "v1/responses"),
    ("POST", "v1/responses/input_tokens"),
    ("POST", "v1/messages"),
    ("POST", "v1/messages/count_tokens"),
    ("POST", "v1/messages/batches"),
}


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Rates and refusals are in a real server."""


@pytest.fixture
def team() -> Group:
    return Group.objects.create(name="team")


@pytest.fixture
def key(team: Group) -> New:
    """A key of Bob's, from the time before he became a viewer, his only role."""
    bob = User.objects.create_superuser("bob")
    made = new_key(bob)
    bob.groups.add(team)
    change_role(team, bob, Role.VIEWER)
    return made


@pytest.fixture
def bob(key: New) -> User:
    return key.key.user


def operations(patterns: list[Any] | None = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each method and address of the native API and of both families."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from operations(each.url_patterns, route)
        elif isinstance(each, URLPattern):
            by_family = getattr(each.callback, "by_family", {})
            methods = {
                *getattr(each.callback, "operations", {}),
                *(name for each in by_family.values() for name in each),
            }
            yield from ((method, route) for method in sorted(methods))


DOORS = sorted((method, route) for method, route in operations() if begins_work(route, method))


def address(route: str) -> str:
    return "/" + re.sub(r"<int:\w+>", "1", re.sub(r"<(str|path):\w+>", "x", route))


def test_no_door_is_forgotten() -> None:
    """A new operation that changes something joins one of the two lists."""
    own = {(method, route) for method, route in DOORS if not route.startswith("record/")}
    assert own >= WORK
    assert own - WORK == {("POST", "api/conversations/check"), ("POST", "api/bring")} | sending()
    assert {(method, f"record/<str:recording>/{route}") for method, route in WORK if route.startswith("v1/")} <= set(
        DOORS
    )


def sending() -> set[tuple[str, str]]:
    """Doors that send something out of the site."""
    return {("POST", "api/requests/<str:request_id>/otlp"), ("POST", "api/alerts/rules/<int:rule_id>/test")}


def test_what_begins_nothing_is_an_operation_that_changes_something() -> None:
    named = {(method, route) for route, methods in BEGINS_NOTHING.items() for method in methods}
    assert named <= set(operations())
    assert {method for method, _ in named} <= set(CHANGING)


@pytest.mark.parametrize(("method", "route"), DOORS, ids=[" ".join(each) for each in DOORS])
def test_each_door_refuses_a_viewer_in_its_own_form(key: New, method: str, route: str) -> None:
    client = Client()
    client.force_login(key.key.user)
    is_family = "v1/" in route
    if is_family:
        client = program(key.secret)
    answer = client.generic(method, address(route), "{}", "application/json")
    assert answer.status_code == 403, answer.content
    error = answer.json()["error"]
    assert error["message"] == SENTENCE
    if "/messages" in route and is_family:
        assert answer.json()["type"] == "error"
        assert error["type"] == "permission_error"
    elif is_family:
        assert (error["type"], error["code"], error["param"]) == ("permission_error", "views_only", None)
    else:
        assert error["code"] == "views_only"


def test_a_key_finds_the_native_doors_closed_too(key: New) -> None:
    answer = program(key.secret).post("/api/conversations", {}, "application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "views_only")


def test_a_member_passes(bob: User, team: Group) -> None:
    client = Client()
    client.force_login(bob)
    assert client.post("/api/conversations", {}, "application/json").status_code == 403
    change_role(team, bob, Role.MEMBER)
    assert client.post("/api/conversations", {}, "application/json").status_code == 201


@pytest.mark.parametrize("way", ["a member elsewhere", "in no group"])
def test_only_a_user_who_only_views_is_refused(bob: User, team: Group, way: str) -> None:
    if way == "in no group":
        bob.groups.clear()
    else:
        bob.groups.add(Group.objects.create(name="other"))
    client = Client()
    client.force_login(bob)
    assert client.post("/api/conversations", {}, "application/json").status_code == 201
    assert client.get("/api/session").json()["user"]["views_only"] is False


def test_a_viewer_reads_and_tidies_up(bob: User, team: Group, key: New) -> None:
    client = Client()
    client.force_login(bob)
    session = client.get("/api/session").json()
    assert session["user"]["views_only"] is True
    for path in ("/api/conversations", "/api/requests", "/api/usage", f"/api/usage/groups/{team.pk}", "/api/keys"):
        assert client.get(path).status_code == 200
    assert client.delete(f"/api/keys/{key.key.pk}").status_code == 204
    assert client.delete(f"/api/account/groups/{team.pk}").status_code == 204


def request_of(user: User) -> Request:
    return Request(user=user, surface="chat", model="m", title="", accepted_unix_us=1, input=asked(), params={})


def test_below_the_doors_nothing_of_a_viewers_is_admitted(bob: User) -> None:
    request, charge = request_of(bob), Charge(1, 1, 1)
    for act in (
        lambda: admit([request], [charge], is_stepped=False),
        lambda: admit_at_once(request, charge),
        lambda: check_sending(bob.pk),
        lambda: room_of(bob.pk, "m", None).check(),
    ):
        with pytest.raises(Refused) as refused:
            act()
        assert (refused.value.code, str(refused.value)) == ("views_only", SENTENCE)
    assert admit_some([request], [charge]) == []
    assert num_free(bob.pk, "m", None) == 0


def test_a_set_of_runs_that_was_begun_earlier_ends(bob: User) -> None:
    rerun = Rerun.objects.create(
        user=bob, model="m", title="", input=SAVED, params={}, seeds="fresh", n=1, grid={}, prompt_check={}
    )
    Run.objects.create(rerun=rerun, index=0, settings={}, params={"seed": 1})
    reruns.advance([rerun.pk])
    rerun.refresh_from_db()
    assert rerun.stopped_at is not None and rerun.stop_reason == SENTENCE


def test_a_group_binds_and_grants_nothing_to_its_viewers(bob: User, team: Group) -> None:
    bob.groups.add(other := Group.objects.create(name="other"))
    Rule.objects.create(group=team, requests_per_minute=7, may_share=False)
    Rule.objects.create(group=other, requests_per_minute=3)
    SharedRule.objects.create(subject=f"group:{team.pk}", group=team, max_open=1)
    effective = effective_of(bob.pk)
    assert (effective.requests_per_minute, effective.may_share, effective.views_only) == (3, True, False)
    assert list(shared_rules(bob.pk, "m", None)) == []
    change_role(team, bob, Role.MEMBER)
    assert effective_of(bob.pk).requests_per_minute == 7
    assert [rule.group_id for rule in shared_rules(bob.pk, "m", None)] == [team.pk]


def test_open_requests_of_a_viewer_take_no_place_of_the_group(bob: User, team: Group) -> None:
    bob.groups.add(Group.objects.create(name="other"))
    alice = User.objects.create_user("alice")
    alice.groups.add(team)
    SharedRule.objects.create(subject=f"group:{team.pk}", group=team, max_open=2, daily_budget_nano=10**9)
    for user in (alice, bob):
        request_of(user).save(force_insert=True)
    places = {place.scope.kind: place.num_open for place in room_of(alice.pk, "m", None).places}
    assert places == {"user": 1, "group": 1}
