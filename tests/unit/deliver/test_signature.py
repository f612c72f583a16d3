"""Signatures of Standard Webhooks."""

from __future__ import annotations

import base64

import pytest

from tidings.deliver.signature import InvalidSecret, key, new_secret, signed, verifies


def test_one_of_several_secrets_is_enough() -> None:
    old, new = new_secret(), new_secret()
    headers = signed([old, new], "msg_1", 1000, b"{}")
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert verifies(old, headers, b"{}", 1000)
    assert verifies(new, headers, b"{}", 1000)
    assert not verifies(new_secret(), headers, b"{}", 1000)


def test_body_id_and_time_are_signed() -> None:
    secret = new_secret()
    headers = signed([secret], "msg_1", 1000, b"{}")
    assert verifies(secret, {name.upper(): value for name, value in headers.items()}, b"{}", 1300)
    assert not verifies(secret, headers, b"{} ", 1000)
    assert not verifies(secret, headers | {"webhook-id": "msg_2"}, b"{}", 1000)
    assert not verifies(secret, headers | {"webhook-timestamp": "1001"}, b"{}", 1000)
    assert not verifies(secret, headers, b"{}", 1301)
    assert not verifies(secret, {}, b"{}", 1000)


@pytest.mark.parametrize(
    "secret", ["secret", "whsec_not base64", "whsec_" + base64.b64encode(b"short").decode(), "whsec_" + "A" * 100]
)
def test_secrets_that_are_none(secret: str) -> None:
    with pytest.raises(InvalidSecret):
        key(secret)
