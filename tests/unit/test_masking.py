"""What is shown of texts that may hold secrets."""

from __future__ import annotations

import pytest

from tidings.masking import covered, masked_url, without_secrets


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("WEBHOOK 'https://h.test/in/B7xKq0' WITH (a = 1)", "WEBHOOK 'https://h.test/in/******' WITH (a = 1)"),
        ("'https://h.test/a''B7/Zr8' and 'b'", "'https://h.test/*****/***' and 'b'"),
        ("https://h.test?token=abc'", "https://h.test?*********'"),
        ("HTTPS://me:pw@h.test/#Zr8", "HTTPS://**:**@h.test/#***"),
        ("postgresql+psycopg://shop:hunter2@db.test/Shop?x=1", "postgresql+psycopg://shop:*******@db.test/Shop?***"),
        ("s3a://shops/berlin/base/4/9f3E.parquet is gone", "s3a://shops/berlin/base/4/9f3E.parquet is gone"),
        ("no address: a//b, c:d", "no address: a//b, c:d"),
    ],
)
def test_secrets_in_urls_are_covered_and_texts_keep_their_length(text: str, shown: str) -> None:
    assert covered(text) == shown
    assert len(shown) == len(text)
