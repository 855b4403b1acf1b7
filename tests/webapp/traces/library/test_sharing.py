"""Share links: their content, their secrecy, and their expiry."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from tests.webapp.traces.export.test_exports import FRAMES, import_, signed_in
from webapp.lifecycle.watchdog import keep_up
from webapp.requests.models import Request
from webapp.traces.file import htmlfile
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.library import sharing
from webapp.traces.models import Entry, Share, Trace

pytestmark = pytest.mark.django_db

SECRET = "é🙂"
TITLE = "a most secret title"


@pytest.fixture(autouse=True)
def built_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is around the trace is looked at in a browser: tests/browser/test_library.py."""
    (tmp_path / "replay.js").write_text("'script'")
    (tmp_path / "replay.css").write_text("/* style */")
    monkeypatch.setattr(htmlfile, "BUILT", tmp_path)


@pytest.fixture
def alice() -> Client:
    return signed_in("alice")


@pytest.fixture
def request_id(alice: Client) -> str:
    return str(import_(alice, encode_json(FRAMES, {"title": TITLE})).json()["requests"][0]["id"])


def share(client: Client, request_id: str, **body: Any) -> Any:
    path = f"/api/requests/{request_id}/shares"
    return client.post(path, {"expires_in_s": 3600, "is_redacted": False} | body, content_type="application/json")


def test_a_link_shows_the_trace_to_anybody_and_nothing_else(alice: Client, request_id: str) -> None:
    made = share(alice, request_id)
    assert made.status_code == 201
    token = made.json()["path"].removeprefix("/shared/")
    assert len(token) >= 43
    assert token not in str(list(Share.objects.values()))
    stranger = Client()
    page = stranger.get(made.json()["path"])
    assert page.status_code == 200
    shown = json.loads(page.content.decode().split('id="trace">')[1].split("</script>")[0])
    assert (shown["title"], shown["shared"]["is_redacted"]) == (TITLE, False)
    assert SECRET in json.dumps(shown["frames"], ensure_ascii=False)
    assert page["Cache-Control"] == "private, no-store"
    assert "noindex" in page["X-Robots-Tag"]
    assert page["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert "connect-src" not in page["Content-Security-Policy"]
    assert not stranger.cookies
    for path in (
        f"/api/requests/{request_id}",
        f"/api/requests/{request_id}/export",
        f"/api/requests/{request_id}/events",
        "/api/shares",
        "/api/requests",
    ):
        assert stranger.get(path).status_code in (401, 404), path
    assert stranger.post(made.json()["path"]).status_code == 405
    zipped = stranger.get(made.json()["path"], headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(zipped.content) == page.content


def test_what_is_redacted_is_nowhere_in_the_answer(alice: Client, request_id: str) -> None:
    page = Client().get(share(alice, request_id, is_redacted=True).json()["path"])
    whole = str(page.headers) + page.content.decode()
    for secret in (SECRET, "é", TITLE, json.dumps(SECRET)[1:-1]):
        assert secret not in whole
    assert '"is_redacted":true' in whole


def test_a_link_ends_by_time_by_hand_and_with_its_trace_or_owner(alice: Client, request_id: str) -> None:
    paths = [share(alice, request_id).json() for _ in range(2)]
    assert alice.delete(f"/api/shares/{paths[0]['id']}").status_code == 204
    gone = Client().get(paths[0]["path"])
    unknown = Client().get("/shared/never-was")
    Share.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    expired = Client().get(paths[1]["path"])
    for page in (gone, unknown, expired):
        assert page.status_code == 404
        assert "expire" in page.content.decode()
        assert page["Cache-Control"] == "private, no-store"
        assert page.content == gone.content
    assert alice.get("/api/shares").json()["shares"] == []
    keep_up()
    assert not Share.objects.exists()

    third = share(alice, request_id).json()["path"]
    User.objects.filter(username="alice").update(is_active=False)
    assert Client().get(third).status_code == 404
    User.objects.update(is_active=True)
    assert Client().get(third).status_code == 200
    assert alice.delete(f"/api/requests/{request_id}").status_code == 204
    assert Client().get(third).status_code == 404


def test_links_are_listed_for_their_owner_alone_and_without_their_tokens(alice: Client, request_id: str) -> None:
    bob = signed_in("bob")
    made = share(alice, request_id).json()
    (listed,) = alice.get("/api/shares").json()["shares"]
    assert listed == {name: value for name, value in made.items() if name != "path"}
    assert alice.get(f"/api/requests/{request_id}/shares").json()["shares"] == [listed]
    assert bob.get("/api/shares").json()["shares"] == []
    assert bob.get(f"/api/requests/{request_id}/shares").status_code == 404
    assert share(bob, request_id).status_code == 404
    assert bob.delete(f"/api/shares/{made['id']}").status_code == 404
    assert share(Client(), request_id).status_code == 401
    assert Share.objects.count() == 1


@pytest.mark.parametrize("seconds", [0, -5, 299, 366 * 86_400, 10**30, 1.5, "a day", None])
def test_an_expiry_that_cannot_be_is_explained(alice: Client, request_id: str, seconds: object) -> None:
    answer = share(alice, request_id, expires_in_s=seconds)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "expires_in_s")


def test_whether_texts_go_along_has_to_be_said(alice: Client, request_id: str) -> None:
    path = f"/api/requests/{request_id}/shares"
    answer = alice.post(path, {"expires_in_s": 3600}, content_type="application/json")
    assert (answer.status_code, Share.objects.count()) == (400, 0)
    assert "is_redacted" in answer.json()["error"]["message"]


def test_there_are_not_too_many_links_to_one_trace(alice: Client, request_id: str) -> None:
    for _ in range(sharing.MAX_SHARES):
        assert share(alice, request_id).status_code == 201
    assert share(alice, request_id).json()["error"]["code"] == "too_many"


def test_files_can_be_redacted_too(alice: Client, request_id: str) -> None:
    answer = alice.get(f"/api/requests/{request_id}/export?format=json&redact=true")
    assert answer["Content-Disposition"].endswith('-redacted.json"')
    assert SECRET not in answer.content.decode()
    assert TITLE not in answer.content.decode()
    assert alice.get(f"/api/requests/{request_id}/export?redact=maybe").json()["error"]["field"] == "redact"


def test_a_damaged_trace_is_not_shown(alice: Client, request_id: str) -> None:
    path = share(alice, request_id).json()["path"]
    Trace.objects.update(blob=b"damaged")
    assert Client().get(path).status_code == 409


def test_what_hangs_on_a_trace_goes_with_it(alice: Client, request_id: str) -> None:
    share(alice, request_id)
    alice.delete(f"/api/requests/{request_id}")
    assert not (Request.objects.exists() or Entry.objects.exists() or Share.objects.exists())
