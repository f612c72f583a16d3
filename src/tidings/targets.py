"""Where messages go: the URLs of webhooks and the addresses of mails, as texts.

They are read when a rule is created, so that one that is none is refused, and again when a message is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from urllib.parse import quote, urlsplit


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL that a request needs."""

    is_secure: bool
    host: str
    port: int
    path: str


def read_url(text: str) -> Url:
    """Read the URL of a webhook, or raise a ValueError that says what is wrong with it.

    >>> read_url("https://example.com/hook?x=1#top")
    Url(is_secure=True, host='example.com', port=443, path='/hook?x=1')
    """
    if any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError("the URL has spaces or control characters in it")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https"):
        raise ValueError("the URL does not begin with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL has a user or a password in it")
    if not parts.hostname:
        raise ValueError("the URL names no host")
    is_secure = parts.scheme == "https"
    host = parts.hostname if ":" in parts.hostname else parts.hostname.encode("idna").decode()
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe="/%:@!$&'()*+,;=-._~?")
    port = (443 if is_secure else 80) if parts.port is None else parts.port
    return Url(is_secure, host, port, path)


def read_address(text: str) -> Address:
    """Read the address of a mail, or raise a ValueError that says what is wrong with it.

    >>> read_address("ann@example.com").domain
    'example.com'
    """
    if "=?" in text or not text.isprintable():
        raise ValueError("it is no address: it has an encoded word or a control character in it")
    try:
        address = Address(addr_spec=text)
    except (ValueError, IndexError, MessageError) as error:
        raise ValueError(f"it is no address: {error}") from None
    if not address.username or not address.domain:
        raise ValueError("an address has a name, an @ and a domain")
    return address


_HEADER_LENGTH = 200
"""Characters of a text that becomes part of a header."""


def header_text(text: str) -> str:
    """A text as part of one header: on one line, and with nothing that a mail program takes for encoded words.

    >>> header_text("a\\r\\nBcc: b"), header_text("=?utf-8?q?x?=")
    ('a Bcc: b', '= ?utf-8?q?x? =')
    """
    plain = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(plain.split()).replace("=?", "= ?").replace("?=", "? =")[:_HEADER_LENGTH]
