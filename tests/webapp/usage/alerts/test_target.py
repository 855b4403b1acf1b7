"""A webhook goes to public addresses only, and to the one that was checked."""

from __future__ import annotations

import pytest

from webapp.environment import read_environment
from webapp.usage.alerts.target import BadTarget, check_target, check_url


@pytest.mark.parametrize(
    "ip",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
        "ff0e::1",
        "fec0::1",
        "64:ff9b:1::a00:1",
        "64:ff9b:1:ffff::1",
        "::7f00:1",
        "::808:808",
        "192.0.0.9",
        "192.0.0.170",
        "::ffff:192.0.0.9",
        "64:ff9b::c000:9",
        "5f00::1",
    ],
)
def test_an_address_that_is_not_public_is_refused(ip: str) -> None:
    with pytest.raises(BadTarget, match="not a public address"):
        check_target("https://hooks.example.org/x", [], lambda *_: [ip])
    with pytest.raises(BadTarget, match="not a public address"):
        check_target("https://hooks.example.org/x", [], lambda *_: ["93.184.216.34", ip])


@pytest.mark.parametrize("ip", ["93.184.216.34", "2606:4700::6810:84e5", "64:ff9b::5db8:d822", "2002:5db8:d822::1"])
def test_a_public_address_is_taken(ip: str) -> None:
    assert check_target("https://hooks.example.org/x", [], lambda *_: [ip]).ip == ip


def test_the_target_holds_the_address_that_was_checked() -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    target = check_target("https://hooks.example.org/x", [], lambda *_: next(answers))
    assert (target.host, target.port, target.ip) == ("hooks.example.org", 443, "93.184.216.34")


def test_an_internal_host_is_allowed_by_its_exact_name() -> None:
    assert check_target("http://chat.internal:8065/x", ["chat.internal"], lambda *_: ["10.0.0.7"]).ip == "10.0.0.7"
    with pytest.raises(BadTarget):
        check_target("http://other.chat.internal/x", ["chat.internal"], lambda *_: ["10.0.0.7"])


def test_an_internal_host_is_the_same_in_other_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTGLASS_WEBHOOK_HOSTS", "Chat.Internal, ,Hooks.INTERNAL")
    allowed = read_environment().webhook_hosts
    assert check_target("http://CHAT.internal:8065/x", allowed, lambda *_: ["10.0.0.7"]).ip == "10.0.0.7"
    assert check_target("http://hooks.internal/x", allowed, lambda *_: ["10.0.0.7"]).ip == "10.0.0.7"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://example.org",
        "https://",
        "https://user:password@example.org/",
        "https://example.org:99999/",
        "https://example.org/a b",
        "https://example.org/\r\nx: y",
        "https://exämple.org/",
        "javascript:alert(1)",
    ],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadTarget):
        check_url(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://localhost/"])
def test_spellings_of_this_machine_are_refused(url: str) -> None:
    with pytest.raises(BadTarget):
        check_target(url, [])
