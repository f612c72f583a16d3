"""Which addresses a webhook may be sent to."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from tidings.deliver.address import is_allowed


@pytest.mark.parametrize(
    ("address", "is_public"),
    [
        ("8.8.8.8", True),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("2606:4700::1", True),
        ("::1", False),
        ("fe80::1", False),
        ("::ffff:8.8.8.8", True),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses(address: str, is_public: bool) -> None:
    assert is_allowed(address) == is_public


def test_networks_that_are_allowed_all_the_same() -> None:
    allow = [ip_network("10.0.0.0/8")]
    assert is_allowed("10.1.2.3", allow)
    assert is_allowed("::ffff:10.1.2.3", allow)
    assert not is_allowed("127.0.0.1", allow)
