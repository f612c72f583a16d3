"""What of a query's tree is read; a part that nobody would read is refused, and not passed over.

The parser knows the words of many dialects.  Whatever it has put into a tree counts as written by the user: an argument
of a node that is not listed here is named in the refusal.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression

_READ: dict[type[Expression], frozenset[str]] = {
    exp.Select: frozenset(
        "with_ expressions hint distinct from_ laterals joins where group having qualify windows order limit "
        "offset".split()
    ),
    exp.SetOperation: frozenset("with_ this expression distinct by_name order limit offset".split()),
    exp.Subquery: frozenset("this alias with_ joins pivots order limit offset".split()),
    exp.Table: frozenset("this alias db catalog joins pivots laterals hints".split()),
    exp.Values: frozenset("expressions alias joins pivots order limit offset".split()),
    exp.Join: frozenset("this on side kind using method hint".split()),
    exp.Lateral: frozenset("this view outer alias".split()),
    exp.Unnest: frozenset("expressions alias".split()),
    exp.With: frozenset("expressions recursive".split()),
    exp.CTE: frozenset("this alias materialized".split()),
    exp.Star: frozenset("except_ replace rename".split()),
    exp.Group: frozenset("expressions grouping_sets cube rollup all".split()),
    exp.Distinct: frozenset(["expressions"]),
    exp.Order: frozenset("this expressions".split()),
    exp.Ordered: frozenset("this desc nulls_first".split()),
    exp.Limit: frozenset("this expression".split()),
    exp.Offset: frozenset("this expression".split()),
    exp.Window: frozenset("this partition_by order spec alias over".split()),
    exp.WindowSpec: frozenset("kind start start_side end end_side exclude".split()),
    exp.Between: frozenset("this low high".split()),
    exp.Cast: frozenset("this to safe".split()),
    exp.TryCast: frozenset("this to safe requires_string".split()),
}

_NAMES = {
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "pivots": "PIVOT and UNPIVOT",
    "sample": "TABLESAMPLE",
    "into": "SELECT INTO",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "kind": "SELECT AS STRUCT",
    "totals": "WITH TOTALS",
    "on": "DISTINCT ON",
    "locks": "FOR UPDATE",
    "version": "VERSION AS OF and TIMESTAMP AS OF",
    "when": "VERSION AS OF and TIMESTAMP AS OF",
    "ilike": "a star with ILIKE",
    "ordinality": "WITH ORDINALITY",
    "unnest.offset": "WITH ORDINALITY",
    "siblings": "ORDER SIBLINGS BY",
    "with_fill": "WITH FILL",
    "match_condition": "MATCH_CONDITION",
    "symmetric": "BETWEEN SYMMETRIC",
    "limit_options": "LIMIT … WITH TIES and LIMIT … PERCENT",
    "limit.expressions": "LIMIT … BY",
    "default": "CAST … DEFAULT",
    "format": "CAST … FORMAT",
    **{f"{o}.{a}": "UNION of unlike columns" for o in ("union", "except", "intersect") for a in ("kind", "side", "on")},
}


def refused_clauses(node: Expression) -> tuple[str, Expression] | None:
    """The first part of a query that is not read, and where it stands; queries inside it are looked at on their own."""
    for part in node.walk(prune=lambda n: isinstance(n, exp.Query) and n is not node):
        if isinstance(part, exp.Fetch):
            return "FETCH", part
        if isinstance(part, exp.Alias | exp.TableAlias) and isinstance(_name(part), exp.Parameter):
            return "a name that begins with @", part.parent or part
        if isinstance(part, exp.Group) and part.args.get("all") is False:
            return "GROUP BY DISTINCT", part
        if isinstance(part, exp.Group) and exp.Tuple() in part.expressions:
            return "GROUP BY ()", part
        read = _READ.get(exp.SetOperation if isinstance(part, exp.SetOperation) else type(part))
        unread = next((a for a, value in part.args.items() if value and a not in read), None) if read else None
        if unread is not None:
            value = part.args[unread]
            first = value[0] if isinstance(value, list) else value
            name = (
                _NAMES.get(f"{part.key}.{unread}")
                or _NAMES.get(unread)
                or f"{unread.strip('_').upper()} of {part.key.upper()}"
            )
            return name, first if isinstance(part, exp.Select) and isinstance(first, exp.Expr) else part
    return None


def _name(alias: exp.Alias | exp.TableAlias) -> object:
    return alias.args.get("alias") if isinstance(alias, exp.Alias) else alias.this
