"""Plans whose rows carry an instant and a weight.

A row of the old state has no instant of its own (it was there before the batch) and may have no weight column
either (a constant counts once), so both are expressions over the plan or absent.  The operators combine them:
a joined row has the product of the weights and the greatest of the instants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from tidings.ir.expression import TIME, WEIGHT, Expression, cast, column, greatest, literal, product
from tidings.ir.relation import (
    VERSION_COLUMNS,
    Aggregate,
    Column,
    Field,
    Filter,
    Item,
    Project,
    Relation,
    Repeat,
    Union,
)

BEFORE = 0
"""The instant of rows that were there before any batch."""


@dataclass(frozen=True, slots=True)
class Versioned:
    """A plan, and where its rows' instant and weight are; None for "before the batch" and for "once"."""

    plan: Relation
    time: Expression | None
    weight: Expression | None

    def over(self, plan: Relation) -> Versioned:
        """The same instants and weights above another operator that keeps columns."""
        return replace(self, plan=plan)

    def projected(self, alias: str, items: tuple[Item, ...], needed: tuple[Column, ...] = ()) -> Versioned:
        """A projection that hands instant and weight on as columns, those ``needed`` even where they are constant."""
        names = {c.name for c in needed}
        time = literal(BEFORE) if self.time is None and TIME in names else self.time
        weight = literal(1) if self.weight is None and WEIGHT in names else self.weight
        more = [Item(n, "bigint", e) for n, e in ((TIME, time), (WEIGHT, weight)) if e is not None]
        plan = Project(self.plan, alias, items + tuple(more))
        fields = {f.name: f.expression for f in plan.fields}
        return Versioned(plan, fields.get(TIME), fields.get(WEIGHT))


def combined(parts: list[Versioned], plan: Relation) -> Versioned:
    """The rows of a join: weights multiply, the latest instant counts."""
    times = [p.time for p in parts if p.time is not None]
    weights = [p.weight for p in parts if p.weight is not None]
    return Versioned(plan, greatest(times) if times else None, product(weights) if weights else None)


def stacked(
    branches: list[Versioned], fields: list[tuple[Field, ...]], alias: str, columns: tuple[Column, ...]
) -> Versioned:
    """The rows of a union; ``fields`` are each branch's columns, without instant and weight."""
    timed = any(b.time is not None for b in branches)
    weighted = any(b.weight is not None for b in branches)
    more = VERSION_COLUMNS[:timed] + VERSION_COLUMNS[1 : 1 + weighted]
    projected = []
    for number, (branch, branch_fields) in enumerate(zip(branches, fields, strict=True), 1):
        items = tuple(Item(c.name, c.type, f.expression) for c, f in zip(columns, branch_fields, strict=True))
        projected.append(branch.projected(f"{alias}_{number}", items, more).plan)
    plan = Union(tuple(projected), alias, columns + more)
    by_name = {f.name: f.expression for f in plan.fields}
    return Versioned(plan, by_name.get(TIME), by_name.get(WEIGHT))


def plain(node: Relation, rows: Versioned, *, distinct: bool = False) -> Relation:
    """The rows of an old state as a plain bag, under the columns of ``node``: weights summed, each row so often.

    With ``distinct`` each row is there once.
    """
    if rows.weight is None:
        return rows.plan
    alias = node.fields[0].alias
    keys = tuple(Item(f.name, f.type, f.expression) for f in node.fields)
    total = Item(WEIGHT, "bigint", cast(exp.Sum(this=rows.weight.copy()), "bigint"))
    summed = Aggregate(rows.plan, f"{alias}_sum", keys, (total,))
    present = Filter(summed, (exp.GT(this=column(summed.alias, WEIGHT), expression=literal(0)),))
    bag = present if distinct else Repeat(present, column(summed.alias, WEIGHT))
    return Project(bag, alias, tuple(Item(i.name, i.type, column(summed.alias, i.name)) for i in keys))
