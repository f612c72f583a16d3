"""Recompute and diff: the answer after a batch less the answer before it, both from scratch.

    Δ  =  { (r, until, +1) : r ∈ v(new state) }  ⊎  { (r, until, -1) : r ∈ v(old state) }

The answer before it need not be computed where the view is stored.  The groupings of a stored view are recomputed
first, each in a step of its own, and the view from their new rows: the tables are read once for each grouping, and not
once more for the view.

The way of last resort, for changes so large that a differential would take longer.  It tells what lies between two
states and not what happened in between, so a batch of many instants takes one such program per instant, unless only the
net change is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.analysis.influents import influents
from tidings.delta.differentiate import state
from tidings.delta.plan import Program, Step, Term
from tidings.delta.versioned import plain
from tidings.ir.expression import TIME, UNTIL, WEIGHT, read
from tidings.ir.relation import VERSION_COLUMNS, Column, Consolidate, Item, Project, Relation, Scan, Union, Version
from tidings.rewrite.pipeline import normalise


def recompute_program(
    view: str,
    query: Relation,
    changed: frozenset[str],
    definitions: Mapping[str, Relation],
    groupings: Mapping[str, Relation] | None = None,
) -> Program:
    """The program that evaluates a query after a batch and before it.

    With ``groupings`` the query is that of a stored view over them, and they are in the store like its own rows; each
    may read those before it.  Those that nothing below them changed are read as they are stored.
    """
    columns = _columns(query)
    if groupings is None:
        return Program(view, changed, columns, (_step(view, query, definitions, stored=False),))
    unstored = {name: plan for name, plan in definitions.items() if name not in groupings}
    known = unstored | dict(groupings)
    moving = {name: plan for name, plan in groupings.items() if influents(plan, known) & changed}
    steps = (_step(name, plan, unstored, stored=True) for name, plan in (moving | {view: query}).items())
    return Program(view, changed, columns, tuple(steps), compares_stored=True)


def new_rows(step: Step) -> Relation:
    """The rows that a step of a recompute computes, of the state after the batch."""
    assert isinstance(step.plan, Consolidate)
    assert isinstance(step.plan.input, Union)
    after = step.plan.input.inputs[0]
    assert isinstance(after, Project)
    return after.input


def _step(name: str, query: Relation, definitions: Mapping[str, Relation], *, stored: bool) -> Step:
    columns = _columns(query)
    current = normalise(query, definitions)
    before: Relation = Scan(name, "stored", columns) if stored else current
    old = plain(before, state(before, frozenset(), Version.OLD))
    sides = (_counted("after", current, "1"), _counted("before", old, "-1"))
    whole = Consolidate(Union(sides, name, columns + VERSION_COLUMNS), name)
    return Step(name, 1, columns, (Term(name, name, whole.input),), whole)


def _columns(query: Relation) -> tuple[Column, ...]:
    return tuple(Column(f.name, f.type) for f in query.fields)


def _counted(alias: str, rows: Relation, weight: str) -> Project:
    items = tuple(Item(f.name, f.type, f.expression) for f in rows.fields)
    more = (Item(TIME, "bigint", UNTIL.copy()), Item(WEIGHT, "bigint", read(f"CAST({weight} AS BIGINT)")))
    return Project(rows, alias, items + more)
