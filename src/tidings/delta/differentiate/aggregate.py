"""Δ(γ_{K; f} A): groups are keyed by what they group by; see :mod:`tidings.delta.keyed`.

A group that becomes empty goes.  Without keys there is one group, and it never goes: its row for an empty input is what
the aggregates say of no rows at all.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidings.delta.keyed import SINCE, VERSION, KeyedInput, Lifted
from tidings.ir.expression import column
from tidings.ir.relation import Aggregate, Column, Field, Item, Join, OuterJoin, Project, Relation, Scan, Values


def lift(node: Aggregate) -> Lifted:
    scan = node.input
    assert isinstance(scan, Scan)
    columns = tuple(Column(f.name, f.type) for f in node.fields)

    def apply(inputs: list[Relation], versions: Relation) -> Relation:
        version = tuple(Item(c.name, c.type, column(scan.alias, c.name)) for c in VERSION)
        groups = replace(node, input=inputs[0], keys=node.keys + version)
        return groups if node.keys else _with_empty(groups, scan, versions)

    key = tuple(i.expression for i in node.keys)
    return Lifted((KeyedInput(scan, key),), tuple(i.type for i in node.keys), columns, node.alias, apply)


def _with_empty(groups: Aggregate, scan: Scan, versions: Relation) -> Relation:
    """One row per version, also for those at which the input is empty: then what is said of no rows."""
    nothing = Aggregate(Values(scan.alias, scan.columns, ()), "nothing", (), groups.aggregates)
    empty = Project(Join((versions, nothing), ()), "empty", (*map(_same, versions.fields), *map(_same, nothing.fields)))
    full = Project(groups, "full", tuple(map(_same, groups.fields)))
    same = exp.EQ(this=column("empty", SINCE), expression=column("full", SINCE))
    missing = exp.Is(this=column("full", SINCE), expression=exp.Null())
    values = (
        Item(i.name, i.type, exp.If(this=missing.copy(), true=column("empty", i.name), false=column("full", i.name)))
        for i in groups.aggregates
    )
    version = (Item(c.name, c.type, column("empty", c.name)) for c in VERSION)
    return Project(OuterJoin(empty, full, (same,)), groups.alias, (*values, *version))


def _same(field: Field) -> Item:
    return Item(field.name, field.type, field.expression)
