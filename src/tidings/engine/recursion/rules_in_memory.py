"""Runs rule programs over rows as Python values: for recursions of which a small part is touched.

A round of statements costs milliseconds on DuckDB and tenths of a second on Spark, however few rows it finds; here it
costs what its rows cost.  Predicates are sets of tuples with an index per combination of bound columns.  What rules
read of tables is fetched by the engine, for all keys of a round in one query, and small relations whole.

Only programs are run here on whose values Python and the engines agree: exact types, equality, comparisons, and whole
numbers that stay small.  What turns out larger than :data:`LIMIT` rows, or computes larger numbers, is left to the
engine (:class:`NotInMemory`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from tidings.delta.recursion.rounds import RuleProgram
from tidings.engine.recursion.indexed_rows import FetchedRows, IndexedRows, Positions, Row
from tidings.engine.recursion.rule_values import Binding, NotInMemory, holds, value_of
from tidings.errors import FixpointTooLong
from tidings.ir.expression import Expression
from tidings.ir.rule import DatalogAtom, DatalogRule, Literal, flattened, is_any, names_in, variable_name
from tidings.running_statements import checkpoint

LIMIT = 100_000
"""So many rows are derived here at most."""


@dataclass(slots=True)
class InMemoryRun:
    """Runs rule programs, one after the other, over the same predicates."""

    given: dict[str, FetchedRows]
    limit: int
    """The most rounds."""
    predicates: dict[str, IndexedRows] = field(default_factory=dict)
    rounds: int = 0
    trace: list[dict[str, set[Row]]] | None = None
    """What each round found, for those who ask for it."""
    _size: int = 0

    def of(self, predicate: str) -> IndexedRows:
        return self.predicates.setdefault(predicate, IndexedRows())

    def evaluate(self, program: RuleProgram) -> None:
        """Add what follows from the rows there are, stratum by stratum."""
        for heads in program.layers:
            _Layer(self, program, frozenset(heads)).run()

    def add(self, predicate: str, rows: Iterable[Row], extreme: str | None = None) -> set[Row]:
        """Add rows to a predicate; those that are new."""
        target = self.of(predicate)
        if extreme is not None:
            return self._improve(target, rows, extreme)
        new = {row for row in rows if row not in target.rows}
        target.add(new)
        self._size += len(new)
        if self._size > LIMIT:
            raise NotInMemory(f"more than {LIMIT:,} rows")
        return new

    def _improve(self, target: IndexedRows, rows: Iterable[Row], extreme: str) -> set[Row]:
        """Keep the best value of each group; the rows that are better than those before."""
        best: dict[Row, Any] = {}
        for *key, value in rows:
            group = tuple(key)
            if group not in best or _is_better(value, best[group], extreme):
                best[group] = value
        improved: set[Row] = set()
        for group, value in best.items():
            known = list(target.having(tuple(range(len(group))), group)) if group else list(target.rows)
            if not known or _is_better(value, known[0][-1], extreme):
                for row in known:
                    target.remove(row)
                improved.add((*group, value))
        target.add(improved)
        self._size += len(improved)
        if self._size > LIMIT:
            raise NotInMemory(f"more than {LIMIT:,} rows")
        return improved


def _is_better(value: Any, than: Any, extreme: str) -> bool:
    """NULL is no value: anything is better."""
    if value is None or than is None:
        return value is not None
    return bool(value < than) if extreme == "min" else bool(value > than)


@dataclass(slots=True)
class _Layer:
    """Predicates that depend on each other, evaluated semi-naively."""

    run_of: InMemoryRun
    program: RuleProgram
    heads: frozenset[str]
    new: dict[str, set[Row]] = field(default_factory=dict)

    def run(self) -> None:
        rules = [flattened(r) for r in self.program.rules if r.head.predicate in self.heads]
        self.new = self._take([(rule, None) for rule in rules])
        rounds = 1
        variants: list[tuple[DatalogRule, int | None]]
        variants = [(r, n) for r in rules for n, i in enumerate(r.body) if not i.negated and self._moves(i.predicate)]
        while variants and any(self.new.values()):
            rounds += 1
            if rounds > self.run_of.limit:
                raise FixpointTooLong(predicate=sorted(self.heads)[0], rounds=self.run_of.limit)
            self.new = self._take(variants)
        self.run_of.rounds += rounds

    def _take(self, variants: list[tuple[DatalogRule, int | None]]) -> dict[str, set[Row]]:
        found: dict[str, set[Row]] = {head: set() for head in self.heads}
        for rule, place in variants:
            checkpoint()
            found[rule.head.predicate] |= self._rows(rule, place)
        extremes = self.program.extremes
        new = {head: self.run_of.add(head, rows, extremes.get(head)) for head, rows in found.items()}
        if self.run_of.trace is not None:
            self.run_of.trace.append(new)
        return new

    def _moves(self, predicate: str) -> bool:
        if predicate in self.heads:
            return True
        inlined = predicate in self.program.inlined
        return inlined and any(self._moves(i.predicate) for r in self.program.of(predicate) for i in r.positive)

    def _rows(self, rule: DatalogRule, place: int | None) -> set[Row]:
        """What a rule gives for its head; one literal reads only new rows."""
        rows = {tuple(value_of(t, b) for t in rule.head.terms) for b in self._solved(rule, [{}], place)}
        kept = self.program.unless.get(rule.head.predicate)
        if kept is None or not rows:
            return rows
        extreme = self.program.extremes.get(rule.head.predicate)
        compared = len(rule.head.terms) - (extreme is not None)
        columns = tuple(range(compared))
        self._prepare(kept, columns, {row[:compared] for row in rows})
        gone = {row[:compared] for row in self.run_of.of(f"{kept}_del").rows}

        def is_idle(row: Row) -> bool:
            stays = self._having(kept, columns, row[:compared]) if row[:compared] not in gone else ()
            return any(extreme is None or not _is_better(row[-1], other[-1], extreme) for other in stays)

        return {row for row in rows if not is_idle(row)}

    def _solved(self, rule: DatalogRule, bindings: list[Binding], place: int | None) -> list[Binding]:
        """The bindings for which the body of a rule holds."""
        order = [n for n, i in enumerate(rule.body) if not i.negated]
        computed = _computed(rule)
        if place is not None:
            bindings = self._from_new(rule.body[place], bindings)
            order.remove(place)
        while order and bindings:
            _compute(computed, bindings)
            number = max(order, key=lambda n: (len(_bound(rule.body[n].atom, bindings[0])), -n))
            order.remove(number)
            bindings = self._joined(rule.body[number].atom, bindings)
        bindings = [b for b in bindings if all(holds(c, b) for c in rule.conditions)]
        for literal in (i for i in rule.body if i.negated):
            if bindings:
                bindings = self._absent(literal.atom, bindings)
        return bindings

    def _from_new(self, literal: Literal, bindings: list[Binding]) -> list[Binding]:
        rows = list(self._new_rows(literal.predicate))
        return [m for b in bindings for row in rows if (m := _matched(literal.atom, row, b)) is not None]

    def _new_rows(self, predicate: str) -> Iterator[Row]:
        if predicate in self.heads:
            yield from self.new.get(predicate, ())
            return
        for rule in self.program.of(predicate):
            for place, literal in enumerate(rule.body):
                if not literal.negated and self._moves(literal.predicate):
                    for binding in self._solved(rule, [{}], place):
                        yield tuple(value_of(t, binding) for t in rule.head.terms)

    def _joined(self, atom: DatalogAtom, bindings: list[Binding]) -> list[Binding]:
        positions = _bound(atom, bindings[0])
        keys = [tuple(value_of(atom.terms[p], b) for p in positions) for b in bindings]
        self._prepare(atom.predicate, positions, set(keys))
        result: list[Binding] = []
        for binding, key in zip(bindings, keys, strict=True):
            for row in self._having(atom.predicate, positions, key):
                matched = _matched(atom, row, binding)
                if matched is not None:
                    result.append(matched)
        if len(result) > 10 * LIMIT:
            raise NotInMemory("a join of too many rows")
        return result

    def _absent(self, atom: DatalogAtom, bindings: list[Binding]) -> list[Binding]:
        positions = tuple(p for p, term in enumerate(atom.terms) if not is_any(term))
        keys = [tuple(value_of(atom.terms[p], b) for p in positions) for b in bindings]
        self._prepare(atom.predicate, positions, set(keys))
        return [
            b
            for b, key in zip(bindings, keys, strict=True)
            if not any(True for _ in self._having(atom.predicate, positions, key))
        ]

    def _prepare(self, predicate: str, positions: Positions, keys: set[Row]) -> None:
        """Fetch what given predicates have for some keys, also below inlined ones."""
        if predicate in self.run_of.given:
            self.run_of.given[predicate].prepare(positions, keys)
        elif predicate in self.program.inlined:
            for rule in self.program.of(predicate):
                for literal in rule.body:
                    terms = literal.atom.terms
                    if any(is_any(terms[p]) for p in positions):
                        continue
                    places = [terms.index(rule.head.terms[p]) for p in positions]
                    inner = tuple(sorted(places))
                    order = [places.index(p) for p in inner]
                    self._prepare(literal.predicate, inner, {tuple(key[n] for n in order) for key in keys})

    def _having(self, predicate: str, positions: Positions, key: Row) -> Iterable[Row]:
        """The rows of a predicate with a key; of inlined ones perhaps more than once."""
        if predicate in self.run_of.given:
            return self.run_of.given[predicate].having(positions, key)
        if predicate not in self.program.inlined:
            return self.run_of.of(predicate).having(positions, key)
        return self._inlined(predicate, positions, key)

    def _inlined(self, predicate: str, positions: Positions, key: Row) -> Iterator[Row]:
        """Rules of inlined predicates have the same terms everywhere: their head's, in one order."""
        for rule in self.program.of(predicate):
            first, *rest = rule.body
            for row in self._having(first.predicate, positions, key):
                if not any(self._has(literal, row) for literal in rest):
                    yield row

    def _has(self, literal: Literal, row: Row) -> bool:
        """Whether there is such a row in a literal whose terms are those of the row, or any."""
        positions = tuple(p for p, term in enumerate(literal.atom.terms) if not is_any(term))
        return any(True for _ in self._having(literal.predicate, positions, tuple(row[p] for p in positions)))


