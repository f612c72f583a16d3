"""Pipe syntax, ``FROM t |> WHERE … |> AGGREGATE …``: each operator makes a SELECT of the query before it.

The query so far is *open* while it is ``SELECT *`` over its sources with at most a WHERE: conditions, joins and lists
go straight into it, so that the names of its sources stay known.  Anything else is put into FROM as a subquery.

====================================  ============================================================
``SELECT …``, ``EXTEND …``            the list; the list after ``*``
``SET c = e, …``, ``DROP c, …``       ``* REPLACE (e AS c)``, one after the other; ``* EXCEPT (c, …)``
``WHERE``, ``JOIN``, ``AS name``      as in a SELECT
``AGGREGATE … GROUP BY …``            what is grouped by, then the aggregates
``UNION``, ``EXCEPT``, ``INTERSECT``  with the query that follows
``PIVOT``, ``UNPIVOT``                of the query so far
``ORDER BY``, ``LIMIT``, ``OFFSET``   of the query so far; a LIMIT right after an ORDER BY has its order
====================================  ============================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

_OPEN = {"expressions", "from_", "joins", "laterals", "where", "with_"}
_OPERATORS: dict[str, Callable[[Any, exp.Query], exp.Query]] = {}


def piped(parser: Any, query: exp.Query) -> exp.Query:
    """A query and the operators that follow it."""
    while parser._match(TokenType.PIPE_GT):
        operator = _OPERATORS.get(parser._curr.text.upper(), _joined_or_combined)
        query = operator(parser, query)
    return query


def _select(parser: Any, query: exp.Query) -> exp.Query:
    parser._match(TokenType.SELECT)
    parser._match(TokenType.ALL)
    distinct = exp.Distinct() if parser._match(TokenType.DISTINCT) else None
    source = _open(query)
    source.set("expressions", _listed(parser))
    source.set("distinct", distinct)
    if parser._match(TokenType.WINDOW, advance=False):
        source.set("windows", parser._parse_window_clause())
    return source


def _extend(parser: Any, query: exp.Query) -> exp.Query:
    parser._advance()
    source = _open(query)
    source.set("expressions", [exp.Star(), *_listed(parser)])
    return source


def _listed(parser: Any) -> list[exp.Expr]:
    items: list[exp.Expr] = parser._parse_expressions()
    if not items:
        parser.raise_error("Expecting a list of columns")
    return items


def _set(parser: Any, query: exp.Query) -> exp.Query:
    parser._advance()
    while True:
        name = parser._parse_id_var()
        if name is None or not parser._match(TokenType.EQ):
            parser.raise_error("Expecting column = value")
        query = _open(query)
        value = exp.alias_(parser._parse_disjunction(), name)
        query.set("expressions", [exp.Star(replace=[value])])
        if not parser._match(TokenType.COMMA):
            return query


def _drop(parser: Any, query: exp.Query) -> exp.Query:
    parser._advance()
    source = _open(query)
    dropped = [exp.column(name) for name in parser._parse_csv(parser._parse_id_var)]
    source.set("expressions", [exp.Star(except_=dropped)])
    return source


def _as(parser: Any, query: exp.Query) -> exp.Query:
    parser._match(TokenType.ALIAS)
    return _star(exp.Subquery(this=query, alias=exp.TableAlias(this=parser._parse_id_var(any_token=True))))


def _where(parser: Any, query: exp.Query) -> exp.Query:
    source = _open(query)
    return source.where(parser._parse_where().this, copy=False)


def _aggregate(parser: Any, query: exp.Query) -> exp.Query:
    parser._advance()
    aggregates = [] if parser._match(TokenType.GROUP_BY, advance=False) else _listed(parser)
    grouped = parser._match(TokenType.GROUP_BY)
    several = parser._match_set((TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS), advance=False)
    keys = _listed(parser) if grouped and not several else []
    if several or any(isinstance(k, exp.Literal) for k in keys):
        parser.raise_error("AGGREGATE groups by columns and expressions only")
    source = _open(query)
    source.set("expressions", [*keys, *aggregates])
    if keys:
        source.set("group", exp.Group(expressions=[k.unalias().copy() for k in keys]))
    return source


def _pivoted(parser: Any, query: exp.Query) -> exp.Query:
    return _star(exp.Subquery(this=query, pivots=parser._parse_pivots()))


def _sampled(parser: Any, query: exp.Query) -> exp.Query:
    return _star(exp.Subquery(this=query, sample=parser._parse_table_sample()))


def _ordered(parser: Any, query: exp.Query) -> exp.Query:
    source = query if _only_ordered(query) else _open(query)
    order = parser._parse_order()
    if order is not None:
        source = _open(query)
        source.set("order", order)
    limit, offset = parser._parse_limit(), parser._parse_offset()
    for arg, clause in (("limit", limit or parser._parse_limit()), ("offset", offset)):  # OFFSET may come first
        if clause is not None:
            source.set(arg, clause)
    return source


def _joined_or_combined(parser: Any, query: exp.Query) -> exp.Query:
    combined = parser.parse_set_operation(query)
    if combined is not None:
        return combined  # type: ignore[no-any-return]
    at = parser._index
    join = parser._parse_join()
    if join is None:
        parser._retreat(at)
        parser.raise_error("Expecting an operator after |>")
    source = _open(query)
    if source.args.get("where") is not None or source.args.get("laterals"):
        (name,) = _source_names(source) or ("",)
        source = _star(exp.Subquery(this=source, alias=exp.TableAlias(this=exp.to_identifier(name)) if name else None))
    source.append("joins", join)
    return source


def _open(query: exp.Query) -> exp.Select:
    """A query that more may be written into: the query itself, or a SELECT over it."""
    if isinstance(query, exp.Select):
        plain = query.expressions == [exp.Star()] and query.args.get("from_") is not None
        if plain and not any(value for arg, value in query.args.items() if arg not in _OPEN):
            return query
    names = _source_names(query)
    alias = exp.TableAlias(this=exp.to_identifier(names[0])) if len(names) == 1 and _keeps_columns(query) else None
    return _star(exp.Subquery(this=query, alias=alias))


def _star(source: exp.Expr) -> exp.Select:
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))


def _only_ordered(query: exp.Query) -> bool:
    """Whether a query ends with an ORDER BY that a LIMIT may follow."""
    return query.args.get("order") is not None and not query.args.get("limit") and not query.args.get("offset")


def _keeps_columns(query: exp.Query) -> bool:
    """Whether a list begins with a plain star: the names of its source still tell the columns apart."""
    return isinstance(query, exp.Select) and query.expressions[:1] == [exp.Star()]


def _source_names(query: exp.Query) -> list[str]:
    """The names of a query's sources, where each has one."""
    clause = query.args.get("from_")
    if clause is None or query.args.get("laterals"):
        return []
    return [clause.this.alias_or_name, *(j.this.alias_or_name for j in query.args.get("joins") or [])]


_OPERATORS |= {
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "AS": _as,
    "WHERE": _where,
    "AGGREGATE": _aggregate,
    "PIVOT": _pivoted,
    "UNPIVOT": _pivoted,
    "TABLESAMPLE": _sampled,
    "ORDER BY": _ordered,
    "LIMIT": _ordered,
    "OFFSET": _ordered,
}
