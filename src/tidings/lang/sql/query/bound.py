"""What binding a query gives."""

from __future__ import annotations

from typing import NamedTuple

from tidings.ir.expression import literal
from tidings.ir.relation import Aggregate, Column, Item, Relation, Values
from tidings.lang.sql.context import Context


class Bound(NamedTuple):
    """A plan and the names users know its columns by; unlike the plan's own, these may repeat.

    A subquery's plan has more columns than names: those that tie it to the query around it.
    """

    plan: Relation
    names: tuple[str, ...]

    @staticmethod
    def of(plan: Relation) -> Bound:
        return Bound(plan, tuple(f.name for f in plan.fields))


def one_row(ctx: Context) -> Values:
    """What a SELECT without FROM reads: a row, with a column so that it has something to be named by."""
    return Values(ctx.alias("one"), (Column("one", "int"),), ((literal(1),),))


def distinct_rows(ctx: Context, rows: Relation, name: str) -> Aggregate:
    """Each row once."""
    return Aggregate(rows, ctx.alias(name), tuple(Item(f.name, f.type, f.expression) for f in rows.fields), ())
