"""Clauses of a query that are refused before it is bound."""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression

_CLAUSES = {
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "fetch": "FETCH",
    "pivots": "PIVOT and UNPIVOT",
    "sample": "TABLESAMPLE",
    "into": "SELECT INTO",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "kind": "SELECT AS STRUCT",
}


def refused_clauses(node: Expression) -> tuple[str, Expression] | None:
    """The first clause of a query that has no incremental form yet, and where it stands."""
    group, limit, distinct = (node.args.get(a) for a in ("group", "limit", "distinct"))
    if group is not None and group.args.get("totals"):
        return "WITH TOTALS", group
    if isinstance(limit, exp.Fetch):
        return "FETCH", limit
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
        return "DISTINCT ON", distinct
    for arg, name in _CLAUSES.items():
        clause = node.args.get(arg)
        if clause:
            first = clause[0] if isinstance(clause, list) else clause
            return name, first if isinstance(first, exp.Expr) else node
    return None
