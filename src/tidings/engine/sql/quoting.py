"""Names and texts in the SQL of an engine: whatever is in them, they stay names and texts.

Every name of a user that becomes part of a statement goes through :func:`quoted` or :func:`engine_name`, and every text
through :func:`text_literal` or a literal of sqlglot; ``tests/architecture`` looks for places that put quotes around
something themselves.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from sqlglot import exp

_CACHE_SIZE = 20_000

_WORD = re.compile(r"\w*", re.ASCII)


@lru_cache(maxsize=_CACHE_SIZE)
def quoted(name: str, language: str) -> str:
    """A name in quotes.

    >>> quoted('a "b', "duckdb"), quoted("a`b", "spark")
    ('"a ""b"', '`a``b`')
    """
    return exp.to_identifier(name, quoted=True).sql(language)


def text_literal(text: str) -> str:
    """A text as a literal of DuckDB, which knows no escapes but the quote itself.

    >>> print(text_literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def engine_name(role: str, name: str) -> str:
    """A word for something that has a role and belongs to the relation of some name: another word for any other.

    What is no word itself is told apart by a digest, under a role that no plain name has.

    >>> engine_name("old", "Quantity"), engine_name("old", "a b")
    ('__old_quantity', '__named_old_a_b_acc9227cc02e5f5c13e74125bce89499')
    """
    word = name.lower()
    if _WORD.fullmatch(word):
        return f"__{role}_{word}"
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"__named_{role}_{re.sub(_NOT_IN_WORDS, '_', word)[:40]}_{digest}"


_NOT_IN_WORDS = re.compile(r"\W", re.ASCII)
