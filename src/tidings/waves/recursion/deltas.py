"""Computes the changes of recursions over a batch, before the waves of the queries that read them.

A recursion is maintained instant by instant (:mod:`tidings.delta.recursion.maintenance`): what its inputs lost and
gained as sets, found by waves of their own, is put into the maintenance rules, and these are run in rounds
(:mod:`tidings.engine.recursion`).  The old rows of its predicates are those of stored views where there are any, and
are derived on demand else.  A wave then reads the delta of a recursion like that of a table.

A recursion that counts duplicates has rounds of its own (:mod:`tidings.delta.recursion.bags`), or is evaluated anew at
each instant and compared; so is any of which a large part of the inputs has changed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK, influents, reads
from tidings.compiled import Identity
from tidings.delta.recursion.bags import BagRules
from tidings.delta.recursion.program import MaintenancePrograms
from tidings.engine.changes import consolidated, no_changes, without_version
from tidings.engine.recursion.evaluations import Evaluations
from tidings.engine.recursion.fixpoint import SMALL
from tidings.engine.source import Source, Sources
from tidings.ir.expression import TIME, WEIGHT, ref
from tidings.ir.relation import Column, Fixpoint, Project, Relation, Scan, Version
from tidings.ir.traverse import children
from tidings.lang.datalog.rule_plan import distinct
from tidings.rewrite.pipeline import normalise
from tidings.waves.executor import Executor
from tidings.waves.planner import Planner
from tidings.waves.recursion.bag_run import BagRun
from tidings.waves.recursion.choice import RecursionCosts, StorageChoice
from tidings.waves.recursion.maintenance_run import MaintenanceRun
from tidings.waves.strategy import Strategy
from tidings.waves.wave import WaveRequest

LARGE_SHARE = 0.3
"""Of inputs that change by more than this share of their rows at once the recursion is evaluated anew."""


@dataclass(frozen=True, slots=True)
class RecursionRecord:
    """What the maintenance of one recursion took."""

    name: str
    way: str
    """``stored``, ``on demand``, ``from changes alone`` or ``recompute``."""
    instants: int
    derived: int
    """Old rows that were derived because they were not at hand."""
    statements: int
    rounds: int
    in_memory: bool = False
    """Whether the rules ran over rows in this process."""

    def __str__(self) -> str:
        where = "in this process" if self.in_memory else "on the engine"
        return (
            f"{self.way}, {where}: {self.instants} instants, {self.derived} old rows derived, "
            f"{self.rounds} rounds, {self.statements} statements"
        )


@dataclass(slots=True)
class Recursion:
    """Computes the changes of the recursions of one database."""

    planner: Planner
    executor: Executor
    records: dict[str, RecursionRecord] = field(init=False, default_factory=dict)
    """The last maintenance of each recursion, by its group."""
    costs: dict[str, RecursionCosts] = field(init=False, default_factory=dict)
    """What each recursion has taken on demand so far, by its group."""
    _programs: dict[tuple[object, ...], MaintenancePrograms] = field(init=False)
    _changes: dict[Identity[Relation], Relation] = field(init=False)
    """Inputs as sets."""
    _states: dict[tuple[object, ...], Relation] = field(init=False)
    _bags: dict[tuple[object, ...], BagRules] = field(init=False)

    def __post_init__(self) -> None:
        section = self.planner.compiled.section
        self._programs, self._changes, self._states, self._bags = section(), section(), section(), section()

    def prepared(self, request: WaveRequest) -> WaveRequest:
        """A request with the deltas of the recursions that its query reads."""
        plans = (request.plan, *(request.groupings or {}).values())
        definitions = self.planner.definitions(plans, request.since, request.until)
        nodes = recursions(plans, definitions, frozenset(request.precomputed))
        if not nodes or self.planner.only is Strategy.RECOMPUTE:
            return request
        deltas: dict[str, Source] = {}
        done: dict[str, dict[str, pa.Table]] = {}
        for node in nodes.values():
            if node.group not in done:
                done[node.group] = self._deltas(node, request, definitions)
            deltas[node.name] = Source(node.columns, None, done[node.group][node.output])
        return replace(request, precomputed={**request.precomputed, **deltas}, recursive=True)

    def _deltas(self, node: Fixpoint, request: WaveRequest, definitions: Mapping[str, Relation]) -> dict[str, pa.Table]:
        """The changes of all members of a recursion."""
        batch = _Batch(request.since, request.until)
        changes = self._input_changes(node, request, definitions)
        if not any(delta.num_rows for delta in changes.values()):
            return {m.name: no_changes(m.columns) for m in node.members}
        stored = self._stored(node, request.since)
        bags = self._bag_rules(node, changes, stored, definitions) if counts_duplicates(node) else None
        if self._is_large(node, changes, definitions, request.since) or (bags is None and counts_duplicates(node)):
            return self._recomputed(node, batch, changes, stored, definitions)
        if bags is not None:
            return self._bags_maintained(bags, batch, changes, stored)
        return self._maintained(node, batch, changes, stored, definitions)

    def _input_changes(
        self, node: Fixpoint, request: WaveRequest, definitions: Mapping[str, Relation]
    ) -> dict[str, pa.Table]:
        """What each input lost and gained, as a set, at which instant."""
        changes: dict[str, pa.Table] = {}
        for name, plan in zip(node.names, node.inputs, strict=True):
            moved = self.planner.changed(influents(plan, definitions), request.since, request.until)
            columns = tuple(Column(f.name, f.type) for f in plan.fields)
            if not moved:
                changes[name] = no_changes(columns)
                continue
            rows, label = self._as_set(node, plan), f"{node.group} {name}"
            inner = self.prepared(WaveRequest(label, rows, request.since, request.until, net=request.net))
            delta = self.executor.run(self.planner.plan(inner))[label]
            changes[name] = delta if not request.net else _at_once(columns, delta, request.until)
        return changes

    def _stored(self, node: Fixpoint, since: int) -> dict[str, Scan]:
        """The members whose rows a stored view has at an instant."""
        stored: dict[str, Scan] = {}
        for view in self.planner.relations.stored():
            inner = same_rows(view.plan)
            if inner is not None and inner.group == node.group and view.reaches(since, since) and not view.is_outdated:
                stored[inner.output] = Scan(view.name, view.name, view.columns)
        return stored

    def _is_large(
        self, node: Fixpoint, changes: Mapping[str, pa.Table], definitions: Mapping[str, Relation], since: int
    ) -> bool:
        """Whether so much changes at once that it is cheaper to evaluate the recursion anew."""
        instants = len(_instants(changes))
        rows = sum(delta.num_rows for delta in changes.values())
        size = self._input_rows(node, definitions, since)
        return instants == 1 and rows > 1000 and rows > LARGE_SHARE * size

    def _input_rows(self, node: Fixpoint, definitions: Mapping[str, Relation], at: int) -> int:
        """How many rows the tables have that a recursion depends on."""
        tables = {t for plan in node.inputs for t in influents(plan, definitions) if t != CLOCK}
        return sum(self.planner.relations.rows(t).history.size(at) for t in tables)

    def in_slice(
        self,
        nodes: Iterable[Fixpoint],
        definitions: Mapping[str, Relation],
        changes_of: Callable[[str, Relation], pa.Table],
        old: Sources,
        at: int,
    ) -> dict[str, Source]:
        """The changes of recursions by what a transaction does at once, given the changes of any plan by it."""
        deltas: dict[str, Source] = {}
        for node in nodes:
            pairs = zip(node.names, node.inputs, strict=True)
            changes = {name: changes_of(f"{node.group} {name}", self._as_set(node, plan)) for name, plan in pairs}
            programs = self._compiled(node, {}, definitions)
            run = MaintenanceRun(node, programs, self.executor.runner, old, at, lambda _plan: False)
            delta = run.over([(at + 1, changes)])[node.output]
            deltas[node.name] = Source(node.columns, None, delta)
        return deltas

    def _as_set(self, node: Fixpoint, plan: Relation) -> Relation:
        """An input as the rules see it: each row once, unless duplicates count."""
        if counts_duplicates(node):
            return plan
        return self._changes.setdefault(Identity(plan), distinct(plan, "input_set"))

    # evaluated anew

    def _recomputed(
        self,
        node: Fixpoint,
        batch: _Batch,
        changes: Mapping[str, pa.Table],
        stored: Mapping[str, Scan],
        definitions: Mapping[str, Relation],
    ) -> dict[str, pa.Table]:
        """The changes of the members, each instant's answer compared with the one before."""
        deltas: dict[str, list[pa.Table]] = {m.name: [] for m in node.members}
        before = self._members_at(node, batch.since, definitions, stored)
        for instant in _instants(changes):
            after = self._members_at(node, instant, definitions, {})
            for member in node.members:
                rows = pa.concat_tables([after[member.name], before[member.name]])
                weights = [1] * after[member.name].num_rows + [-1] * before[member.name].num_rows
                deltas[member.name].append(consolidated(member.columns, rows, weights, instant))
            before = after
        self.records[node.group] = RecursionRecord(node.group, "recompute", len(_instants(changes)), 0, 0, 0)
        return {m.name: pa.concat_tables(deltas[m.name] or [no_changes(m.columns)]) for m in node.members}

    def _members_at(
        self, node: Fixpoint, at: int, definitions: Mapping[str, Relation], stored: Mapping[str, Scan]
    ) -> dict[str, pa.Table]:
        """The rows of all members at an instant."""
        rows: dict[str, pa.Table] = {}
        sources = self.at(at)
        for member in node.members:
            plan: Relation = stored.get(member.name) or replace(node, output=member.name)
            state = self._state(plan, definitions, (node.group, member.name, member.name in stored))
            table = self.executor.runner.rows(state, sources, 0, at)
            rows[member.name] = table.rename_columns([c.name for c in member.columns])
        return rows

    # maintained

    def _bag_rules(
        self,
        node: Fixpoint,
        changes: Mapping[str, pa.Table],
        stored: Mapping[str, Scan],
        definitions: Mapping[str, Relation],
    ) -> BagRules | None:
        """The plans that give the changes of a recursion that counts duplicates; None where it is evaluated anew."""
        key = (node.group, "bags", frozenset(s.relation for s in stored.values()), frozenset(definitions))
        if key not in self._bags:
            given = {name: normalise(plan, definitions) for name, plan in zip(node.names, node.inputs, strict=True)}
            rows = stored.get(node.output)
            self._bags[key] = BagRules(node, given, () if rows is None else rows.columns)
        rules = self._bags[key]
        moved = frozenset(name for name, delta in changes.items() if delta.num_rows)
        timed = any(CLOCK in influents(plan, definitions) for plan in node.inputs)
        has_rows = bool(rules.stored) or (rules.is_maintained and not rules.reads_old_rows(moved))
        return rules if rules.is_maintained and has_rows and not timed else None

    def _bags_maintained(
        self, rules: BagRules, batch: _Batch, changes: Mapping[str, pa.Table], stored: Mapping[str, Scan]
    ) -> dict[str, pa.Table]:
        member, group = rules.member, rules.node.group
        scan = stored.get(member.name)
        old = None if scan is None else self.at(batch.since)(scan.relation, Version.CURRENT)
        run = BagRun(rules, self.executor.runner, self.at, old)
        parts, before = [no_changes(member.columns)], batch.since
        for instant in _instants(changes):
            moved = {n: d.filter(pc.equal(d.column(TIME), instant)) for n, d in changes.items()}
            parts.append(run.instant(before, instant, moved))
            before = instant
        way = "from changes alone" if scan is None else "stored"
        self.records[group] = RecursionRecord(group, way, len(parts) - 1, 0, run.statements, run.rounds)
        return {member.name: pa.concat_tables(parts)}

    def _maintained(
        self,
        node: Fixpoint,
        batch: _Batch,
        changes: Mapping[str, pa.Table],
        stored: Mapping[str, Scan],
        definitions: Mapping[str, Relation],
    ) -> dict[str, pa.Table]:
        """The changes of the members by the maintenance rules, instant by instant."""
        programs = self._compiled(node, stored, definitions)

        def few(plan: Relation) -> bool:
            return self._rows_below(plan, batch.since) <= SMALL

        run = MaintenanceRun(node, programs, self.executor.runner, self.at(batch.since), batch.since, few)
        instants = [
            (t, {n: d.filter(pc.equal(d.column(TIME), t)) for n, d in changes.items()}) for t in _instants(changes)
        ]
        deltas = run.over(instants)
        way = "on demand" if programs.on_demand else "stored"
        if programs.on_demand:
            costs = self.costs.setdefault(node.group, RecursionCosts())
            changed, told = (sum(map(len, tables.values())) for tables in (changes, deltas))
            costs.add(changed, told, run.derived)
        self.records[node.group] = RecursionRecord(
            node.group, way, len(instants), run.derived, run.statements, run.rounds, run.in_memory
        )
        return deltas

    def _rows_below(self, plan: Relation, at: int) -> int:
        """How many rows the tables have that a plan reads."""
        relations = self.planner.relations
        return sum(relations.rows(r).history.size(at) for r in reads(plan) if r != CLOCK)

    def storage_choice(self, node: Fixpoint, at: int) -> StorageChoice:
        """Whether the rows of a recursion are worth storing by now."""
        evaluations = self.executor.runner.evaluations.get(node.group, Evaluations())
        definitions = self.planner.definitions([node], at)
        return self.costs.get(node.group, RecursionCosts()).choice(self._input_rows(node, definitions, at), evaluations)

    def programs(self, node: Fixpoint, since: int) -> MaintenancePrograms:
        """The rules by which a recursion is maintained from an instant on."""
        return self._compiled(node, self._stored(node, since), self.planner.definitions([node], since))

    def _compiled(
        self, node: Fixpoint, stored: Mapping[str, Scan], definitions: Mapping[str, Relation]
    ) -> MaintenancePrograms:
        key = (node.group, frozenset(s.relation for s in stored.values()), frozenset(definitions))
        if key not in self._programs:
            given = {name: normalise(plan, definitions) for name, plan in zip(node.names, node.inputs, strict=True)}
            self._programs[key] = MaintenancePrograms(node, dict(stored), given)
        return self._programs[key]

    def _state(self, plan: Relation, definitions: Mapping[str, Relation], key: tuple[object, ...]) -> Relation:
        """A plan over tables, made once."""
        whole = (*key, frozenset(definitions))
        if whole not in self._states:
            self._states[whole] = normalise(plan, definitions)
        return self._states[whole]

    def at(self, at: int) -> Sources:
        """The rows of relations at an instant; each source is made once."""

        @cache
        def source(relation: str, version: Version) -> Source:
            return self.planner.relations.rows(relation).source(version, 0, at)

        return source


