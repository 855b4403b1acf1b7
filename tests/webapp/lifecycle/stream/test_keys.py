"""A program's key over real sockets: streams end with it, bodies are bounded by it, and no log line has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest

from tests.webapp.lifecycle.stream.conftest import Site
from tests.webapp.lifecycle.stream.test_arrival import MIB, SENT, answer_of, connection_to
from tests.webapp.lifecycle.stream.test_sign_out import written_on

pytestmark = pytest.mark.slow

_KEYS = "from django.utils import timezone; from webapp.identity.keys.models import ApiKey; ApiKey.objects.update({})"
_ACCOUNT = "from django.contrib.auth.models import User; User.objects.filter(username='dora').update(is_active={})"
MOST_S = 5.0
"""Longest time from an end to the stream's, on a busy machine. A look takes a second."""


def revoke(site: Site) -> None:
    site.manage("shell", "--no-imports", "-c", _KEYS.format("revoked_at=timezone.now()"))


def expire(site: Site) -> None:
    site.manage("shell", "--no-imports", "-c", _KEYS.format("expires_at=timezone.now()"))


def close_account(site: Site) -> None:
    site.manage("shell", "--no-imports", "-c", _ACCOUNT.format(False))


def new_key(site: Site) -> str:
    return site.manage("create_key", "dora", "--name", "test").split()[-1]


@pytest.fixture
def secret(site: Site) -> str:
    site.manage("signin_link", "--user", "dora")
    site.manage("shell", "--no-imports", "-c", _ACCOUNT.format(True))
    site.forget_open_requests()
    return new_key(site)


@pytest.fixture
def dora(site: Site, secret: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site.client.base_url, headers={"x-api-key": secret}, timeout=60) as client:
        yield client


def request_of(client: httpx.Client) -> str:
    conversation = client.post("/api/conversations", json={}).json()["id"]
    sent = client.post(f"/api/conversations/{conversation}/messages", json={"text": "Hello"})
    assert sent.status_code == 201, sent.text
    return str(sent.json()["assistant_message"]["request_id"])


@pytest.mark.parametrize(
    ("end", "code"), [(revoke, "revoked_key"), (expire, "expired_key"), (close_account, "owner_inactive")]
)
def test_a_stream_ends_with_its_key(site: Site, dora: httpx.Client, end: Callable[[Site], None], code: str) -> None:
    request_id = request_of(dora)
    with written_on(site, request_id):
        with dora.stream("GET", f"/api/requests/{request_id}/events") as response:
            lines = response.iter_lines()
            next(lines)
            end(site)
            ended_at = time.monotonic()
            rest = list(lines)
        assert time.monotonic() - ended_at < MOST_S
        assert "event: end" not in rest  # the answer goes on
        refused = dora.get(f"/api/requests/{request_id}/events")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, code)


def test_a_stream_of_another_key_goes_on(site: Site, dora: httpx.Client, secret: str) -> None:
    request_id, other = request_of(dora), new_key(site)
    prefix = secret[:11]
    with dora.stream("GET", f"/api/requests/{request_id}/events", headers={"x-api-key": other}) as response:
        lines = response.iter_lines()
        next(lines)
        code = "from webapp.identity.keys.models import ApiKey; from webapp.identity.keys.keys import revoke; "
        site.manage("shell", "--no-imports", "-c", f"{code}revoke(ApiKey.objects.get(prefix='{prefix}'))")
        site.end(request_id)
        site.settle(request_id)
        assert "event: end" in list(lines)


def test_the_log_of_a_request_names_the_key_and_not_its_secret(site: Site, dora: httpx.Client, secret: str) -> None:
    request_id = request_of(dora)
    events = [event for frame in site.log.read(request_id) for event in frame.events]
    assert events[1].principal == f"key:{secret[:11]}"  # type: ignore[union-attr]
    assert secret[11:] not in str(events)


def test_a_body_is_bounded_by_the_key(site: Site, dora: httpx.Client) -> None:
    for path, size, status in [
        ("/api/conversations", 2 * MIB, 400),
        ("/api/conversations", 2 * MIB + 1, 413),
        ("/api/requests/import", 3 * MIB, 400),
        ("/v1/chat/completions", 2 * MIB + 1, 413),
        ("/v1/files", 32 * MIB + 1, 413),
    ]:
        assert dora.post(path, content=b"x" * size).status_code == status, (path, size)
    assert dora.post("/v1/files", content=b"x" * (32 * MIB)).status_code != 413


@pytest.mark.parametrize(
    ("path", "code"),
    [("/api/conversations", "unknown_key"), ("/v1/files", "invalid_api_key"), ("/%761/files", "unknown_key")],
)
@pytest.mark.parametrize("is_signed_in", [True, False])
def test_a_wrong_key_sends_no_large_body_whatever_its_cookie(
    site: Site, path: str, code: str, is_signed_in: bool
) -> None:
    """Each API says it in its own form."""
    headers = {"Cookie": site.cookie} if is_signed_in else {}
    headers |= {"Host": site.host, "Authorization": "Bearer sg-wrong", "Content-Length": str(SENT)}
    head = "\r\n".join([f"POST {path} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items()), "", ""])
    with closing(connection_to(site)) as connection:
        connection.sendall(head.encode())
        status, _, answer = answer_of(connection)
    assert (status, answer["error"]["code"]) == (401, code)


def test_a_cookie_alone_sends_no_large_body_below_v1(site: Site) -> None:
    assert site.client.post("/v1/files", content=b"x" * 3 * MIB).status_code == 401


def test_no_file_of_the_site_holds_a_secret(site: Site, dora: httpx.Client, secret: str) -> None:
    """Database and log: after use, after a wrong key, and after a key in an address and in a query."""
    request_of(dora)
    for path in (f"/api/{secret}", f"/api/requests/{secret}?key={secret}", f"/{secret}/x"):
        assert dora.get(path).status_code in (302, 400, 403, 404)
    dora.get("/api/conversations", headers={"x-api-key": f"{secret}x"})
    dora.get("/api/conversations", headers={"authorization": f"Bearer {secret[:-1]}"})
    revoke(site)
    dora.get("/api/conversations")
    found = [path for path in site.data.rglob("*") if path.is_file() and secret[11:].encode() in path.read_bytes()]
    assert found == []
    assert secret[:11].encode() in (site.data / "web.log").read_bytes()  # the address is named without the rest
