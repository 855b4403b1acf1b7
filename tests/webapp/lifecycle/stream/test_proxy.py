"""A site behind a TLS proxy, with such a proxy's headers, which count only where a proxy is configured."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.webapp.lifecycle.stream.conftest import Site
from webapp import environment

pytestmark = pytest.mark.slow

PUBLIC = "https://chat.example.org"
FORWARDED = {"Host": "chat.example.org", "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def behind(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(tmp_path_factory.mktemp("site"), redis_url, SIGHTGLASS_PUBLIC_URL=f"{PUBLIC}/")
    yield running
    running.close()


@pytest.fixture(scope="module")
def proxied(behind: Site) -> Iterator[dict[str, str]]:
    """The headers of a browser that has signed in through the proxy."""
    link = behind.manage("signin_link").strip()
    assert link.startswith(f"{PUBLIC}/signin/")
    cookies = cookies_of(pressed(behind, urlsplit(link).path))
    assert set(cookies) == {"__Host-sessionid", "__Host-csrftoken"}
    yield FORWARDED | {
        "Cookie": "; ".join(f"{name}={value.partition(';')[0]}" for name, value in cookies.items()),
        "X-CSRFToken": cookies["__Host-csrftoken"].partition(";")[0],
    }


def pressed(site: Site, path: str) -> httpx.Response:
    """The answer to the button of a sign-in link, through the proxy."""
    address = f"http://{site.host}{path}"
    cookies = cookies_of(httpx.get(address, headers=FORWARDED))
    token = cookies["__Host-csrftoken"].partition(";")[0]
    own = {"Cookie": f"__Host-csrftoken={token}", "X-CSRFToken": token, "Origin": PUBLIC}
    return httpx.post(address, headers=FORWARDED | own)


def cookies_of(response: httpx.Response) -> dict[str, str]:
    """Values with their attributes, by name."""
    return dict(cookie.split("=", 1) for cookie in response.headers.get_list("set-cookie"))


def create(site: Site, headers: dict[str, str], **more: str) -> int:
    return httpx.post(f"http://{site.host}/api/conversations", json={}, headers=headers | more).status_code


def test_cookies_go_over_tls_alone(behind: Site, proxied: dict[str, str]) -> None:
    link = urlsplit(behind.manage("signin_link").strip()).path
    cookies = cookies_of(pressed(behind, link))
    assert cookies and all("; Secure" in cookie for cookie in cookies.values())
    assert all("; Path=/" in cookie and "Domain" not in cookie for cookie in cookies.values())


def test_browsers_keep_to_tls_for_a_year(behind: Site) -> None:
    answer = httpx.get(f"http://{behind.host}/accounts/login/", headers=FORWARDED)
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    plain = httpx.get(f"http://{behind.host}/accounts/login/", headers=FORWARDED | {"X-Forwarded-Proto": "http"})
    assert (plain.status_code, plain.headers["Location"]) == (301, f"{PUBLIC}/accounts/login/")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"Origin": PUBLIC}, 201),
        ({"Referer": f"{PUBLIC}/c/1"}, 201),
        ({"Origin": PUBLIC, "Host": "127.0.0.1"}, 201),  # a proxy that does not pass the host on
        ({"Origin": "http://chat.example.org"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Referer": "https://evil.example/"}, 403),
        ({"Referer": "http://chat.example.org/"}, 403),
        ({}, 403),  # over TLS a form says where it comes from
        ({"Origin": PUBLIC, "Host": "evil.example"}, 400),
    ],
)
def test_a_form_is_taken_from_the_public_address_only(
    behind: Site, proxied: dict[str, str], more: dict[str, str], status: int
) -> None:
    assert create(behind, proxied, **more) == status


def socket_status(site: Site, headers: dict[str, str], origin: Any) -> int:
    host = headers.get("Host", site.host)
    given = {name: value for name, value in headers.items() if name in ("Cookie", "X-Forwarded-Proto")}
    # The library writes the Host itself, from the address; the connection goes to the site all the same.
    address, _, port = site.host.partition(":")
    line = socket.create_connection((address, int(port)))
    try:
        with connect(f"ws://{host}/events", sock=line, origin=origin, additional_headers=given):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


@pytest.mark.parametrize(
    ("origin", "status"),
    [(PUBLIC, 101), ("http://chat.example.org", 403), ("https://evil.example", 403), ("null", 403), (None, 403)],
)
def test_a_websocket_is_opened_from_the_public_address_only(
    behind: Site, proxied: dict[str, str], origin: Any, status: int
) -> None:
    assert socket_status(behind, proxied, origin) == status
    assert socket_status(behind, proxied | {"Host": behind.host}, origin) == status


def test_the_site_itself_is_still_asked_whether_it_is_well(behind: Site) -> None:
    assert httpx.get(f"http://{behind.host}/healthz").status_code == 200


def test_without_the_setting_nobody_s_word_for_tls_is_taken(site: Site) -> None:
    link = site.manage("signin_link").strip()
    assert link.startswith("http://127.0.0.1:")
    cookies = cookies_of(httpx.get(link, headers={"X-Forwarded-Proto": "https"}))
    assert cookies and not any("Secure" in cookie for cookie in cookies.values())
    headers = {"Cookie": site.cookie, "X-CSRFToken": site.client.headers["X-CSRFToken"], "X-Forwarded-Proto": "https"}
    assert create(site, headers, Origin=f"https://{site.host}") == 403
    assert create(site, headers, Origin=PUBLIC) == 403
    assert create(site, headers, Origin=f"http://{site.host}") == 201
    assert create(site, headers, Host="chat.example.org") == 400
    assert socket_status(site, headers, PUBLIC) == 403
    assert socket_status(site, headers, f"http://{site.host}") == 101


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://Chat.Example.org/", PUBLIC),
        ("https://chat.example.org:443", PUBLIC),
        ("https://chat.example.org:8443", f"{PUBLIC}:8443"),
        ("", None),
    ],
)
def test_the_address_is_kept_as_browsers_spell_an_origin(
    monkeypatch: pytest.MonkeyPatch, given: str, kept: str | None
) -> None:
    monkeypatch.setenv("SIGHTGLASS_PUBLIC_URL", given)
    found = environment.read_environment()
    assert found.public_url == kept
    assert ("chat.example.org" in found.allowed_hosts) == (kept is not None)


@pytest.mark.parametrize(
    "wrong",
    [
        "chat.example.org",
        "http://chat.example.org",
        "https://",
        "https://a/b",
        "https://u@a",
        "https://a:x",
        "https://a:70000",
        "https://*",
    ],
)
def test_another_form_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("SIGHTGLASS_PUBLIC_URL", wrong)
    with pytest.raises(SystemExit, match="SIGHTGLASS_PUBLIC_URL has the form https://"):
        environment.read_environment()
