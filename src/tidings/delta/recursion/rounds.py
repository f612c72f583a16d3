"""Rules as plans for semi-naive evaluation, stratum by stratum.

In the first round every rule of a stratum is evaluated as it stands.  From then on a rule is evaluated once per literal
whose predicate has new rows, over these and all rows of the others:

    new(p)  =  ⋃_i  π(r₁ ⋈ … ⋈ new(rᵢ) ⋈ … ⋈ rₙ)  ▷  p

The plans are the same in every round, so they do not grow with its number.  Of a predicate scans read two versions: OLD
are all rows, DELTA the new ones of the round before.  A predicate that is *inlined* has no rows of its own: its rules
stand where it is read, so that ``edge_new`` costs no copy of ``edge``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from tidings.delta.restrict import restrict
from tidings.ir.expression import Expression, column, operand
from tidings.ir.relation import Aggregate, Column, Item, Project, Relation, Scan, SemiJoin, Union, Version
from tidings.ir.rename import rename
from tidings.ir.rule import DatalogAtom, DatalogRule, Literal, variable
from tidings.lang.datalog.rule_plan import distinct, reference, renamed, rule_plan
from tidings.lang.datalog.strata import components, is_recursive

PREFIX = "predicate "
"""Before the names of predicates, so that no relation has theirs."""


@dataclass(frozen=True)
class RuleProgram:
    """Rules, the columns of all predicates, and where the rows of those come from that no rule defines."""

    rules: tuple[DatalogRule, ...]
    columns: Mapping[str, tuple[Column, ...]]
    given: Mapping[str, Relation] = field(default_factory=dict)
    """Plans of predicates that are read in place."""
    inlined: frozenset[str] = frozenset()
    """Predicates whose rules stand where they are read."""
    extremes: Mapping[str, str] = field(default_factory=dict)
    """Predicates that keep the least or greatest value of their last column, or ``all`` duplicates."""
    unless: Mapping[str, str] = field(default_factory=dict)
    """Predicates of which rows do not count that stay in another one: ``p_ins`` without what is in ``p`` and stays."""

    def of(self, predicate: str) -> tuple[DatalogRule, ...]:
        return tuple(r for r in self.rules if r.head.predicate == predicate)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The predicates that have rows of their own, in the order of the rules."""
        names = dict.fromkeys(r.head.predicate for r in self.rules)
        return tuple(name for name in names if name not in self.inlined)

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The predicates that depend on each other together, lower ones first."""
        return tuple(components(self._edges))

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        return {head: self._below(head) & set(self.heads) for head in self.heads}

    @cached_property
    def strata(self) -> tuple[Stratum, ...]:
        """The plans of the layers."""
        compiler = _StratumCompiler(self)
        return tuple(compiler.stratum(c, recursive=is_recursive(c, self._edges)) for c in self.layers)

    def _below(self, predicate: str) -> set[str]:
        """The predicates with rows of their own that rules read, through inlined ones too."""
        names: set[str] = set()
        for rule in self.of(predicate):
            for literal in rule.body:
                is_inlined = literal.predicate in self.inlined
                names |= self._below(literal.predicate) if is_inlined else {literal.predicate}
        return names


@dataclass(frozen=True, slots=True)
class Stratum:
    """The plans of predicates that depend on each other: of the first round, and of all that follow."""

    heads: tuple[str, ...]
    first: Mapping[str, Relation]
    again: Mapping[str, Relation]
    """What follows from new rows; none where no rule reads them."""
    reads: Mapping[str, frozenset[str]]
    """Whose new rows each plan of the following rounds reads."""
    needs: Mapping[str, tuple[frozenset[str], ...]]
    """For each rule of a predicate the predicates without whose rows it gives none in the first round."""
    improve: Mapping[str, Relation]
    """All rows of predicates with least or greatest values, the better ones in the place of those they replace."""


@dataclass(frozen=True, slots=True)
class _StratumCompiler:
    program: RuleProgram

    def stratum(self, heads: tuple[str, ...], *, recursive: bool) -> Stratum:
        program = self.program
        first = {h: self._new(h, [self._plan(r, n, {}) for n, r in enumerate(program.of(h))]) for h in heads}
        again: dict[str, Relation] = {}
        reads: dict[str, frozenset[str]] = {}
        for head in heads if recursive else ():
            variants, moving = self._variants(head, heads)
            if variants:
                again[head], reads[head] = self._new(head, variants), frozenset(moving)
        improve = {h: self._improved(h) for h in heads if program.extremes.get(h) in ("min", "max")}
        needs = {h: tuple(map(self._needed, program.of(h))) for h in heads}
        return Stratum(heads, first, again, reads, needs, improve)

    def _needed(self, rule: DatalogRule) -> frozenset[str]:
        """The predicates with rows of their own that a rule joins."""
        elsewhere = self.program.inlined | self.program.given.keys()
        return frozenset(i.predicate for i in rule.positive if i.predicate not in elsewhere)

    def _variants(self, head: str, heads: tuple[str, ...]) -> tuple[list[Relation], set[str]]:
        """The plans of a predicate's rules, one per literal that has new rows, and whose rows these are."""
        plans: list[Relation] = []
        moving: set[str] = set()
        for number, rule in enumerate(self.program.of(head)):
            for position, literal in enumerate(rule.body):
                movers = self._movers(literal.predicate, heads)
                if movers and not literal.negated:
                    moving |= movers
                    news = {position: heads}
                    plans.append(restrict(self._plan(rule, 100 * number + position, news)))
        return plans, moving

    def _movers(self, predicate: str, heads: tuple[str, ...]) -> set[str]:
        if predicate in heads:
            return {predicate}
        if predicate not in self.program.inlined:
            return set()
        bodies = (i.predicate for r in self.program.of(predicate) for i in r.positive)
        return {m for body in bodies for m in self._movers(body, heads)}

    def _plan(self, rule: DatalogRule, number: int, news: Mapping[int, tuple[str, ...]]) -> Project:
        """The rows of a rule; the literals in ``news`` read only what is new."""

        def rows(position: int, alias: str) -> Relation:
            predicate = rule.body[position].predicate
            if position in news:
                return self._new_rows(predicate, alias, news[position])
            return self._rows(predicate, alias)

        head = rule.head.predicate
        return rule_plan(_ordered(rule, news), _reordered(rule, news, rows), self.program.columns[head], f"r{number}")

    def _rows(self, predicate: str, alias: str) -> Relation:
        columns = self.program.columns[predicate]
        if predicate in self.program.given:
            plan = self.program.given[predicate]
            if isinstance(plan, Scan) and plan.columns == columns:
                return replace(plan, alias=alias)
            return renamed(rename(plan, lambda inner: f"{alias}_{inner}"), alias, columns)
        if predicate not in self.program.inlined:
            return Project(
                scan := Scan(PREFIX + predicate, f"{alias}_all", columns, Version.OLD),
                alias,
                tuple(reference(scan.alias, c) for c in columns),
            )
        branches = [
            _aliased(rule_plan(r, self._inner(r, f"{alias}_{n}"), columns, f"{alias}_{n}"), f"{alias}_{n}")
            for n, r in enumerate(self.program.of(predicate))
        ]
        return renamed(_union(branches, f"{alias}_u", columns), alias, columns)

    def _inner(self, rule: DatalogRule, prefix: str) -> Callable[[int, str], Relation]:
        return lambda position, alias: self._rows(rule.body[position].predicate, f"{prefix}{alias}")

    def _new_rows(self, predicate: str, alias: str, heads: tuple[str, ...]) -> Relation:
        columns = self.program.columns[predicate]
        if predicate in heads:
            scan = Scan(PREFIX + predicate, f"{alias}_new", columns, Version.DELTA)
            return Project(scan, alias, tuple(reference(scan.alias, c) for c in columns))
        branches: list[Relation] = []
        for number, rule in enumerate(self.program.of(predicate)):
            for position, literal in enumerate(rule.body):
                if self._movers(literal.predicate, heads) and not literal.negated:
                    prefix = f"{alias}_{number}_{position}"
                    branches.append(rule_plan(rule, self._with_new(rule, position, prefix, heads), columns, prefix))
        return renamed(_union(branches, f"{alias}_u", columns), alias, columns)

    def _with_new(
        self, rule: DatalogRule, new: int, prefix: str, heads: tuple[str, ...]
    ) -> Callable[[int, str], Relation]:
        def rows(position: int, alias: str) -> Relation:
            predicate = rule.body[position].predicate
            if position == new:
                return self._new_rows(predicate, f"{prefix}{alias}", heads)
            return self._rows(predicate, f"{prefix}{alias}")

        return rows

    def _new(self, head: str, plans: list[Relation]) -> Relation:
        """The rows of some plans that a predicate does not have yet."""
        columns = self.program.columns[head]
        candidates = _union(plans, "candidates", columns)
        kind = self.program.extremes.get(head)
        known = Scan(PREFIX + head, "known", columns, Version.OLD)
        if kind == "all":
            return renamed(candidates, "new", columns)
        rows = distinct(candidates, "found") if kind is None else _best(candidates, columns, kind)
        found = SemiJoin(self._less_idle(head, rows, columns), known, _covered("known", columns, kind), anti=True)
        return Project(found, "new", tuple(reference("found", c) for c in columns))

    def _less_idle(self, head: str, found: Relation, columns: tuple[Column, ...]) -> Relation:
        """Rows without those that another predicate has and does not lose: they change nothing."""
        kept, kind = self.program.unless.get(head), self.program.extremes.get(head)
        if kept is None:
            return found
        atom, gone = _atom(kept, columns), _atom(f"{kept}_del", columns)
        if kind is not None:
            gone = replace(gone, terms=(*gone.terms[:-1], variable("_value")))
        stays = DatalogRule(atom, (Literal(atom), Literal(gone, True)))
        rows = _aliased(rule_plan(stays, self._inner(stays, "stays"), columns, "stays"), "stays")
        return SemiJoin(found, rows, _covered("stays", columns, kind), anti=True)

    def _improved(self, head: str) -> Relation:
        """All rows of a predicate with least or greatest values after a round."""
        columns = self.program.columns[head]
        known = Scan(PREFIX + head, "known", columns, Version.OLD)
        new = Scan(PREFIX + head, "better", columns, Version.DELTA)
        tests = tuple(_same(column("known", c.name), column("better", c.name)) for c in columns[:-1])
        kept = Project(SemiJoin(known, new, tests, anti=True), "kept", tuple(reference("known", c) for c in columns))
        come = Scan(PREFIX + head, "come", columns, Version.DELTA)
        new_rows = Project(come, "came", tuple(reference("come", c) for c in columns))
        return Union((kept, new_rows), "rows", columns)


