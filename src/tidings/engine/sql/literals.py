"""Keys as SQL literals.

A list of keys is ``x IN (…)``.  Spark makes a set of a long one, and then it cannot tell from the least and greatest
``x`` of a batch of cached rows, or of a file, that it holds none of them.  So for Spark a long list is followed by a
tree of ranges with short lists as its leaves, which says the same:

    x IN (…) AND (x < k AND (… the keys below k …) OR x >= k AND (… the others …))

A row is compared with the set, and a batch with a few of the keys.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import cast


def literals(values: pa.Array | pa.ChunkedArray, type: str, dialect: str) -> str:
    """A comma-separated list of literals; ``NULL`` for no values, so that ``IN (…)`` stays valid and empty.

    >>> literals(pa.chunked_array([["a'b", None]]), "string", "spark")
    "'a\\\\'b'"
    """
    present = [v for v in values.to_pylist() if v is not None]
    return ", ".join(literal(v, type, dialect) for v in present) or "NULL"


LEAF = 10
"""So many keys are a list; of more, Spark would make a set."""


def among(tested: str, values: pa.Array, type: str, dialect: str, *, halves: bool) -> str:
    """The test whether something is one of some keys.

    >>> among("x", pa.array([3, 1, None]), "int", "spark", halves=True)
    'x IN (1, 3)'
    """
    present = sorted(v for v in values.to_pylist() if v is not None)
    texts = [literal(v, type, dialect) for v in present]
    if not halves or len(texts) <= LEAF:
        return _list(tested, texts)
    return f"({_list(tested, texts)} AND {_tree(tested, texts)})"


_PLACES = 12
"""So many bytes of a text tell how far it is from others."""

RANGES = 32
"""Keys too many to be listed lie within so many ranges."""


def within(tested: str, values: pa.Array, type: str, dialect: str) -> str:
    """A test that holds for all of some keys and not for what is far from them.

    >>> within("x", pa.array([1, 2, 3, 90]), "int", "spark")
    '((x >= 1 AND x <= 3) OR (x >= 90 AND x <= 90))'
    """
    present = sorted(v for v in values.to_pylist() if v is not None)
    if type == "boolean" or not present:
        return "TRUE" if present else "FALSE"
    breaks = sorted(_breaks(present, type))
    starts, ends = [0, *breaks], [*breaks, len(present)]
    parts = (
        f"({tested} >= {literal(present[a], type, dialect)} AND {tested} <= {literal(present[b - 1], type, dialect)})"
        for a, b in zip(starts, ends, strict=True)
    )
    return f"({' OR '.join(parts)})"


def _breaks(present: list[Any], type: str) -> list[int]:
    """Where the ranges part: at the widest gaps between keys."""
    places = _numbers(present) if type == "string" else present
    widest = sorted(range(1, len(present)), key=lambda n: places[n - 1] - places[n])
    return widest[: min(RANGES, (len(present) + 1) // 2) - 1]


def _numbers(texts: list[str]) -> list[int]:
    """Texts, in order, as numbers in the same order: what follows the beginning that nearly all have in common."""
    inner = texts[len(texts) // 20 : len(texts) - len(texts) // 20]
    begin = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(inner[0], inner[-1], strict=False)))

    def number(text: str) -> int:
        if not text.startswith(begin):
            return -1 if text < begin else 1 << 8 * _PLACES
        return int.from_bytes(text.removeprefix(begin).encode()[:_PLACES].ljust(_PLACES, b"\0"))

    return [number(text) for text in texts]


def _list(tested: str, keys: list[str]) -> str:
    return f"{tested} IN ({', '.join(keys) or 'NULL'})"


def _tree(tested: str, keys: list[str]) -> str:
    if len(keys) <= LEAF:
        return _list(tested, keys)
    half = len(keys) // 2
    below, others = _tree(tested, keys[:half]), _tree(tested, keys[half:])
    return f"(({tested} < {keys[half]} AND {below}) OR ({tested} >= {keys[half]} AND {others}))"


def literal(value: object, type: str, dialect: str) -> str:
    """A value as SQL text."""
    if type in types.INTEGRAL or type == "boolean":
        return str(value)
    if type == "string" and "\0" in str(value):  # DuckDB's parser ends a text at such a character
        parts = (exp.Literal.string(part).sql(dialect) for part in str(value).split("\0"))
        return f"({' || chr(0) || '.join(parts)})"
    text = exp.Literal.string(str(value))
    return text.sql(dialect) if type == "string" else cast(text, type).sql(dialect)
