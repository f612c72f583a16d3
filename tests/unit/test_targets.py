"""URLs of webhooks and addresses of mails."""

from __future__ import annotations

import pytest

from tidings.targets import Url, read_address, read_url


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


@pytest.mark.parametrize("text", ["ann@example.com", "ann+low@mail.example.com", '"a b"@example.com'])
def test_addresses(text: str) -> None:
    assert read_address(text).addr_spec == text


@pytest.mark.parametrize(
    "text", ["", "nobody", "@example.com", "ann@", "a b@example.com", "mailto:ann@example.com", "a@b@c"]
)
def test_addresses_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        read_address(text)
