"""Signatures of Standard Webhooks: who has the secret can verify that a message is authentic, complete and recent.

``id.timestamp.body`` is signed with HMAC-SHA256 and the bytes of the secret behind ``whsec_``.  A message may carry
several signatures, separated by spaces, so that a secret can be replaced without a gap.

See https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence

from tidings.errors import TidingsError

PREFIX = "whsec_"
SIZES = range(24, 65)
"""How many bytes a secret may have."""


class InvalidSecret(TidingsError):
    """The secret of a webhook is not one: {reason}"""

    hint_template = "a secret is whsec_ and 24 to 64 bytes in base64; tidings.deliver.signature.new_secret() makes one"


def new_secret() -> str:
    """A new random secret.

    >>> len(key(new_secret()))
    32
    """
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key(secret: str) -> bytes:
    """The bytes of a secret."""
    if not secret.startswith(PREFIX):
        raise InvalidSecret(reason="it does not begin with whsec_")
    try:
        decoded = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise InvalidSecret(reason="what follows whsec_ is not base64") from None
    if len(decoded) not in SIZES:
        raise InvalidSecret(reason=f"it has {len(decoded)} bytes")
    return decoded


def signed(secrets: Sequence[str], id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of a message: its id, the time of the attempt in seconds, and a signature per secret.

    The example of the specification's test suite:

    >>> secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    >>> signed([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')["webhook-signature"]
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    signatures = [_signature(key(secret), id, timestamp, body) for secret in secrets]
    return {"webhook-id": id, "webhook-timestamp": str(timestamp), "webhook-signature": " ".join(signatures)}


def verifies(secret: str, headers: Mapping[str, str], body: bytes, now: int, tolerance: int = 300) -> bool:
    """Whether a message is signed with a secret and, by a clock in seconds, no more than ``tolerance`` off.

    >>> secret = new_secret()
    >>> headers = signed([secret], "msg_1", 1000, b"{}")
    >>> verifies(secret, headers, b"{}", 1001), verifies(secret, headers, b"[]", 1001)
    (True, False)
    """
    values = {name.lower(): value for name, value in headers.items()}
    try:
        id, signatures = values["webhook-id"], values["webhook-signature"]
        timestamp = int(values["webhook-timestamp"])
    except (KeyError, ValueError):
        return False
    if abs(now - timestamp) > tolerance:
        return False
    expected = _signature(key(secret), id, timestamp, body).encode()
    return any(hmac.compare_digest(expected, signature.encode()) for signature in signatures.split(" "))


def _signature(key: bytes, id: str, timestamp: int, body: bytes) -> str:
    content = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
