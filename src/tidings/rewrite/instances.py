"""The instances of a condition: a query as a set of rows, or of one row per key.

An instance holds or does not hold; how many rows of the query say so does not matter:

    instances(Q)       =  distinct Q
    instances(Q, key)  =  of the rows of Q with the same key the first, by all columns in their order, NULL first

Both are ordinary operators, so their changes are what begins, ceases and takes other values.  Where the query never has
two rows for an instance it stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from tidings.analysis.unique import is_unique
from tidings.ir.expression import column, literal
from tidings.ir.relation import Aggregate, Filter, Item, Project, Relation, Window

_ALIAS = "__instance"
_PLACE = "__place"


def instances(
    query: Relation,
    key: Collection[str],
    primary_keys: Mapping[str, Collection[str]],
    definitions: Mapping[str, Relation],
) -> Relation:
    """The instances of a query, by the columns of a key or, without one, by all columns.

    >>> from tidings.ir.text import parse, show
    >>> query = parse("scan t t [a int, b int]")
    >>> print(show(instances(query, (), {}, {})))
    aggregate __instance [a int := t.a, b int := t.b] []
      scan t t [a int, b int]
    >>> instances(query, ("a",), {"t": ("a",)}, {}) is query
    True
    """
    if is_unique(query, key or [f.name for f in query.fields], primary_keys, definitions):
        return query
    return _first_by_key(query, key) if key else _distinct(query)


def _distinct(query: Relation) -> Relation:
    return Aggregate(query, _ALIAS, tuple(Item(f.name, f.type, f.expression) for f in query.fields), ())


def _first_by_key(query: Relation, key: Collection[str]) -> Relation:
    by_key = [f.expression for f in query.fields if f.name in key]
    order = [exp.Ordered(this=f.expression, desc=False, nulls_first=True) for f in query.fields if f.name not in key]
    if not order:
        return _distinct(query)
    number = exp.Window(this=exp.RowNumber(), partition_by=by_key, order=exp.Order(expressions=order), over="OVER")
    numbered = Window(query, _PLACE, (Item("n", "int", number),))
    first = Filter(numbered, (exp.EQ(this=column(_PLACE, "n"), expression=literal(1)),))
    return Project(first, _ALIAS, tuple(Item(f.name, f.type, f.expression) for f in query.fields))
