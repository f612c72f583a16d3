"""From a parsed query to the relational IR.

The binder resolves names, expands stars and turns each SELECT into plain relational operators.  It knows no types: for
every SELECT it hands the analyzer the same SELECT with each source replaced by a typed empty stand-in and takes names
and types from there.  So the analyzer, Spark's own when Spark is the engine, has the last word on what is valid, and
the IR carries its types.

What cannot be maintained is refused here, with the place in the text.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidings.analysis.influents import reads
from tidings.errors import UnsupportedType
from tidings.ir import types
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Item, Project, Relation, Union
from tidings.lang.sql.context import AnalysisFailed, Analyzer, Context, Namespace, SparkAlone
from tidings.lang.sql.names import check_names, check_reserved, distinct_names
from tidings.lang.sql.parse import place
from tidings.lang.sql.query.binder import Binder
from tidings.lang.sql.query.bound import Bound
from tidings.lang.sql.query.select.asked_once import PLACE, asked_once

__all__ = ["AnalysisFailed", "Analyzer", "Namespace", "SparkAlone", "bind", "check_names", "check_reserved"]


def bind(
    query: Expression,
    text: str,
    namespace: Namespace,
    analyzer: Analyzer,
    name: str = "result",
    query_text: str | None = None,
    *,
    numbered: bool = False,
    once: bool = False,
    reads_session: bool = False,
) -> Relation:
    """The relational form of a query; its columns have the names and types the analyzer gives them.

    ``text`` is what places refer to, ``query_text`` the query's part of it.  Where several columns have the same name,
    they are refused, or if ``numbered`` told apart by a number, as in ``a`` and ``a_2``.  A query that is asked
    ``once`` and says an order has a last column, ``PLACE``, with the place of each row.  Such a query, and one of a
    statement that changes rows, ``reads_session``: what the user's session has beside the database's relations.
    """
    context = Context(text, namespace, analyzer, reads_session or once)
    for part in query.walk():
        context.check_function(part)
        context.check_type(part)
    bound = Binder(context).query(asked_once(query) if once else query, name, {})
    if query_text is not None and _has_unnamed_items(query):
        bound = _with_names_of(query_text, bound, namespace, analyzer)
    at = place(text, query)
    check_names([f.name for f in bound.plan.fields if f.name != PLACE] if numbered else list(bound.names), at)
    kinds = (f.type for f in bound.plan.fields)
    unsupported = next((k for k in kinds if k != types.VOID and not types.is_supported(k)), None)
    if unsupported is not None:
        raise UnsupportedType(at, type=unsupported)
    return bound.plan


def _has_unnamed_items(query: Expression) -> bool:
    """Whether the engine has to invent a name for some output column."""
    first = query.unnest()
    while isinstance(first, exp.SetOperation):
        first = first.this.unnest()
    named = exp.Alias | exp.Column | exp.Dot | exp.Star
    return isinstance(first, exp.Select) and not all(isinstance(i, named) for i in first.expressions)


def _with_names_of(query_text: str, bound: Bound, namespace: Namespace, analyzer: Analyzer) -> Bound:
    """Take invented names from the analysis of the text itself: they repeat it as it was written."""
    scanned = {r: namespace.columns(r) for r in reads(bound.plan)}
    names = analyzer.names(query_text, {r: declared[1] for r, declared in scanned.items() if declared is not None})
    match bound.plan:
        case Project() as plan if names is not None:
            items = zip([*distinct_names(names), PLACE], plan.items, strict=False)
            return Bound(replace(plan, items=tuple(Item(n, i.type, i.expression) for n, i in items)), names)
        case Union() as plan if names is not None:
            columns = zip(distinct_names(names), plan.columns, strict=True)
            return Bound(replace(plan, columns=tuple(Column(n, c.type) for n, c in columns)), names)
        case _:
            return bound
