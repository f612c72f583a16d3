"""Binds a query that is asked once and reads ``CHANGES(…)`` over an interval."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.analysis import functions
from tidings.clock import instant
from tidings.errors import InvalidExpression, Place
from tidings.ir.expression import Expression
from tidings.ir.relation import Relation
from tidings.lang.sql.bind import bind
from tidings.lang.sql.changes import ChangesOf, ChangesTaker, FindSource
from tidings.lang.sql.context import Analyzer, ExtendedNamespace, Namespace

INSTANT = "instant"


@dataclass(frozen=True, slots=True)
class QueryOfChanges:
    """A query with its names resolved, and the relations of changes that it reads."""

    plan: Relation
    changes: tuple[ChangesOf, ...]


def bind_query_of_changes(
    query: Expression, text: str, namespace: Namespace, find_source: FindSource, analyzer: Analyzer
) -> QueryOfChanges:
    """Bind a query that reads ``CHANGES(…)``, or say what is wrong with it and where."""
    tree = query.copy()
    changes = ChangesTaker(text, "result", namespace, find_source, analyzer, _refusal, over_interval=True).take(tree)
    more = {of.relation: of.side_by_side for of in changes}
    return QueryOfChanges(bind(tree, text, ExtendedNamespace(namespace, more), analyzer, once=True), changes)


def instant_query(end: Expression, now: int) -> exp.Select:
    """The query for an end of an interval, in which the clock stands at an instant.

    >>> import sqlglot
    >>> instant_query(sqlglot.parse_one("now() - INTERVAL 1 HOUR", read="spark"), 0).sql("spark")
    "SELECT CAST('1970-01-01T00:00:00+00:00' AS TIMESTAMP) - INTERVAL '1' HOUR AS instant"
    """

    def stopped(node: Expression) -> Expression:
        if not functions.reads_clock(node):
            return node
        is_date = functions.function_name(node) in ("current_date", "curdate")
        return exp.cast(exp.Literal.string(instant(now).isoformat()), "DATE" if is_date else "TIMESTAMPTZ")

    return exp.select(end.transform(stopped).as_(INSTANT))


def _refusal(at: Place | None, reason: str, hint: str | None) -> InvalidExpression:
    return InvalidExpression(at, hint, reason=reason)