@dataclass(frozen=True, slots=True)
class _Batch:
    since: int
    until: int


def recursions(
    plans: Iterable[Relation], definitions: Mapping[str, Relation], precomputed: frozenset[str]
) -> dict[str, Fixpoint]:
    """The recursions that plans read, directly or through views, but not through other recursions."""
    found: dict[str, Fixpoint] = {}
    seen: set[str] = set()

    def go(plan: Relation) -> None:
        if isinstance(plan, Fixpoint):
            found.setdefault(plan.name, plan)
            return
        if isinstance(plan, Scan) and plan.relation in definitions and plan.relation not in precomputed | seen:
            seen.add(plan.relation)
            go(definitions[plan.relation])
        for child in children(plan):
            go(child)

    for plan in plans:
        go(plan)
    return found


def counts_duplicates(node: Fixpoint) -> bool:
    """Whether rows are there as often as they can be derived."""
    return any(m.extreme == "all" for m in node.members)


def same_rows(plan: Relation) -> Fixpoint | None:
    """The recursion whose rows a plan gives as they are."""
    while isinstance(plan, Project):
        inner = [ref(item.expression) for item in plan.items]
        if inner != [f.ref for f in plan.input.fields]:
            return None
        plan = plan.input
    return plan if isinstance(plan, Fixpoint) else None


def _instants(changes: Mapping[str, pa.Table]) -> list[int]:
    """The instants at which something changed, in order."""
    return sorted({t for delta in changes.values() for t in pc.unique(delta.column(TIME)).to_pylist()})


def _at_once(columns: tuple[Column, ...], delta: pa.Table, at: int) -> pa.Table:
    """Changes with all instants folded into one."""
    return consolidated(columns, without_version(delta), delta.column(WEIGHT), at)