def _atom(predicate: str, columns: tuple[Column, ...]) -> DatalogAtom:
    return DatalogAtom(predicate, tuple(variable(f"x{n}") for n in range(1, len(columns) + 1)))


def _ordered(rule: DatalogRule, news: Mapping[int, tuple[str, ...]]) -> DatalogRule:
    """A rule whose literals with new rows come first: joins go from the new rows outwards, negated literals last."""
    first = [literal for n, literal in enumerate(rule.body) if n in news]
    rest = [literal for n, literal in enumerate(rule.body) if n not in news]
    return replace(rule, body=(*first, *rest))


def _reordered(
    rule: DatalogRule, news: Mapping[int, tuple[str, ...]], rows: Callable[[int, str], Relation]
) -> Callable[[int, str], Relation]:
    places = [n for n in range(len(rule.body)) if n in news] + [n for n in range(len(rule.body)) if n not in news]
    return lambda position, alias: rows(places[position], alias)


def _best(candidates: Relation, columns: tuple[Column, ...], kind: str) -> Relation:
    """The least or greatest value of each group."""
    *keys, value = columns
    fields = {f.name: f.expression for f in candidates.fields}
    call = exp.Min if kind == "min" else exp.Max
    best = Item(value.name, value.type, call(this=fields[value.name].copy()))
    groups = tuple(Item(c.name, c.type, fields[c.name]) for c in keys)
    return Aggregate(candidates, "found", groups, (best,))


def _covered(by: str, columns: tuple[Column, ...], kind: str | None) -> tuple[Expression, ...]:
    """What holds of rows of ``found`` that others have too, or have a value for that is at least as good."""

    def same(target: Column) -> Expression:
        return _same(column("found", target.name), column(by, target.name))

    if kind is None:
        return tuple(map(same, columns))
    *keys, value = columns
    found, better = column("found", value.name), exp.LTE if kind == "min" else exp.GTE
    is_better = better(this=column(by, value.name), expression=found)
    no_value = exp.Is(this=found.copy(), expression=exp.Null())
    return (*map(same, keys), exp.Or(this=is_better, expression=no_value))


def _union(plans: Sequence[Relation], alias: str, columns: tuple[Column, ...]) -> Relation:
    return plans[0] if len(plans) == 1 else Union(tuple(plans), alias, columns)


def _aliased(plan: Project, alias: str) -> Project:
    return plan if plan.alias == alias else replace(plan, alias=alias)


def _same(left: Expression, right: Expression) -> Expression:
    return exp.NullSafeEQ(this=operand(left), expression=operand(right))
