"""What counts as a public address, at both ends of each special network, under every Python."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.addresses import is_public

NOT_PUBLIC = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::/96",  # IPv4-compatible
    "::ffff:0:0:0/96",  # IPv4-translated
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/32",  # Teredo
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "3fff::/20",
    "4000::/3",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
PUBLIC = [
    "1.0.0.0/8",
    "11.0.0.0/8",
    "100.128.0.0/10",
    "172.32.0.0/12",
    "192.0.1.0/24",
    "192.31.196.0/24",
    "192.88.98.0/24",
    "198.20.0.0/14",
    "203.0.112.0/24",
    "223.0.0.0/8",
    "2001:200::/23",
    "2001:db9::/32",
    "2003::/16",
    "2606:4700::/32",
    "2620:4f:8000::/48",
    "3ffe::/16",
    "3fff:1000::/20",
]


def ends_of(network: str) -> tuple[str, str]:
    found = ip_network(network)
    return str(found[0]), str(found[-1])


@pytest.mark.parametrize("network", NOT_PUBLIC)
def test_a_special_network_is_not_public_up_to_its_ends(network: str) -> None:
    assert [is_public(each) for each in ends_of(network)] == [False, False]


@pytest.mark.parametrize("network", PUBLIC)
def test_another_network_is_public_up_to_its_ends(network: str) -> None:
    assert [is_public(each) for each in ends_of(network)] == [True, True]


ENDS = [IPv4Address(end) for network in NOT_PUBLIC + PUBLIC if ":" not in network for end in ends_of(network)]


@given(st.ip_addresses(v=4) | st.sampled_from(ENDS))
def test_an_address_of_ipv4_is_judged_alike_in_every_form_of_ipv6(address: IPv4Address) -> None:
    number = int(address)
    mapped, nat64 = IPv6Address(0xFFFF << 32 | number), IPv6Address(0x64FF9B << 96 | number)
    to4 = IPv6Address(0x2002 << 112 | number << 80 | 1)
    assert {is_public(str(each)) for each in (mapped, nat64, to4)} == {is_public(str(address))}


@pytest.mark.parametrize("address", ["fe80::1%eth0", "2001:db8::1%1"])
def test_the_zone_of_an_address_changes_nothing(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("text", ["", "host", "1.2.3", "::g", "010.0.0.1"])
def test_a_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear"):
        is_public(text)
