"""The client's address is read from each form in which a proxy writes it."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from webapp.identity.accounts.address import client_address, network_of, plain_address

PORTS = st.integers(0, 65_535)


@given(st.ip_addresses(v=4), PORTS)
def test_an_ipv4_address_is_read_with_and_without_a_port(address: ipaddress.IPv4Address, port: int) -> None:
    for written in (f"{address}", f"{address}:{port}", f" {address}:{port}\t"):
        assert plain_address(written) == str(address)


@given(st.ip_addresses(v=6), PORTS)
def test_an_ipv6_address_is_read_with_and_without_brackets_and_port(address: ipaddress.IPv6Address, port: int) -> None:
    expected = str(address.ipv4_mapped or address)
    for written in (f"{address}", f"[{address}]", f"[{address}]:{port}", f"{address.exploded}", f"{address}".upper()):
        assert plain_address(written) == expected


@given(st.text(max_size=80))
def test_any_other_text_is_read_without_an_error_and_only_once(text: str) -> None:
    once = plain_address(text)
    assert plain_address(once) == once
    assert isinstance(network_of(once), str)


@pytest.mark.parametrize(
    "text", ["", "unknown", "_hidden", "_hidden:8080", "[::1", "::1]", "1.2.3.4:", "1.2.3.4:a", "[]:1"]
)
def test_what_is_no_address_stays_as_it_is_written(text: str) -> None:
    assert plain_address(text) == text


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.5", "203.0.113.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_a_sign_in_keeps_the_network_alone(address: str, network: str) -> None:
    assert network_of(address) == network


@given(st.ip_addresses())
def test_a_network_holds_its_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert ipaddress.ip_address(plain_address(str(address))) in ipaddress.ip_network(network_of(str(address)))


def test_only_the_proxys_own_entry_is_believed(settings: LazySettings) -> None:
    def found(**headers: Any) -> str:
        return client_address(RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", **headers))

    assert found(HTTP_X_FORWARDED_FOR="203.0.113.5:1") == "192.0.2.1"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, public_url="https://chat.example.org")
    assert found(HTTP_X_FORWARDED_FOR="198.51.100.7, [2001:db8::1]:443") == "2001:db8::1"
    assert found() == "192.0.2.1"
