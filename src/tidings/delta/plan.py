"""Delta programs: what an engine runs to learn how a view changed.

A program is a list of steps in levels.  Each step computes one delta, consolidated, from the deltas of tables and
of lower steps and from old or new states.  A view is one step unless views below it are *shared*: a shared view's
delta is a step of its own, computed once, and the steps above scan it like a table's.  A shared view may be *stored*:
then its old state is read and not derived.

A program depends on the view and on which of its influents changed, not on the rows, so it is compiled once and
used for every batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain

from tidings.analysis.influents import influents, reads
from tidings.compiled import Identity
from tidings.delta import keyed, merge
from tidings.delta.differentiate import differentiate, own_operator, state
from tidings.delta.differentiate.lift import keyed_operator, lift, without_key
from tidings.delta.differentiate.two_sided import is_linear
from tidings.delta.restrict import restrict
from tidings.delta.running_aggregates import running_aggregates
from tidings.delta.shared_views import shared_views
from tidings.delta.split_parts import split_parts
from tidings.delta.versioned import Versioned
from tidings.ir.expression import column
from tidings.ir.relation import (
    VERSION_COLUMNS,
    Aggregate,
    Column,
    Consolidate,
    Fixpoint,
    Item,
    Project,
    Relation,
    Scan,
    Union,
    Version,
    version_columns,
)
from tidings.ir.traverse import children, rebuild, walk
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
    keyless: tuple[str, ...] = ()
    """What in it has no key and so reads its input whole at every instant."""
    once: bool = False
    """Whether it reads its input no more than once, however many instants there are."""

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Every version of every relation the step reads, once."""
        return _scans(Identity(self.plan))


@lru_cache(maxsize=2048)
def _scans(plan: Identity[Relation]) -> tuple[Scan, ...]:
    scans = {(n.relation, n.version): n for n in walk(plan.of) if isinstance(n, Scan)}
    return tuple(scans.values())


@dataclass(frozen=True, slots=True)
class Program:
    """The steps that compute a view's delta when ``changed`` changed, lower levels first; the last is the view's."""

    view: str
    changed: frozenset[str]
    columns: tuple[Column, ...]
    steps: tuple[Step, ...]
    compares_stored: bool = False
    """Whether each step computes all new rows and compares them with those stored under its name, from before."""


def compile_program(
    view: str,
    query: Relation,
    changed: frozenset[str],
    definitions: Mapping[str, Relation],
    share: frozenset[str] = frozenset(),
    stored: frozenset[str] = frozenset(),
    merged: frozenset[str] = frozenset(),
    precomputed: frozenset[str] = frozenset(),
    normal_forms: dict[str, Relation] | None = None,
) -> Program:
    """The program for a query over tables and views.

    Views in ``stored`` are shared, and their rows are in the store; the deltas of those in ``merged``, groupings into
    accumulators, are made from these rows and the changes alone.  The deltas of views in ``precomputed`` are known
    already, like those of tables; those that changed are in ``changed``.  Without a changed influent a program has
    no steps: the delta is empty.

    ``normal_forms`` are those that calls for other changes of the same query have left there.
    """
    columns = tuple(Column(f.name, f.type) for f in query.fields)
    share |= stored | precomputed | shared_views(query, definitions)
    forms = {} if normal_forms is None else normal_forms
    compiler = _Compiler(changed, dict(definitions), share, stored, merged, precomputed, forms)
    compiler.add(view, query)
    steps = fused(tuple(compiler.steps.values()), stored)
    leaves = {name: plan for name, plan in definitions.items() if name not in precomputed}
    return Program(view, changed & influents(query, leaves), columns, steps)


