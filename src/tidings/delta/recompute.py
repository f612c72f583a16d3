"""Recompute and diff: the answer after a batch less the answer before it, both from scratch.

    Δ  =  { (r, until, +1) : r ∈ v(new state) }  ⊎  { (r, until, -1) : r ∈ v(old state) }

The answer before it need not be computed where the view is stored.

The way of last resort, for changes so large that a differential would read more.  It tells what lies between two states
and not what happened in between, so a batch of many instants takes one such program per instant, unless only the net
change is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.delta.differentiate import state
from tidings.delta.plan import Program, Step, Term
from tidings.delta.versioned import plain
from tidings.ir.expression import TIME, UNTIL, WEIGHT, read
from tidings.ir.relation import VERSION_COLUMNS, Column, Consolidate, Item, Project, Relation, Scan, Union, Version
from tidings.rewrite.pipeline import normalise


def recompute_program(
    view: str, query: Relation, changed: frozenset[str], definitions: Mapping[str, Relation], *, stored: bool = False
) -> Program:
    """The program that evaluates a query after a batch and before it, or reads the rows it had if they are stored."""
    columns = tuple(Column(f.name, f.type) for f in query.fields)
    current = normalise(query, definitions)
    before: Relation = Scan(view, "stored", columns) if stored else current
    old = plain(before, state(before, frozenset(), Version.OLD))
    sides = (_counted("after", current, "1"), _counted("before", old, "-1"))
    whole = Consolidate(Union(sides, view, columns + VERSION_COLUMNS), view)
    return Program(view, changed, columns, (Step(view, 1, columns, (Term(view, view, whole.input),), whole),))


def _counted(alias: str, rows: Relation, weight: str) -> Project:
    items = tuple(Item(f.name, f.type, f.expression) for f in rows.fields)
    more = (Item(TIME, "bigint", UNTIL.copy()), Item(WEIGHT, "bigint", read(f"CAST({weight} AS BIGINT)")))
    return Project(rows, alias, items + more)
