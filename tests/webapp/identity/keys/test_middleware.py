"""A key in place of a sign-in below /api/ and /v1/: for whom it acts, what it reaches, and how it is refused."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone

from tests.webapp.identity.keys.programs import expire, new_key, program
from webapp.identity.keys.keys import revoke
from webapp.identity.keys.models import ApiKey
from webapp.identity.keys.reach import features_for
from webapp.urls import urlpatterns

pytestmark = pytest.mark.django_db
JSON = "application/json"
OWN = "/api/conversations"


def code(answer: object) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]  # type: ignore[attr-defined]


def test_a_key_acts_for_its_user_without_a_csrf_token() -> None:
    carol = program(new_key("carol").secret)
    made = carol.post(OWN, {}, content_type=JSON)
    assert made.status_code == 201
    path = f"{OWN}/{made.json()['id']}"
    assert carol.get(path).status_code == 200
    assert program(new_key("bob").secret).get(path).status_code == 404


def test_either_header_carries_the_key() -> None:
    secret = new_key().secret
    for headers in (
        {"Authorization": f"Bearer {secret}"},
        {"Authorization": f"bearer  {secret} "},
        {"x-api-key": secret},
        {"x-api-key": secret, "Authorization": f"Bearer {secret}"},
        {"x-api-key": secret, "Authorization": "Basic c2c6c2c="},
    ):
        assert Client(headers=headers).get(OWN).status_code == 200, headers


def test_two_different_keys_are_refused() -> None:
    headers = {"x-api-key": new_key().secret, "Authorization": f"Bearer {new_key('bob').secret}"}
    assert code(Client(headers=headers).get(OWN)) == (401, "two_keys")


def test_a_refused_key_tells_its_reason_and_falls_back_to_no_cookie() -> None:
    new = new_key()
    client = Client(headers={"x-api-key": new.secret})
    client.force_login(new.key.user)
    expire(new.key)
    assert code(client.get(OWN)) == (401, "expired_key")
    revoke(new.key)
    assert code(client.get(OWN)) == (401, "revoked_key")
    for sent in ("", "sg-", new.secret[:-1], new.secret + "\x7f", "é" * 60):
        assert code(client.get(OWN, headers={"x-api-key": sent})) == (401, "unknown_key")
    User.objects.update(is_active=False)
    ApiKey.objects.update(revoked_at=None, expires_at=None)
    assert code(client.get(OWN)) == (401, "owner_inactive")


def test_the_cookies_user_does_not_count_beside_a_key() -> None:
    client = Client(headers={"x-api-key": new_key("carol").secret})
    client.force_login(User.objects.create_user("bob"))
    assert client.get("/api/session").json()["user"]["name"] == "carol"


def test_a_cookie_stays_valid_where_a_key_was_sent_with_it() -> None:
    client = Client()
    client.force_login(User.objects.create_user("bob"))
    assert client.get("/api/session", headers={"x-api-key": new_key("carol").secret}).status_code == 200
    assert client.get("/api/session").json()["user"]["name"] == "bob"


def test_a_key_counts_for_nothing_on_pages() -> None:
    answer = program(new_key().secret).get("/account")
    assert answer.status_code == 302 and answer["Location"].startswith("/accounts/login/")


def test_a_browser_still_needs_its_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("bob"))
    assert code(client.post(OWN, {}, content_type=JSON)) == (403, "csrf")
    assert code(client.post(OWN, {}, content_type=JSON, headers={"x-api-key": "sg-wrong"})) == (401, "unknown_key")


def test_use_is_recorded() -> None:
    new, before = new_key(), timezone.now()
    program(new.secret).get(OWN)
    used = ApiKey.objects.get().last_used_at
    assert used is not None and used >= before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/api/keys"),
        ("post", "/api/keys"),
        ("patch", "/api/keys/1"),
        ("delete", "/api/keys/1"),
        ("get", "/api/users/1/keys"),
        ("post", "/api/users/1/keys/1/revoke"),
        ("get", "/api/account/sign-ins"),
        ("delete", "/api/account/sign-ins/x"),
        ("get", "/api/account/data"),
        ("post", "/api/account/erasure"),
        ("get", "/api/users"),
        ("post", "/api/users/1/stop"),
        ("get", "/api/audit"),
        ("put", "/api/limits"),
        ("post", "/api/notices"),
        ("get", "/api/registry"),
        ("get", "/api/usage/all"),
        ("get", "/api/retention/site"),
        ("get", "/api/requests/req_1/reading"),
    ],
)
def test_what_a_key_does_not_reach_needs_a_sign_in(method: str, path: str) -> None:
    superuser = User.objects.create_superuser("root")
    client = program(new_key(superuser).secret)
    assert code(getattr(client, method)(path, content_type=JSON)) == (403, "needs_sign_in")


def test_only_these_addresses_are_reached_and_none_of_an_operator() -> None:
    routes = {str(each.pattern) for each in urlpatterns if isinstance(each, URLPattern)}
    reached = {each for each in routes if features_for(each, "GET") or features_for(each, "POST")}
    assert {each.split("/")[1] for each in reached} == {
        "openapi.json", "protocol.schema.json",
        "session", "models", "conversations", "messages", "requests", "reruns", "presets", "memory", "attachments",
        "pictures", "new-chats",
        "views", "shares", "storage", "retention", "notices", "usage", "mcp", "batches",
    }  # fmt: skip
    assert "api/requests/<str:request_id>/reading" not in reached  # an operator's
    read = {each for each in reached if not features_for(each, "POST")}
    assert read == {
        "api/views", "api/shares", "api/storage", "api/retention", "api/notices",
        "api/usage", "api/usage/requests", "api/usage/findings", "api/usage/limits",
        "api/usage/refusals", "api/usage/days", "api/usage/days.csv",
    }  # fmt: skip


def test_a_key_that_only_reads_changes_nothing() -> None:
    client = program(new_key(features=["read"]).secret)
    assert client.get(OWN).status_code == 200 and client.get("/api/usage").status_code == 200
    assert code(client.post(OWN, {}, content_type=JSON)) == (403, "out_of_scope")


def test_a_key_for_chat_reads_its_conversations_alone() -> None:
    client = program(new_key(features=["chat"]).secret)
    assert client.post(OWN, {}, content_type=JSON).status_code == 201 and client.get(OWN).status_code == 200
    assert code(client.get("/api/usage")) == (403, "out_of_scope")


def test_a_key_for_embeddings_reaches_nothing_here() -> None:
    client = program(new_key(features=["embeddings"]).secret)
    assert code(client.get(OWN)) == (403, "out_of_scope")
    assert client.get("/api/openapi.json").status_code == 200  # is for all


def test_a_superusers_key_has_no_more_reach() -> None:
    user = User.objects.create_user("olive", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    assert code(program(new_key(user).secret).get("/api/usage/all")) == (403, "needs_sign_in")
