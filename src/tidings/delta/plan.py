"""Delta programs: what an engine runs to learn how a view changed.

A program is a list of steps in levels.  Each step computes one delta, consolidated, from the deltas of tables and
of lower steps and from old or new states.  A view is one step unless views below it are *shared*: a shared view's
delta is a step of its own, computed once, and the steps above scan it like a table's.

A program depends on the view and on which of its influents changed, not on the rows, so it is compiled once and
kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidings.analysis.influents import influents, reads
from tidings.delta import keyed
from tidings.delta.cut import cut
from tidings.delta.differentiate import differentiate, state
from tidings.delta.differentiate.lift import keyed_operator, lift
from tidings.delta.restrict import restrict
from tidings.ir.expression import column
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
    compiler = _Compiler(changed, dict(definitions), share)
    compiler.add(view, query)
    return Program(view, changed & influents(query, definitions), columns, fused(tuple(compiler.steps.values())))


@dataclass(slots=True)
class _Compiler:
    """Adds step after step; ``definitions`` grows by the parts that plans are cut into."""

    changed: frozenset[str]
    definitions: dict[str, Relation]
    share: frozenset[str]
    steps: dict[str, Step] = field(default_factory=dict)
    _still: set[str] = field(default_factory=set)

    def add(self, name: str, node: Relation) -> None:
        """The step of a view or query, and before it the steps of the parts it is cut into."""
        plan, parts = cut(name, normalise(node, self.definitions, keep=self.share))
        self.definitions |= parts
        self._add_part(name, plan)

    def _add_part(self, name: str, plan: Relation) -> None:
        moving = frozenset(r for r in sorted(reads(plan)) if self._moves(r))
        terms = self._terms(name, plan, moving)
        if not terms:
            self._still.add(name)
            return
        level = 1 + max((self.steps[r].level for r in moving if r in self.steps), default=0)
        columns = tuple(Column(f.name, f.type) for f in plan.fields)
        whole = (
            terms[0].plan if len(terms) == 1 else Union(tuple(t.plan for t in terms), name, columns + VERSION_COLUMNS)
        )
        self.steps[name] = Step(name, level, columns, terms, Consolidate(whole, name))

    def _moves(self, relation: str) -> bool:
        """Whether a relation changes; the step of a part is added before the answer."""
        if relation not in self.definitions:
            return relation in self.changed
        if relation not in self.steps and relation not in self._still:
            if relation in self.share:
                self.add(relation, self.definitions[relation])
            else:
                self._add_part(relation, self.definitions[relation])
        return relation in self.steps

    def _terms(self, name: str, plan: Relation, moving: frozenset[str]) -> tuple[Term, ...]:
        if not moving:
            return ()
        if keyed_operator(plan) is not None:
            operator = lift(plan)
            sources = [i.scan for i in operator.inputs if i.scan.relation in moving]
            rows = self._finished(keyed.delta(name, operator, moving), moving)
            return (Term(", ".join(s.relation for s in sources), ", ".join(s.alias for s in sources), rows),)
        items = tuple(Item(f.name, f.type, f.expression) for f in plan.fields)
        terms = []
        for found in differentiate(plan, moving):
            rows = found.rows.plan if isinstance(plan, Project | Union) else found.rows.projected(name, items).plan
            terms.append(Term(found.influent, found.occurrence, self._finished(rows, moving)))
        return tuple(terms)

    def _finished(self, plan: Relation, moving: frozenset[str]) -> Relation:
        return restrict(self._expand_states(plan, moving))

    def _expand_states(self, plan: Relation, moving: frozenset[str]) -> Relation:
        """Derive the states of parts and shared views from their definitions: only their deltas are at hand.

        The new state is the old one and the delta.
        """

        def expand(node: Relation) -> Relation:
            if not isinstance(node, Scan) or node.relation not in self.definitions or node.version is Version.DELTA:
                return node
            items = tuple(Item(c.name, c.type, column(node.alias, c.name)) for c in node.columns)
            current = normalise(replace(node, version=Version.CURRENT), self.definitions)
            old = state(current, frozenset(), Version.OLD)
            if node.version is Version.OLD or node.relation not in moving:
                return old.projected(node.alias, items, version_columns(node.version)).plan
            before = old.projected(node.alias, items, VERSION_COLUMNS).plan
            delta = Scan(node.relation, node.alias, node.columns, Version.DELTA)
            since = Project(delta, node.alias, tuple(Item(f.name, f.type, f.expression) for f in delta.fields))
            return Union((before, since), node.alias, node.columns + VERSION_COLUMNS)

        return rebuild(plan, expand)


def fused(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Put a lower step into the one above where it is used once: what is not shared need not be kept."""
    uses = Counter(n.relation for s in steps for n in walk(s.plan) if isinstance(n, Scan))
    done: dict[str, Step] = {}

    def inlined(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.relation not in done or uses[node.relation] > 1:
            return node
        plan = done[node.relation].plan
        by_name = {f.name: f for f in plan.fields}
        return Project(plan, node.alias, tuple(Item(f.name, f.type, by_name[f.name].expression) for f in node.fields))

    for step in steps:
        plan = rebuild(step.plan, inlined)
        terms = (
            step.terms if plan is step.plan else tuple(replace(t, plan=rebuild(t.plan, inlined)) for t in step.terms)
        )
        level = 1 + max((done[r].level for r in reads(plan) if r in done), default=0)
        done[step.name] = replace(step, plan=plan, terms=terms, level=level)
    return tuple(s for s in done.values() if s.name == steps[-1].name or uses[s.name] > 1)
