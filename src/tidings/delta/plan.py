"""Delta programs: what an engine runs to learn how a view changed.

A program is a list of steps in levels.  Each step computes one delta, consolidated, from the deltas of tables and
of lower steps and from old or new states.  A view is one step unless views below it are *shared*: a shared view's
delta is a step of its own, computed once, and the steps above scan it like a table's.

A program depends on the view and on which of its influents changed, not on the rows, so it is compiled once and
kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidings.analysis.influents import influents
from tidings.delta.differentiate import Differential, differentiate, state
from tidings.delta.restrict import restrict
from tidings.ir.relation import (
    VERSION_COLUMNS,
    Column,
    Consolidate,
    Item,
    Project,
    Relation,
    Scan,
    Union,
    Version,
    version_columns,
)
from tidings.ir.traverse import rebuild, walk
from tidings.rewrite.pipeline import normalise


@dataclass(frozen=True, slots=True)
class Term:
    """A partial differential, ready to run: the change due to one occurrence of one influent."""

    influent: str
    occurrence: str
    plan: Relation


@dataclass(frozen=True, slots=True)
class Step:
    """The delta of one relation; ``plan`` is the consolidated sum of ``terms``."""

    name: str
    level: int
    columns: tuple[Column, ...]
    terms: tuple[Term, ...]
    plan: Relation

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Every version of every relation the step reads, once."""
        found = {(n.relation, n.version): n for n in walk(self.plan) if isinstance(n, Scan)}
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Program:
    """The steps that compute a view's delta when ``changed`` changed, lower levels first; the last is the view's."""

    view: str
    changed: frozenset[str]
    columns: tuple[Column, ...]
    steps: tuple[Step, ...]


def compile_program(
    view: str,
    query: Relation,
    changed: frozenset[str],
    definitions: Mapping[str, Relation],
    share: frozenset[str] = frozenset(),
) -> Program:
    """The program for a query over tables and views.

    Without a changed influent it has no steps: the delta is empty.
    """
    columns = tuple(Column(f.name, f.type) for f in query.fields)
    steps: dict[str, Step] = {}

    def add(name: str, node: Relation) -> bool:
        """Add the step of a relation and, before it, the steps of the shared views it reads."""
        plan = normalise(node, definitions, keep=share)
        lower = sorted({n.relation for n in walk(plan) if isinstance(n, Scan) and n.relation in share})
        moving = {r for r in lower if r in steps or add(r, definitions[r])}
        terms = _terms(name, plan, changed | moving, definitions)
        if terms:
            level = 1 + max((steps[r].level for r in moving), default=0)
            steps[name] = _step(name, level, plan, terms)
        return bool(terms)

    add(view, query)
    return Program(view, changed & influents(query, definitions), columns, tuple(steps.values()))


def _terms(name: str, plan: Relation, changed: frozenset[str], definitions: Mapping[str, Relation]) -> tuple[Term, ...]:
    def finish(differential: Differential) -> Term:
        rows = differential.rows
        if not isinstance(plan, Project | Union):
            rows = rows.projected(name, tuple(Item(f.name, f.type, f.expression) for f in plan.fields))
        expanded = _expand_states(rows.plan, changed, definitions)
        return Term(differential.influent, differential.occurrence, restrict(expanded))

    return tuple(map(finish, differentiate(plan, changed)))


def _step(name: str, level: int, plan: Relation, terms: tuple[Term, ...]) -> Step:
    columns = tuple(Column(f.name, f.type) for f in plan.fields)
    whole = terms[0].plan if len(terms) == 1 else Union(tuple(t.plan for t in terms), name, columns + VERSION_COLUMNS)
    return Step(name, level, columns, terms, Consolidate(whole, name))


def _expand_states(plan: Relation, changed: frozenset[str], definitions: Mapping[str, Relation]) -> Relation:
    """Derive the old and new states of shared views from their definitions: only their deltas are at hand."""

    def expand(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.relation not in definitions or node.version is Version.DELTA:
            return node
        current = normalise(replace(node, version=Version.CURRENT), definitions)
        items = tuple(Item(f.name, f.type, f.expression) for f in current.fields)
        return state(current, changed, node.version).projected(node.alias, items, version_columns(node.version)).plan

    return rebuild(plan, expand)
