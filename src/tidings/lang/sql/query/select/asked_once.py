"""Queries that are asked once keep the order of their rows; views, which are sets of rows, have none.

The outermost part of such a query is marked.  Its rows get a column more, their place in the order, by which whoever
answers sorts them; a LIMIT without ORDER BY takes the first rows by their values.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression

PLACE = "__place"
"""The column that has the place of a row."""

_MARK = "asked_once"
_CLAUSES = ("order", "limit", "offset")


def asked_once(query: Expression) -> Expression:
    """A query whose outermost part is marked, if it says an order or a number of rows.

    >>> import sqlglot
    >>> keeps_order(asked_once(sqlglot.parse_one("SELECT a FROM t ORDER BY a")))
    True
    >>> keeps_order(asked_once(sqlglot.parse_one("SELECT a FROM (SELECT a FROM t ORDER BY a)")))
    False
    """
    marked = query.copy()
    outermost = marked
    while isinstance(outermost, exp.Subquery) and not has_order(outermost):
        outermost = outermost.this
    if has_order(outermost):
        outermost.meta[_MARK] = True
    return marked


def has_order(node: Expression) -> bool:
    """Whether a query says an order of its rows, or how many there are to be."""
    return any(node.args.get(clause) for clause in _CLAUSES)


def keeps_order(node: Expression) -> bool:
    """Whether a query is the marked part."""
    return bool(node.meta.get(_MARK))


def around(node: Expression, name: str) -> exp.Select:
    """``(query) ORDER BY … LIMIT …`` as a SELECT over the query, which goes by a name.

    >>> import sqlglot
    >>> around(sqlglot.parse_one("(SELECT a FROM t) ORDER BY a LIMIT 1"), "q").sql()
    'SELECT * FROM (SELECT a FROM t) AS q ORDER BY a LIMIT 1'
    """
    inner, outside = node.copy(), exp.select("*")
    for clause in _CLAUSES:
        outside.set(clause, inner.args.get(clause))
        inner.set(clause, None)
    if keeps_order(node):
        outside.meta[_MARK] = inner.meta.pop(_MARK)
    alias = exp.TableAlias(this=exp.to_identifier(name))
    if isinstance(inner, exp.Subquery):
        inner.set("alias", alias)
        return outside.from_(inner)
    return outside.from_(exp.Subquery(this=inner, alias=alias))
