"""Which addresses a webhook may be sent to: decided by lists, and nothing is ever sent here."""

from __future__ import annotations

import ipaddress
from ipaddress import ip_network

import pytest

from tidings.deliver.address import is_allowed

METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::a9fe:a9fe",
]
"""Where clouds tell a machine its credentials."""

INNER = [
    *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fdff::1", "ff02::1"),
    *("64:ff9b:1::a00:1", "100::1", "5f00::1", "4000::1"),
    *("2001::1", "2001:0:102:304::1", "2001:2::1", "2001:20::1", "2001:db8::1", "3fff::1", "3ffe::1"),
]

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "168.63.129.17", "172.32.0.1"]
PUBLIC_V6 = ["2606:4700::1", "2a00:1450:4001::1", "2001:4860:4860::8888"]


@pytest.mark.parametrize("address", METADATA + INNER)
def test_inner_addresses_are_refused(address: str) -> None:
    assert not is_allowed(address)


@pytest.mark.parametrize("address", PUBLIC + PUBLIC_V6)
def test_public_addresses_are_not(address: str) -> None:
    assert is_allowed(address)


@pytest.mark.parametrize("address", [a for a in METADATA + INNER if "." in a])
@pytest.mark.parametrize(
    "form", ["::ffff:{}", "64:ff9b::{}", "::{}", "::ffff:0:{}", "2606:4700::5efe:{}", "2606:4700::200:5efe:{}"]
)
def test_no_notation_hides_an_inner_address(form: str, address: str) -> None:
    assert not is_allowed(form.format(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_tunnels_lead_nowhere(address: str) -> None:
    number = int(ipaddress.IPv4Address(address))
    assert not is_allowed(f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1")
    assert is_allowed(f"::ffff:{address}")
    assert is_allowed(f"64:ff9b::{address}")


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "0x7f000001", "8.8.8.8/32", "127.1", "2130706433"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert not is_allowed(text)


def test_the_library_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        monkeypatch.setattr(kind, "is_global", True)
        for judgement in ("is_private", "is_reserved", "is_link_local", "is_loopback", "is_multicast"):
            monkeypatch.setattr(kind, judgement, False)
    assert not any(map(is_allowed, METADATA + INNER))
    assert all(map(is_allowed, PUBLIC + PUBLIC_V6))


def test_networks_that_are_allowed_all_the_same() -> None:
    allow = [ip_network("10.0.0.0/8"), ip_network("fd00:1::/32")]
    assert is_allowed("10.1.2.3", allow)
    assert is_allowed("::ffff:10.1.2.3", allow)
    assert is_allowed("fd00:1::7", allow)
    assert not is_allowed("127.0.0.1", allow)
    assert not is_allowed("fd00:2::7", allow)
