"""A notice is shown from one moment to another, also before the sign-in; hostile text stays text."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from webapp.identity.notices.models import Notice

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>{{ 7|add:7 }}"


def client_of(name: str, *codenames: str) -> Client:
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "view_notice", "add_notice", "delete_notice")


def body(starts_in_h: float = 0, ends_in_h: float = 1, **more: Any) -> dict[str, Any]:
    now = timezone.now()
    times = {
        "starts_at": (now + timedelta(hours=starts_in_h)).isoformat(),
        "ends_at": (now + timedelta(hours=ends_in_h)).isoformat(),
    }
    return {"text": "Maintenance at noon", "severity": "warning"} | times | more


def post(client: Client, given: dict[str, Any], status: int = 201) -> dict[str, Any]:
    response = client.post("/api/notices", given, "application/json")
    assert response.status_code == status, response.content
    found: dict[str, Any] = response.json()
    return found if status < 400 else found["error"]


def shown() -> list[str]:
    client = Client()
    client.force_login(User.objects.get_or_create(username="reader")[0])
    return [notice["text"] for notice in client.get("/api/notices").json()["notices"]]


def test_a_notice_is_shown_in_its_time_only(operator: Client) -> None:
    post(operator, body(text="Now"))
    post(operator, body(1, 2, text="Later"))
    found = operator.get("/api/notices/all").json()["notices"]
    assert [(notice["text"], notice["state"]) for notice in found] == [("Later", "to_come"), ("Now", "now")]
    assert shown() == ["Now"]
    Notice.objects.filter(text="Now").update(ends_at=timezone.now())
    assert shown() == []


def test_the_sign_in_page_shows_it_as_text(operator: Client) -> None:
    post(operator, body(text=HOSTILE, severity="urgent"))
    page = Client().get("/accounts/login/").content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7|add:7 }}" in page
    assert "<script>" not in page
    assert shown() == [HOSTILE]


def test_a_notice_ends_now_or_is_removed_before_it_begins(operator: Client) -> None:
    post(operator, body())
    post(operator, body(1, 2, text="Later"))
    for notice in Notice.objects.all():
        assert operator.delete(f"/api/notices/{notice.pk}").status_code == 200
    assert [notice["state"] for notice in operator.get("/api/notices/all").json()["notices"]] == ["over"]
    assert operator.delete("/api/notices/999999").status_code == 404
    assert LogEntry.objects.filter(content_type__model="notice").count() == 4


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"text": " \n "}, "text", "1 to 300 printable"),
        ({"text": "x" * 301}, "text", "1 to 300 printable"),
        ({"text": "a\u202eb"}, "text", "printable"),
        ({"severity": "loud"}, "severity", "severity"),
        ({"starts_at": "2026-11-24T08:00:00"}, "starts_at", "with their zone"),
        ({"ends_at": "2020-01-01T00:00:00Z"}, "ends_at", "before it begins"),
        ({"starts_at": "2020-01-01T00:00:00Z", "ends_at": "2020-01-02T00:00:00Z"}, "ends_at", "is past"),
        ({"ends_at": "9999-12-31T23:59:59Z"}, "ends_at", "within a year"),
        ({"starts_at": "0001-01-01T00:00:00+14:00"}, "starts_at", "within the last year"),
    ],
)
def test_a_wrong_notice_is_refused_with_advice(operator: Client, given: dict[str, Any], field: str, words: str) -> None:
    error = post(operator, body() | given, 400)
    assert error["field"] == field
    assert words in error["message"]


def test_there_are_not_too_many_at_once(operator: Client) -> None:
    for _ in range(5):
        post(operator, body())
    assert post(operator, body(), 409)["code"] == "too_many"
    post(operator, body(2, 3))


def test_each_operation_needs_its_permission() -> None:
    stranger = client_of("bob")
    assert stranger.get("/api/notices").status_code == 200
    assert stranger.get("/api/notices/all").status_code == 403
    assert post(stranger, body(), 403)["code"] == "forbidden"
    assert stranger.delete("/api/notices/1").status_code == 403
    assert Client().get("/api/notices").status_code == 401
