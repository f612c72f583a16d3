"""What is shown of texts that may hold secrets: the tokens in URLs, and what comes back from receivers."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

MASK = "***"
_PLAIN_SEGMENT = re.compile(r"(?=.{1,24}$)(v?\d{1,4}|[a-z]+([-_.][a-z]+)*)")
"""A part of a path that no one would take for a secret: a word or two, the number of a version."""

_URL = re.compile(r"""(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*)://(?P<host>(?:[^\s'"/?#]|'')*)(?P<rest>(?:[^\s'"]|'')*)""")
"""A URL in some text, as far as its quotes; a doubled quote in a text of SQL is part of it."""


def masked_url(text: str) -> str:
    """A URL to show: of the user, the query and what looks like a token in the path nothing is left.

    >>> masked_url("https://hooks.example.com/services/T024/B7xKq0/Zr8vQ?token=abc")
    'https://hooks.example.com/services/***/***/***?***'
    """
    try:
        parts = urlsplit(text)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return MASK
    if not parts.scheme or not host:
        return MASK
    user = f"{MASK}@" if "@" in parts.netloc else ""
    path = "/".join(p if not p or _PLAIN_SEGMENT.fullmatch(p) else MASK for p in parts.path.split("/"))
    ending = (f"?{MASK}" if parts.query else "") + (f"#{MASK}" if parts.fragment else "")
    return f"{parts.scheme}://{user}{host}{path}{ending}"


def covered(text: str) -> str:
    """A text of the same length in which what may be a secret in a URL is covered.

    That is the password of a user and the query of any URL, and what looks like a token in the path of one of the web.

    >>> covered("WEBHOOK 'https://hooks.test/in/Zr8vQ?key=abc'")
    "WEBHOOK 'https://hooks.test/in/*****?*******'"
    >>> covered("postgresql://shop:hunter2@db.test/shop")
    'postgresql://shop:*******@db.test/shop'
    """
    return _URL.sub(_covered_url, text) if "://" in text else text


def _covered_url(url: re.Match[str]) -> str:
    scheme, host, rest = url["scheme"], url["host"], url["rest"]
    user, at, server = host.rpartition("@")
    name, colon, password = user.partition(":")
    path, query, asked = rest.partition("?")
    if not query:
        path, query, asked = rest.partition("#")
    if scheme.lower() in ("http", "https"):
        name = "*" * len(name)
        path = "/".join(p if not p or _PLAIN_SEGMENT.fullmatch(p) else "*" * len(p) for p in path.split("/"))
    return f"{scheme}://{name}{colon}{'*' * len(password)}{at}{server}{path}{query}{'*' * len(asked)}"


def without_secrets(text: str, url: str) -> str:
    """A text in which nothing is left of what :func:`masked_url` hides of a URL: a receiver may send it back."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return text
    hidden = {p for p in parts.path.split("/") if p and not _PLAIN_SEGMENT.fullmatch(p)}
    hidden |= {parts.query, parts.fragment, parts.username or "", parts.password or ""}
    hidden |= {value for pair in parts.query.split("&") if (value := pair.partition("=")[2])}
    return without(text, *hidden)


def without(text: str, *secrets: str) -> str:
    """A text in which some secrets are masked, however they are spelled in URLs."""
    spellings = {spelling for secret in secrets for spelling in (secret, unquote(secret))}
    for secret in sorted((s for s in spellings if len(s) > 1), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


REASON_LENGTH = 300
"""Characters of what is kept of a remote error."""


def plain_reason(text: str) -> str:
    """What a receiver said, to be kept and shown: on one line, without control characters, and not long.

    >>> plain_reason("no\\x1b[2J\\r\\nroom")
    'no [2J room'
    """
    plain = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * REASON_LENGTH]).split())
    return plain if len(plain) <= REASON_LENGTH else plain[: REASON_LENGTH - 1] + "…"
