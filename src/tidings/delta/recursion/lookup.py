"""The plan that finds rows of a relation by keys."""

from __future__ import annotations

from sqlglot import exp

from tidings.delta.recursion.rounds import PREFIX
from tidings.delta.restrict import restrict
from tidings.ir.expression import column
from tidings.ir.relation import Column, Join, Project, Relation, Restrict, Scan, Version
from tidings.lang.datalog.rule_plan import as_columns, reference, renamed

KEYS = f"{PREFIX}keys"
"""The relation that has the keys."""


def lookup_plan(
    plan: Relation, columns: tuple[Column, ...], positions: tuple[int, ...], *, null_safe: bool
) -> Relation:
    """The rows of a plan that have one of some keys in the columns at these positions; NULL only if ``null_safe``.

    Of a relation it finds those that have in each of these columns what one of the keys has: the keys need not
    be joined then, and few of them are only listed.
    """
    keys = Scan(KEYS, "keys", tuple(columns[p] for p in positions), Version.DELTA)
    if isinstance(plan, Scan):
        return _restricted(plan, keys, positions, null_safe=null_safe)
    rows = renamed(plan, "looked_up", as_columns(plan.fields))
    names = as_columns(rows.fields)
    same = exp.NullSafeEQ if null_safe else exp.EQ
    tests = tuple(
        same(this=column(rows.alias, names[p].name), expression=column("keys", columns[p].name)) for p in positions
    )
    return restrict(Project(Join((keys, rows), tests), "found", tuple(reference(rows.alias, c) for c in names)))


def _restricted(scan: Scan, keys: Scan, positions: tuple[int, ...], *, null_safe: bool) -> Relation:
    rows: Relation = scan
    for position, key in zip(positions, keys.columns, strict=True):
        values = Project(keys, "keys", (reference("keys", key),))
        rows = Restrict(rows, column(scan.alias, scan.columns[position].name), values, null_safe)
    return Project(rows, "found", tuple(reference(scan.alias, c) for c in scan.columns))
