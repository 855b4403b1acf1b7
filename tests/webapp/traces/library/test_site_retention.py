"""The operator's retention rules: the shortest holds, also for pinned traces; the preview counts what would go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.at_once import called_during, on_postgres
from tests.webapp.traces.library.test_filters import saved, signed_in
from webapp.ground.audit.listing import listing
from webapp.traces.library import retention
from webapp.traces.library.site_retention import SiteRules, count_due, save_rules
from webapp.traces.models import RetentionRule, SiteRetentionRule, Trace

pytestmark = [pytest.mark.django_db, pytest.mark.database]

NOW = timezone.now()


def old(user: User, days: float, **more: Any) -> str:
    return saved(user, finished_at=NOW - timedelta(days=days), **more)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def guest() -> User:
    guest = User.objects.create_user("guest")
    guest.groups.add(Group.objects.create(name="guests"))
    return guest


@pytest.fixture
def root() -> Client:
    return signed_in(User.objects.create_superuser("root"))


def put(client: Client, **body: object) -> Any:
    return client.put("/api/retention/site", body, content_type="application/json")


def preview(client: Client, **body: object) -> Any:
    return client.post("/api/retention/site/preview", body, content_type="application/json")


def test_the_shortest_of_all_rules_holds_and_takes_pinned_traces(root: Client, alice: User, guest: User) -> None:
    RetentionRule.objects.create(user=alice, keep_days=10)
    ids = {name: old(user, days) for name, user, days in (("a9", alice, 9), ("a11", alice, 11), ("g29", guest, 29))}
    ids |= {"g31": old(guest, 31), "a99": old(alice, 99, is_pinned=True), "a40": old(alice, 40, is_pinned=True)}
    assert put(root, keep_days=90, groups={"guests": 30}).status_code == 200
    assert retention.enforce(NOW) == 3
    assert set(Trace.objects.values_list("pk", flat=True)) == {ids["a9"], ids["g29"], ids["a40"]}


def test_the_preview_counts_what_then_goes(root: Client, alice: User, guest: User) -> None:
    for user, days, is_pinned in ((alice, 5, False), (alice, 50, True), (guest, 50, False), (guest, 3, False)):
        old(user, days, is_pinned=is_pinned)
    assert preview(root, keep_days=30).json() == {"num_traces": 2, "num_users": 2, "num_pinned": 1}
    assert preview(root, groups={"guests": 1}).json() == {"num_traces": 2, "num_users": 1, "num_pinned": 0}
    assert preview(root).json() == {"num_traces": 0, "num_users": 0, "num_pinned": 0}
    assert not SiteRetentionRule.objects.exists()
    put(root, keep_days=30)
    assert retention.enforce(NOW) == 2


@given(st.one_of(st.none(), st.integers(1, 20)), st.one_of(st.none(), st.integers(1, 20)))
def test_preview_and_rule_agree(days: int | None, group_days: int | None) -> None:
    Trace.objects.all().delete()
    User.objects.all().delete()
    alice, guest = User.objects.create_user("alice"), User.objects.create_user("guest")
    group = Group.objects.get_or_create(name="guests")[0]
    guest.groups.add(group)
    ages = [(user, age) for user in (alice, guest) for age in (0.5, 5.5, 10.5, 15.5, 30.5)]
    made = {old(user, age): (user, age) for user, age in ages}
    rules = SiteRules(days, {} if group_days is None else {group.pk: group_days})
    gone = {request.pk for request in rules.due(NOW)}
    for pk, (user, age) in made.items():
        limit = rules.of_user(user.pk)
        assert (pk in gone) == (limit is not None and age > limit)
    assert count_due(rules, NOW).num_traces == len(gone)


def test_a_user_sees_the_operators_limit(root: Client, alice: User, guest: User) -> None:
    put(root, keep_days=90, groups={"guests": 30})
    assert signed_in(alice).get("/api/retention").json()["site_days"] == 90
    assert signed_in(guest).get("/api/retention").json()["site_days"] == 30


def test_each_change_is_in_the_audit_log(root: Client, guest: User) -> None:
    put(root, keep_days=90)
    put(root, keep_days=60, groups={"guests": 30})
    put(root, groups={"guests": 30})
    told = [(entry.actor, entry.action, entry.subject) for entry in listing().entries[:4]]
    assert told == [
        ("root", "deleted", "for all users"),
        ("root", "created", "for guests"),
        ("root", "changed", "for all users"),
        ("root", "created", "for all users"),
    ]
    assert root.get("/api/retention/site").json()["groups"] == [{"group": "guests", "num_users": 1, "keep_days": 30}]


@pytest.mark.parametrize("body", [{"keep_days": 0}, {"keep_days": 3651}, {"groups": {"no such": 5}}, {"groups": 5}])
def test_what_is_no_rule_is_refused(root: Client, body: dict[str, Any]) -> None:
    answers = [put(root, **body), preview(root, **body)]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert not SiteRetentionRule.objects.exists()


def test_only_the_permission_opens_it(alice: User) -> None:
    client = signed_in(alice)
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    answers = [client.get("/api/retention/site"), preview(client, keep_days=1), put(client, keep_days=1)]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    alice.user_permissions.add(Permission.objects.get(codename="change_siteretentionrule"))
    assert put(client, keep_days=1).status_code == 200


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_one_of_two_operators_who_save_at_once_is_told(root: Client) -> None:
    late = called_during(lambda: save_rules(SiteRules(30)), lambda: put(root, keep_days=10))
    assert (late.status_code, late.json()["error"]["code"]) == (409, "outdated")
    assert SiteRetentionRule.objects.get().keep_days == 30
