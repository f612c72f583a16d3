"""Which addresses a webhook may be sent to."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from tidings.deliver.address import Url, is_allowed, read_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.com", Url(False, "example.com", 80, "/")),
        ("https://example.com:8443/a b?x=ü".replace(" ", "%20"), Url(True, "example.com", 8443, "/a%20b?x=%C3%BC")),
        ("https://bücher.example/", Url(True, "xn--bcher-kva.example", 443, "/")),
        ("http://[2606:4700::1]/x", Url(False, "2606:4700::1", 80, "/x")),
    ],
)
def test_urls(text: str, url: Url) -> None:
    assert read_url(text) == url


@pytest.mark.parametrize(
    "text",
    ["ftp://example.com", "https://", "https://me:secret@example.com/", "https://example.com/a b", "https://e\n"],
)
def test_urls_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the URL"):
        read_url(text)


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
