"""A group's usage for its people: what each role sees, and each user who is refused."""

from __future__ import annotations

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from inference.eventlog.clock import unix_us
from tests.webapp.inputs import asked
from tests.webapp.usage.test_report import make_record, save
from webapp.api import site
from webapp.identity.accounts.models import Membership, Role
from webapp.identity.accounts.role_changes import change_role
from webapp.identity.accounts.roles import role_of
from webapp.operations.privacy.block import begin
from webapp.operations.privacy.erase import advance
from webapp.requests.models import Request
from webapp.usage.limits.models import SharedRule
from webapp.usage.limits.shared import shared_rules
from webapp.usage.limits.taking import levels_of

pytestmark = pytest.mark.django_db
REFUSAL = "Only an owner of the group sees what its people did one by one. Ask an owner."


@pytest.fixture
def team() -> Group:
    """alice owns it; alice and bob are members; carol is not."""
    group = Group.objects.create(name="team")
    for name in ("alice", "bob", "carol"):
        user = User.objects.create_user(name)
        if name != "carol":
            user.groups.add(group, Group.objects.get_or_create(name=f"club of {name}")[0])
    change_role(group, User.objects.get(username="alice"), Role.OWNER)
    now = timezone.now()
    users = [User.objects.get(username=name) for name in ("alice", "bob", "bob", "carol")]
    save(*(make_record(number, user, now) for number, user in enumerate(users)))
    return group


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def paths(group: Group) -> list[str]:
    return [f"/api/usage/groups/{group.pk}{part}" for part in ("", "/requests", "/findings")]


def refused(client: Client, group: Group) -> bool:
    """A foreign group is not there: each address says the same."""
    answers = [client.get(path) for path in paths(group)]
    assert {answer.status_code for answer in answers} in ({200}, {404})
    is_listed = group.pk in [each["id"] for each in client.get("/api/usage/groups").json()["groups"]]
    assert is_listed is (answers[0].status_code == 200)
    return not is_listed


def sees_sums_alone(client: Client, group: Group) -> bool:
    """The figures of all together, and no name, list or finding."""
    figures, requests, findings = (client.get(path) for path in paths(group))
    if figures.status_code != 200 or requests.status_code == 200:
        return False
    assert (requests.status_code, findings.status_code) == (403, 403)
    assert requests.json()["error"]["message"] == findings.json()["error"]["message"] == REFUSAL
    return True


def test_an_owner_sees_the_figures_of_the_members_alone(team: Group) -> None:
    alice = signed_in("alice")
    (own,) = [each for each in alice.get("/api/usage/groups").json()["groups"] if each["name"] == "team"]
    assert own == {"id": team.pk, "name": "team", "num_users": 2, "role": "owner"}
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


def test_a_stranger_finds_no_group(team: Group) -> None:
    assert refused(signed_in("carol"), team)
    assert refused(signed_in("carol"), Group(pk=999_999))


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_members_and_viewers_see_the_sums_without_a_name(team: Group, role: Role) -> None:
    carol = User.objects.get(username="carol")
    carol.groups.add(team)
    change_role(team, carol, role)
    client = signed_in("carol")
    assert sees_sums_alone(client, team)
    found = client.get(paths(team)[0]).json()
    assert (found["users"], found["leaders"]) == ([], [])
    assert found["now"]["num_requests"] == (3 if role is Role.VIEWER else 4)
    assert not {"alice", "bob"} & set(str(found).split("'"))
    for query in ({"by": "user"}, {"user": User.objects.get(username="bob").pk}):
        assert client.get(paths(team)[0], query).status_code == 403


def test_a_viewers_own_requests_are_not_the_groups(team: Group) -> None:
    change_role(team, User.objects.get(username="bob"), Role.VIEWER)
    assert signed_in("alice").get(paths(team)[0]).json()["now"]["num_requests"] == 1


def test_a_former_owner_sees_sums_alone(team: Group) -> None:
    assert not refused(signed_in("alice"), team)
    change_role(team, User.objects.get(username="alice"), Role.MEMBER, needs_owner=False)
    assert sees_sums_alone(signed_in("alice"), team)


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
    assert sees_sums_alone(signed_in("alice"), team)


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
    assert role_of(alice.pk, team.pk) is None


def test_the_page_of_a_group_is_there_for_its_people_alone(team: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "built", lambda source: {"script": "main.js", "styles": []})
    pages = [signed_in(name).get(f"/usage/groups/{team.pk}").status_code for name in ("alice", "bob", "carol")]
    assert pages == [200, 200, 404]


NO_LIMITS = {
    "max_open": None,
    "requests_per_minute": None,
    "input_tokens_per_minute": None,
    "output_tokens_per_minute": None,
    "tokens_per_day": None,
    "daily_budget_nano": None,
    "monthly_budget_nano": None,
}


def test_an_owners_limits_stand_beside_the_operators_and_are_never_looser(team: Group, redis_client: object) -> None:
    operators = SharedRule.objects.create(subject=f"group:{team.pk}", group=team, requests_per_minute=60)
    alice, path = signed_in("alice"), f"/api/usage/groups/{team.pk}/limits"
    looser = alice.put(path, NO_LIMITS | {"requests_per_minute": 61, "max_open": 8}, "application/json")
    assert (looser.status_code, looser.json()["error"]["field"]) == (400, "requests_per_minute")
    assert "at most 60, which the operators allow" in looser.json()["error"]["message"]
    assert SharedRule.objects.count() == 1
    assert alice.put(path, NO_LIMITS | {"requests_per_minute": 30}, "application/json").status_code == 200
    for name in ("alice", "bob"):
        found = signed_in(name).get(path).json()
        assert [found[each]["requests_per_minute"] for each in ("operators", "owners")] == [60, 30]
    bob = User.objects.get(username="bob")
    assert sorted(rule.requests_per_minute or 0 for rule in shared_rules(bob.pk, "m", None)) == [30, 60]
    operators.requests_per_minute = 10
    operators.save()
    levels = [limit.limit for limit in levels_of(bob.pk, "m", None)]
    assert sorted(levels) == [10, 30]
    assert alice.put(path, NO_LIMITS, "application/json").status_code == 200
    assert SharedRule.objects.get() == operators


def test_only_an_owner_sets_a_groups_limits_and_the_audit_log_tells(team: Group) -> None:
    path = f"/api/usage/groups/{team.pk}/limits"
    assert signed_in("bob").put(path, NO_LIMITS, "application/json").status_code == 403
    assert signed_in("carol").put(path, NO_LIMITS, "application/json").status_code == 404
    assert signed_in("carol").get(path).status_code == 404
    signed_in("alice").put(path, NO_LIMITS | {"max_open": 3}, "application/json")
    entry = LogEntry.objects.get(additional_data__action="set the shared limits of")
    assert entry.actor is not None
    assert (entry.actor.username, entry.changes) == ("alice", {"max_open": [None, 3]})