@dataclass(slots=True)
class _Compiler:
    """Adds step after step; ``definitions`` grows by the parts that plans are cut into."""

    changed: frozenset[str]
    definitions: dict[str, Relation]
    share: frozenset[str]
    stored: frozenset[str]
    merged: frozenset[str]
    precomputed: frozenset[str]
    normal_forms: dict[str, Relation]
    steps: dict[str, Step] = field(init=False, default_factory=dict)
    _running: set[str] = field(init=False, default_factory=set)
    """Groupings into accumulators that are merged though they are not stored."""
    _unchanged: set[str] = field(init=False, default_factory=set)
    _old_states: dict[Scan, Versioned] = field(init=False, default_factory=dict)

    def add(self, name: str, node: Relation) -> None:
        """The step of a view or query, and before it the steps of the parts it is cut into."""
        if name not in self.normal_forms:
            self.normal_forms[name] = normalise(node, self.definitions, keep=self.share)
        plan, parts = split_parts(name, self.normal_forms[name])
        for part, definition in parts.items():
            self.definitions[part] = self._running_part(part, definition)
        self._add_part(name, plan if name in self.stored else self._running_part(name, plan))

    def _running_part(self, name: str, plan: Relation) -> Relation:
        """A part over accumulators that are carried on, if it is a grouping that can be."""
        over, groups = running_aggregates(name, plan)
        self.definitions |= groups
        self._running |= set(groups)
        return over

    def _add_part(self, name: str, plan: Relation) -> None:
        moving = frozenset(r for r in sorted(reads(plan)) if self._moves(r))
        terms = self._terms(name, plan, moving)
        if not terms:
            self._unchanged.add(name)
            return
        level = 1 + max((self.steps[r].level for r in moving if r in self.steps), default=0)
        columns = tuple(Column(f.name, f.type) for f in plan.fields)
        whole = (
            terms[0].plan if len(terms) == 1 else Union(tuple(t.plan for t in terms), name, columns + VERSION_COLUMNS)
        )
        keyless = () if name in self.merged else without_key(plan)
        once = name in self._running or own_operator.own_operator(plan) is not None
        self.steps[name] = Step(name, level, columns, terms, Consolidate(whole, name), keyless, once)

    def _moves(self, relation: str) -> bool:
        """Whether a relation changes; the step of a part is added before the answer."""
        definition = self.definitions.get(relation)
        if isinstance(definition, Fixpoint) and definition.name == relation:
            return bool(influents(definition, self.definitions) & self.changed)
        if definition is None or relation in self.precomputed:
            return relation in self.changed
        if relation not in self.steps and relation not in self._unchanged:
            if relation in self.share:
                self.add(relation, self.definitions[relation])
            else:
                self._add_part(relation, self.definitions[relation])
        return relation in self.steps

    def _terms(self, name: str, plan: Relation, moving: frozenset[str]) -> tuple[Term, ...]:
        if not moving:
            return ()
        if name in self.merged | self._running and isinstance(plan, Aggregate):
            (source,) = (n for n in children(plan) if isinstance(n, Scan))
            return (Term(source.relation, source.alias, self._finished(merge.delta(name, plan), moving)),)
        own = own_operator.own_operator(plan)
        if own is not None:
            source = own.source
            rows = self._finished(own_operator.delta(name, own, moving), moving)
            return (Term(source.relation, source.alias, rows),)
        keyed_node = keyed_operator(plan)
        if keyed_node is not None and not is_linear(keyed_node, moving):
            operator = lift(plan)
            sources = [i.scan for i in operator.inputs if i.scan.relation in moving]
            rows = self._finished(keyed.delta(name, operator, moving), moving)
            return (Term(", ".join(s.relation for s in sources), ", ".join(s.alias for s in sources), rows),)
        items = tuple(Item(f.name, f.type, f.expression) for f in plan.fields)
        terms = []
        for term in differentiate(plan, moving):
            rows = term.rows.plan if isinstance(plan, Project | Union) else term.rows.projected(name, items).plan
            terms.append(Term(term.influent, term.occurrence, self._finished(rows, moving)))
        return tuple(terms)

    def _finished(self, plan: Relation, moving: frozenset[str]) -> Relation:
        return restrict(self._expand_states(plan, moving))

    def _expand_states(self, plan: Relation, moving: frozenset[str]) -> Relation:
        """Derive the states of parts and shared views from their definitions, unless they are stored.

        The new state is the old one and the delta.
        """

        def expand(node: Relation) -> Relation:
            if not isinstance(node, Scan) or node.relation not in self.definitions or node.version is Version.DELTA:
                return node
            items = tuple(Item(c.name, c.type, column(node.alias, c.name)) for c in node.columns)
            old = self._old_state(replace(node, version=Version.CURRENT))
            if node.version is Version.OLD or node.relation not in moving:
                return old.projected(node.alias, items, version_columns(node.version)).plan
            before = old.projected(node.alias, items, VERSION_COLUMNS).plan
            delta = Scan(node.relation, node.alias, node.columns, Version.DELTA)
            since = Project(delta, node.alias, tuple(Item(f.name, f.type, f.expression) for f in delta.fields))
            return Union((before, since), node.alias, node.columns + VERSION_COLUMNS)

        return rebuild(plan, expand)

    def _old_state(self, scan: Scan) -> Versioned:
        """The old state of a part or shared view, derived once."""
        if scan not in self._old_states:
            current = normalise(scan, self.definitions, keep=self.stored)
            self._old_states[scan] = state(current, frozenset(), Version.OLD)
        return self._old_states[scan]


def fused(steps: tuple[Step, ...], stored: frozenset[str] = frozenset()) -> tuple[Step, ...]:
    """Put a lower step into the one above where it is used once: what is not shared need not be computed apart."""
    uses = Counter(n.relation for s in steps for n in walk(s.plan) if isinstance(n, Scan))
    uses.update(dict.fromkeys(stored, 2))
    done: dict[str, Step] = {}

    def is_inlined(node: Scan) -> bool:
        return node.relation in done and uses[node.relation] == 1

    def inlined(node: Relation) -> Relation:
        if not isinstance(node, Scan) or not is_inlined(node):
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
        inlined_names = {n.relation for n in walk(step.plan) if isinstance(n, Scan) and is_inlined(n)}
        inside = (done[relation].keyless for relation in sorted(inlined_names))
        keyless = tuple(dict.fromkeys((*step.keyless, *chain.from_iterable(inside))))
        once = all(s.once for s in (step, *(done[r] for r in inlined_names)) if s.keyless)
        done[step.name] = replace(step, plan=plan, terms=terms, level=level, keyless=keyless, once=once)
    return tuple(s for s in done.values() if s.name == steps[-1].name or uses[s.name] > 1)
