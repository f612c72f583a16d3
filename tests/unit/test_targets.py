"""URLs of webhooks and addresses of mails."""

from __future__ import annotations

import pytest

from tidings.targets import Url, masked_url, read_address, read_url, without_secrets


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


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com", "https://example.com"),
        ("https://example.com:8443/hooks/v1/low-stock", "https://example.com:8443/hooks/v1/low-stock"),
        ("https://ann:pw@example.com/", "https://***@example.com/"),
        ("https://example.com/api/webhooks/1234567890/AbC", "https://example.com/api/webhooks/***/***"),
        ("https://example.com/hook?x=1#y", "https://example.com/hook?***#***"),
        ("https://[::1]:80/a", "https://[::1]:80/a"),
        ("https://[::1/a", "***"),
        ("nonsense", "***"),
    ],
)
def test_urls_are_shown_without_their_tokens(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_a_text_that_repeats_a_token_in_any_spelling() -> None:
    url = "https://example.com/hook/a%2Fb9Z?key=s3cr3t"
    assert without_secrets("POST /hook/a%2Fb9Z?key=s3cr3t a/b9Z s3cr3t", url) == "POST /hook/***?*** *** ***"
