"""Δ(γ_{K; f} A): groups are keyed by what they group by; see :mod:`tidings.delta.keyed`.

A group that becomes empty goes.  Without keys there is one group, and it never goes: its row for an empty input is what
the aggregates say of no rows at all.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidings.delta.keyed import SINCE, UNTIL, VERSION, KeyedInput, Lifted
from tidings.ir.expression import column
from tidings.ir.relation import Aggregate, Column, Item, Join, Project, Relation, Scan, SemiJoin, Union, Values


def lift(node: Aggregate) -> Lifted:
    scan = node.input
    assert isinstance(scan, Scan)
    columns = tuple(Column(f.name, f.type) for f in node.fields)

    def apply(inputs: list[Relation], versions: Relation) -> Relation:
        version = tuple(Item(c.name, c.type, column(scan.alias, c.name)) for c in VERSION)
        groups = replace(node, input=inputs[0], keys=node.keys + version)
        return groups if node.keys else _with_empty(groups, scan, inputs[0], versions)

    key = tuple(i.expression for i in node.keys)
    return Lifted((KeyedInput(scan, key),), tuple(i.type for i in node.keys), columns, node.alias, apply)


def _with_empty(groups: Aggregate, scan: Scan, rows: Relation, versions: Relation) -> Relation:
    """One row per version, also for those at which the input is empty."""
    same = exp.EQ(this=column("v", SINCE), expression=column(scan.alias, SINCE))
    empty_versions = SemiJoin(versions, rows, (same,), anti=True)
    nothing = Aggregate(Values(scan.alias, scan.columns, ()), "nothing", (), groups.aggregates)
    columns = tuple(Column(i.name, i.type) for i in groups.aggregates) + VERSION
    full = Project(groups, "full", tuple(Item(c.name, c.type, column(groups.alias, c.name)) for c in columns))
    owner = {c.name: "nothing" for c in columns} | {SINCE: "v", UNTIL: "v"}
    items = tuple(Item(c.name, c.type, column(owner[c.name], c.name)) for c in columns)
    empty = Project(Join((Project(empty_versions, "v", _own(versions)), nothing), ()), "empty", items)
    return Union((full, empty), groups.alias, columns)


def _own(versions: Relation) -> tuple[Item, ...]:
    return tuple(Item(f.name, f.type, f.expression) for f in versions.fields)
