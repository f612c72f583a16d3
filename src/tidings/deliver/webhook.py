"""The webhook channel: sends each message as the body of an HTTP POST, signed according to Standard Webhooks.

The id is that of the message and the same in every attempt; the timestamp is that of the attempt.

- 2xx: it arrived.  410: the endpoint wants no more messages.  Everything else is tried again later.
- ``Retry-After`` is obeyed where the status is 429 or 503.
- What the receiver says is kept without control characters, cut, and without the tokens of the URL.
- Redirects are not followed: the message goes to the URL that the secret belongs to, or nowhere.
- The host must be public, or in a network that is allowed; the connection is made to an address that was checked
  (:mod:`tidings.deliver.address`).
- An attempt ends after ``timeout`` seconds, however slowly the receiver answers.  Only resolving the name has the
  system's limits.

``http.client`` is enough for all of this: it follows no redirects, uses no proxy, and lets us make the connection.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse

from tidings.clock import micros
from tidings.deliver.address import IPNetwork, is_allowed, resolve
from tidings.deliver.attempts import Attempt, Attempts
from tidings.deliver.channel import Arrived, Ended, Failed, Refused, SendOutcome
from tidings.deliver.signature import key, signed
from tidings.masking import without_secrets
from tidings.retry_policy import SECOND
from tidings.store.rules.messages import Message
from tidings.targets import Url, read_url

_AGENT = "Tidings"
_OVERLOADED = (429, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Webhook:
    """Sends messages to URLs, each signed with the secrets of its URL or with those for all."""

    secrets: Sequence[str] = field(default=(), repr=False)
    secrets_of: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    allow: Sequence[IPNetwork] = ()
    """Networks that may be reached although they are not public."""
    timeout: float = 15.0
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)
    resolve: Callable[[str, int], list[str]] = resolve
    attempts: Attempts = field(default_factory=Attempts, repr=False)
    is_instant: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        for secret in [*self.secrets, *(s for secrets in self.secrets_of.values() for s in secrets)]:
            key(secret)

    def send(self, message: Message, now: int) -> SendOutcome:
        try:
            url = read_url(message.target)
        except ValueError as error:
            return Refused(str(error))
        secrets = self.secrets_of.get(message.target, self.secrets)
        if not secrets:
            return Failed("there is no secret to sign with for this target")
        try:
            addresses = self.resolve(url.host, url.port)
        except OSError as error:
            return Failed(f"{url.host} could not be resolved: {error}", unreachable=True)
        allowed = [a for a in addresses if is_allowed(a, self.allow)]
        if not allowed:
            return Refused(f"{url.host} is not at a public address: {', '.join(addresses)}")
        body = message.payload.encode()
        headers = signed(secrets, message.id, now // SECOND, body)
        try:
            status, reason, retry_after = self._post(url, allowed, headers, body)
        except (OSError, HTTPException) as error:
            reason = without_secrets(str(error), message.target) or type(error).__name__
            return Failed(f"{url.host}: {reason}", unreachable=True)
        return _outcome(status, without_secrets(reason, message.target), retry_after, now)

    def _post(
        self, url: Url, addresses: list[str], headers: dict[str, str], body: bytes
    ) -> tuple[int, str, str | None]:
        """Send a request; the status of the answer, its reason, and its ``Retry-After``."""
        plain = {"content-type": "application/json", "user-agent": _AGENT}
        with (
            self.attempts.within(self.timeout) as attempt,
            closing(_WebhookConnection(url, addresses, attempt, self.tls if url.is_secure else None)) as connection,
        ):
            connection.request("POST", url.path, body, plain | headers)
            answer: HTTPResponse = connection.getresponse()
            with answer:
                return answer.status, answer.reason, answer.headers.get("Retry-After")
        raise AssertionError("what is ended from outside is a TimeoutError")


class _WebhookConnection(HTTPConnection):
    """A connection to one of the addresses that were checked, and to no other."""

    def __init__(self, url: Url, addresses: list[str], attempt: Attempt, tls: ssl.SSLContext | None) -> None:
        super().__init__(url.host, url.port)
        self.default_port = 80 if tls is None else 443
        self._addresses, self._tls, self._attempt = addresses, tls, attempt

    def connect(self) -> None:
        self.sock = self._attempt.connect(self._addresses, self.port)
        if self._tls is not None:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=self.host)


def _outcome(status: int, reason: str, retry_after: str | None, now: int) -> SendOutcome:
    status_line = f"{status} {reason}".strip()
    if 200 <= status < 300:
        return Arrived()
    if status == 410:
        return Ended(status_line)
    if 300 <= status < 400:
        return Failed(f"{status_line}; redirects are not followed")
    not_before = _instant(retry_after, now) if status in (429, 503) and retry_after is not None else None
    return Failed(status_line, not_before, unreachable=status in _OVERLOADED)


def _instant(retry_after: str, now: int) -> int | None:
    """The instant of a ``Retry-After``: after some seconds, or at a date; None if it is neither."""
    if retry_after.strip().isdecimal():
        return now + int(retry_after) * SECOND
    try:
        return micros(parsedate_to_datetime(retry_after))
    except ValueError:
        return None