def _computed(rule: DatalogRule) -> list[tuple[str, Expression]]:
    """The variables of a rule that are computed from others (:func:`flattened`), and how."""
    conditions = (c for c in rule.conditions if isinstance(c, exp.NullSafeEQ))
    return [(name, c.expression) for c in conditions if (name := variable_name(c.this)) is not None]


def _compute(computed: list[tuple[str, Expression]], bindings: list[Binding]) -> None:
    """Give the variables their values that can be computed by now."""
    for name, value in computed:
        known = bindings[0].keys()
        if name not in known and known >= set(names_in([value])):
            for binding in bindings:
                binding[name] = value_of(value, binding)


def _bound(atom: DatalogAtom, binding: Binding) -> Positions:
    """The positions of an atom whose values are known."""
    return tuple(
        p
        for p, term in enumerate(atom.terms)
        if not is_any(term) and ((name := variable_name(term)) is None or name in binding)
    )


def _matched(atom: DatalogAtom, row: Row, binding: Binding) -> Binding | None:
    """A binding with what a row gives the variables of an atom; None if the row does not match."""
    matched = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        name = variable_name(term)
        if name is None:
            if value_of(term, matched) != value:
                return None
        elif not name.startswith("_") and matched.setdefault(name, value) != value:
            return None
    return matched
