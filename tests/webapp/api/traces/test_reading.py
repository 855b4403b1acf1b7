"""Operators with the permission read others' traces; each reading is recorded, and nothing else opens."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.webapp.operations.privacy.conftest import Held, anna, bert, golden, root
from webapp.ground.audit.listing import Change, listing
from webapp.requests.models import Request

__all__ = ["anna", "bert", "root"]
pytestmark = pytest.mark.django_db(transaction=True)


def reading(client: Client, request: Request) -> Any:
    return client.get(f"/api/requests/{request.pk}/reading")


@pytest.fixture
def reader(bert: Held) -> Client:
    bert.user.user_permissions.add(Permission.objects.get(codename="view_any_trace"))
    User.objects.filter(pk=bert.user.pk).update(is_staff=True)
    return bert.client


def test_the_permission_opens_a_trace_and_each_reading_is_recorded(reader: Client, anna: Held, bert: Held) -> None:
    request = anna.requests["settled"]
    num = len(listing().entries)
    for _ in range(2):
        answer = reading(reader, request)
        assert answer.status_code == 200
        body = answer.json()
        assert (body["user"], body["title"]) == (anna.user.username, request.title)
        assert len(body["frames"]) == len(golden())
    entries = listing().entries
    assert len(entries) == num + 2
    assert (entries[0].actor, entries[0].action, entries[0].subject) == (
        bert.user.username,
        "read a request of",
        anna.user.username,
    )
    assert entries[0].changes == [Change("request", None, request.pk)]


def test_without_it_the_trace_is_not_there_and_nothing_is_recorded(anna: Held, bert: Held) -> None:
    User.objects.filter(pk=bert.user.pk).update(is_staff=True)
    bert.user.user_permissions.add(Permission.objects.get(codename="view_usagerecord"))
    num = len(listing().entries)
    assert reading(bert.client, anna.requests["settled"]).status_code == 404
    assert reading(Client(), anna.requests["settled"]).status_code == 401
    assert len(listing().entries) == num


def test_only_a_superuser_reads_a_superusers_trace(reader: Client, anna: Held, bert: Held) -> None:
    User.objects.filter(pk=anna.user.pk).update(is_superuser=True)
    assert reading(reader, anna.requests["settled"]).status_code == 404
    User.objects.filter(pk=bert.user.pk).update(is_superuser=True)
    assert reading(reader, anna.requests["settled"]).status_code == 200


def test_no_other_door_opens_by_it(reader: Client, anna: Held, redis_client: redis.Redis) -> None:
    request = anna.requests["settled"]
    path = f"/api/requests/{request.pk}"
    conversation = f"/api/conversations/{anna.user.conversations.get().pk}"
    reads = (path, f"{path}/trace", f"{path}/export", f"{path}/shares", f"{path}/reruns", conversation)
    assert {each: reader.get(each).status_code for each in reads} == dict.fromkeys(reads, 404)
    writes: dict[str, object] = {
        f"{path}/fork": {"position": 1},
        f"{path}/cancel": {},
        f"{path}/reruns": {},
        f"{path}/shares": {"expires_in_s": 3600, "is_redacted": True},
        f"{path}/probes": {"kind": "lens", "position": 1},
        f"{conversation}/messages": {"text": "Hello"},
    }
    for each, body in writes.items():
        assert reader.post(each, body, content_type="application/json").status_code == 404, each
    assert reader.delete(path).status_code == 404
    assert reader.patch(path, {"note": "x"}, content_type="application/json").status_code == 404


def test_an_own_request_or_one_without_a_trace_is_not_read_so(reader: Client, anna: Held, bert: Held) -> None:
    assert reading(reader, bert.requests["settled"]).status_code == 404
    running = Request.objects.create(user=anna.user, surface="chat", model="m", title="T")
    assert reading(reader, running).status_code == 404


def test_the_list_leads_to_what_the_reader_may_read(reader: Client, anna: Held, bert: Held) -> None:
    bert.user.user_permissions.add(Permission.objects.get(codename="view_usagerecord"))
    rows = listed(reader)
    assert rows[anna.requests["settled"].pk] == (False, True)
    assert rows[bert.requests["settled"].pk] == (True, True)
    bert.user.user_permissions.remove(Permission.objects.get(codename="view_any_trace"))
    assert listed(reader)[anna.requests["settled"].pk] == (False, False)


def listed(client: Client) -> dict[str, tuple[bool, bool]]:
    """By request: whether it is the reader's own, and whether the reader may read it."""
    found = client.get("/api/usage/all/requests").json()["requests"]
    return {each["request_id"]: (each["is_own"], each["is_readable"]) for each in found}
