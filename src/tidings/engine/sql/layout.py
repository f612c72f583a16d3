"""Laying out SQL text: lines, and lines indented below them.

A query is put together from pieces that stand at any depth, so a piece does not know its indentation.  It is a tuple
of lines, in which a tuple stands for lines that are indented below the one before.  Pieces are shared, never changed,
and become text once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Lines: TypeAlias = "tuple[str | Lines, ...]"

WIDTH = 80
"""What is put together from parts stands on one line up to this width."""


def text(lines: Lines) -> str:
    """The lines as text.

    >>> print(text(("SELECT", ("a,", "b"), "FROM t")))
    SELECT
      a,
      b
    FROM t
    """
    out: list[str] = []
    _put(lines, "", out)
    return "\n".join(out)


def _put(lines: Lines, indent: str, out: list[str]) -> None:
    for line in lines:
        if isinstance(line, str):
            out.append(indent + line)
        else:
            _put(line, indent + "  ", out)


def after(prefix: str, lines: Lines) -> Lines:
    """The lines with something before the first."""
    first, *rest = lines
    assert isinstance(first, str)
    return (prefix + first, *rest)


def enclosed(before: str, lines: Lines, behind: str = "") -> Lines:
    """The lines in parentheses."""
    return (f"{before}(", lines, f"){behind}")


def listed(parts: list[str]) -> Lines:
    """Parts with commas between them, one per line."""
    return (*(f"{part}," for part in parts[:-1]), *parts[-1:])


def connected(parts: Iterable[Lines], word: str) -> Lines:
    """Parts with a word between them: on one line if they are short."""
    first, *rest = parts
    whole = [first, *(after(f"{word} ", part) for part in rest)]
    single = [line for part in whole for line in part if isinstance(line, str)]
    if sum(map(len, whole)) == len(whole) == len(single) and sum(map(len, single)) <= WIDTH:
        return (" ".join(single),)
    return tuple(line for part in whole for line in part)


def with_named(named: Mapping[str, Lines], query: Lines) -> Lines:
    """A query after others that it reads by their names.

    >>> print(text(with_named({"a": ("SELECT 1",), "b": ("FROM a",)}, ("FROM b",))))
    WITH a AS (
      SELECT 1
    ), b AS (
      FROM a
    )
    FROM b
    """
    before: Lines = ()
    for name, lines in named.items():
        before = (*before[:-1], f"), {name} AS (" if before else f"WITH {name} AS (", lines, ")")
    return before + query
