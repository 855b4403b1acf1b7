"""Methods of the page routes, and how long an answer of the API may be kept."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("alice"))
    return client


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path", ["/", "/library", "/usage", "/compare", "/learn", "/admin/", "/admin/live/", "/healthz", "/readyz"]
)
def test_a_page_is_read_alone(alice: Client, method: str, path: str) -> None:
    answer = alice.generic(method, path)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/api/session", "/api/conversations", "/api/none", "/api/openapi.json"])
def test_no_cache_keeps_an_answer_of_the_api(alice: Client, path: str) -> None:
    assert alice.get(path)["Cache-Control"] == "no-store"
    assert Client().get(path)["Cache-Control"] == "no-store"
