"""Random stratified Datalog programs, and an interpreter of its own for them.

A program is made as data; its text is printed from that, and :func:`answers` evaluates the data naively, rule by rule
over all rows until nothing is new.  It shares no code with what it is a check of.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = int | None
Row: TypeAlias = tuple[Value, ...]
Rows: TypeAlias = dict[str, set[Row]]

TABLES = {"e": 2, "f": 2, "n": 1}


@dataclass(frozen=True)
class Sum:
    """A variable and a number."""

    variable: str
    number: int

    def __str__(self) -> str:
        return f"{self.variable} + {self.number}" if self.number >= 0 else f"{self.variable} - {-self.number}"


HeadTerm: TypeAlias = str | int | Sum


@dataclass(frozen=True)
class Lit:
    """A literal; terms are variables, constants or ``_``."""

    predicate: str
    terms: tuple[str | int, ...]
    negated: bool = False

    def text(self) -> str:
        return f"{'!' if self.negated else ''}{self.predicate}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True)
class Clause:
    """A rule; the last term of the head may be an aggregate, as ``(kind, variable)``.

    In a recursion that is a least or greatest value that the predicate keeps, also of a sum.
    """

    head: str
    terms: tuple[HeadTerm, ...]
    body: tuple[Lit, ...]
    comparisons: tuple[tuple[str, str, str | int], ...] = ()
    aggregate: tuple[str, str | Sum] | None = None

    def text(self) -> str:
        terms = [str(t) for t in self.terms]
        if self.aggregate is not None:
            terms.append(f"{self.aggregate[0]}({self.aggregate[1]})")
        parts = [lit.text() for lit in self.body] + [f"{a} {op} {b}" for a, op, b in self.comparisons]
        return f"{self.head}({', '.join(terms)}) :- {', '.join(parts)}."


@dataclass
class RandomProgram:
    """A program: its clauses in strata, lower ones first."""

    strata: list[list[Clause]] = field(default_factory=list)
    widths: dict[str, int] = field(default_factory=lambda: dict(TABLES))
    extremes: dict[str, str] = field(default_factory=dict)
    """The predicates that keep a least or greatest value in their recursion."""

    @property
    def text(self) -> str:
        return "\n".join(clause.text() for stratum in self.strata for clause in stratum)

    @property
    def predicates(self) -> list[str]:
        return [name for name in self.widths if name not in TABLES]


def random_program(rng: random.Random) -> RandomProgram:
    """A program of two to four strata: plain, negated, counted, recursive, mutually recursive, with least values."""
    program = RandomProgram()
    for number in range(rng.randint(2, 4)):
        kind = rng.choice(["plain", "recursive", "recursive", "mutual", "aggregate", "extreme"])
        lower = list(program.widths)
        if kind == "aggregate":
            stratum = [_aggregate(rng, program, f"p{number}", lower)]
        elif kind == "extreme":
            stratum = _extreme(rng, program, f"p{number}", f"q{number}", lower)
        elif kind == "mutual":
            stratum = _recursive(rng, program, [f"p{number}", f"q{number}"], lower)
        elif kind == "recursive":
            stratum = _recursive(rng, program, [f"p{number}"], lower)
        else:
            program.widths[f"p{number}"] = rng.randint(1, 2)
            stratum = [_clause(rng, program, f"p{number}", lower, []) for _ in range(rng.randint(1, 2))]
        program.strata.append(stratum)
    return program


def random_recursion(rng: random.Random, name: str) -> RandomProgram:
    """A program of one recursive predicate over the tables."""
    program = RandomProgram()
    program.strata.append(_recursive(rng, program, [name], list(TABLES)))
    return program


def _recursive(rng: random.Random, program: RandomProgram, names: list[str], lower: list[str]) -> list[Clause]:
    for name in names:
        program.widths[name] = 2 if rng.random() < 0.8 else 1
    clauses = [_clause(rng, program, name, lower, []) for name in names]
    for name in names:
        for _ in range(rng.randint(1, 2)):
            clauses.append(_clause(rng, program, name, lower, names))
    return clauses


def _clause(rng: random.Random, program: RandomProgram, head: str, lower: list[str], recursive: list[str]) -> Clause:
    variables = ["x", "y", "z", "w"][: rng.randint(2, 4)]
    body: list[Lit] = []
    if recursive:
        body.append(_literal(rng, program, rng.choice(recursive), variables))
        if rng.random() < 0.25:
            body.append(_literal(rng, program, rng.choice(recursive), variables))
    for _ in range(rng.randint(0 if body else 1, 2)):
        body.append(_literal(rng, program, rng.choice(lower), variables))
    rng.shuffle(body)
    bound = [t for lit in body for t in lit.terms if isinstance(t, str) and t != "_"]
    if not bound:
        body.append(Lit("n", ("x",)))
        bound = ["x"]
    if rng.random() < 0.35:
        name = rng.choice(lower)
        terms = tuple(rng.choice([*bound, "_"]) for _ in range(program.widths[name]))
        body.append(Lit(name, terms, negated=True))
    comparisons: tuple[tuple[str, str, str | int], ...] = ()
    if rng.random() < 0.3:
        other: str | int = rng.choice(bound) if rng.random() < 0.5 else rng.randint(0, 4)
        comparisons = ((rng.choice(bound), rng.choice(["<", "<=", "!=", "=", ">"]), other),)

    def term() -> str | int:
        return rng.choice(bound) if rng.random() < 0.95 else rng.randint(0, 3)

    *first, last = (term() for _ in range(program.widths[head]))
    if rng.random() < 0.15 and isinstance(last, str):
        return Clause(head, (*first, Sum(last, 1)), tuple(body), (*comparisons, (last, "<", 4)))
    return Clause(head, (*first, last), tuple(body), comparisons)


def _extreme(rng: random.Random, program: RandomProgram, head: str, other: str, lower: list[str]) -> list[Clause]:
    """A recursion that keeps the least or greatest value per group; sometimes a plain predicate is part of it."""
    pairs = [name for name in lower if program.widths[name] == 2]
    kind = rng.choice(["min", "min", "max"])
    program.widths[head], program.extremes[head] = 2, kind

    def clause(value: str | Sum, *body: Lit) -> Clause:
        bound: list[tuple[str, str, str | int]] = [("v", "<" if kind == "min" else ">", rng.randint(1, 4))]
        if kind == "max" and isinstance(value, Sum):
            bound = [("v", ">", 0)]
        elif rng.random() < 0.7:
            bound = []
        absent = [rng.choice([Lit("e", ("y", "_"), negated=True), Lit("n", ("y",), negated=True)])]
        literals = [*body, *(absent if rng.random() < 0.2 else [])]
        rng.shuffle(literals)
        return Clause(head, ("y",), tuple(literals), tuple(bound), (kind, value))

    steps: list[str | Sum] = ["v", Sum("v", rng.randint(0, 2) if kind == "min" else -1)]
    clauses = [clause("v", Lit(rng.choice(pairs), rng.choice([("y", "v"), ("v", "y")])))]
    onwards = Lit(rng.choice(pairs), rng.choice([("x", "y"), ("y", "x")]))
    clauses.append(clause(rng.choice(steps), Lit(head, ("x", "v")), onwards))
    if rng.random() < 0.4:
        program.widths[other] = 1
        bound = ("v", "<", 4) if kind == "min" else ("v", ">", 0)
        clauses.append(Clause(other, ("x",), (Lit(head, ("x", "v")),), (bound,) if rng.random() < 0.5 else ()))
        clauses.append(clause("v", Lit(head, ("x", "v")), Lit(other, ("x",)), Lit(rng.choice(pairs), ("x", "y"))))
    return clauses


def _literal(rng: random.Random, program: RandomProgram, name: str, variables: list[str]) -> Lit:
    def term() -> str | int:
        chance = rng.random()
        return rng.randint(0, 3) if chance < 0.06 else "_" if chance < 0.12 else rng.choice(variables)

    return Lit(name, tuple(term() for _ in range(program.widths[name])))


def _aggregate(rng: random.Random, program: RandomProgram, head: str, lower: list[str]) -> Clause:
    program.widths[head] = 2
    name = rng.choice([n for n in lower if program.widths[n] == 2])
    group, value = rng.choice([("x", "y"), ("y", "x")])
    return Clause(head, (group,), (Lit(name, ("x", "y")),), (), (rng.choice(["count", "sum", "min", "max"]), value))


# the interpreter


def answers(program: RandomProgram, tables: Mapping[str, Iterable[Row]]) -> Rows:
    """All rows of all predicates, computed naively."""
    rows: Rows = {name: set(given) for name, given in tables.items()}
    rows |= {name: set() for name in program.predicates}
    for stratum in program.strata:
        changed = True
        while changed:
            changed = False
            for clause in stratum:
                kind = program.extremes.get(clause.head)
                known, found = rows[clause.head], _derived(clause, rows, kept=kind is not None)
                after = known | found if kind is None else _best(known | found, kind)
                changed = changed or after != known
                rows[clause.head] = after
    return rows


def _best(rows: set[Row], kind: str) -> set[Row]:
    """The least or greatest value of each group; NULL where there is nothing else."""
    groups: dict[Row, list[int]] = {row[:-1]: [] for row in rows}
    for *key, value in rows:
        if value is not None:
            groups[tuple(key)].append(value)
    return {(*key, _folded(kind, values)) for key, values in groups.items()}


def _derived(clause: Clause, rows: Rows, *, kept: bool) -> set[Row]:
    bindings: list[dict[str, Value]] = [{}]
    for lit in (lit for lit in clause.body if not lit.negated):
        bindings = [b for binding in bindings for row in rows[lit.predicate] if (b := _match(lit, row, binding))]
    bindings = [b for b in bindings if all(_compare(b, *c) for c in clause.comparisons)]
    for lit in (lit for lit in clause.body if lit.negated):
        bindings = [b for b in bindings if not any(_match(lit, row, b) for row in rows[lit.predicate])]
    if clause.aggregate is None or kept:
        terms = clause.terms if clause.aggregate is None else (*clause.terms, clause.aggregate[1])
        return {tuple(_value(b, t) for t in terms) for b in bindings}
    return _aggregated(clause, bindings)


def _match(lit: Lit, row: Row, binding: dict[str, Value]) -> dict[str, Value] | None:
    bound = {**binding, "#": 0}
    for term, value in zip(lit.terms, row, strict=True):
        if term == "_":
            continue
        if isinstance(term, int):
            if term != value:
                return None
        elif term not in bound:
            bound[term] = value
        elif bound[term] != value:
            return None
    return bound


def _value(binding: dict[str, Value], term: HeadTerm) -> Value:
    if isinstance(term, Sum):
        value = binding[term.variable]
        return None if value is None else value + term.number
    return binding[term] if isinstance(term, str) else term


def _compare(binding: dict[str, Value], left: str, operator: str, right: str | int) -> bool:
    a, b = binding[left], _value(binding, right)
    if a is None or b is None:
        return False
    return {"<": a < b, "<=": a <= b, "!=": a != b, "=": a == b, ">": a > b}[operator]


def _aggregated(clause: Clause, bindings: list[dict[str, Value]]) -> set[Row]:
    assert clause.aggregate is not None
    kind, variable = clause.aggregate
    assert isinstance(variable, str)
    groups: dict[Row, list[Value]] = {}
    for b in _distinct(bindings):
        groups.setdefault(tuple(_value(b, t) for t in clause.terms), []).append(b[variable])
    result: set[Row] = set()
    for key, values in groups.items():
        known = [v for v in values if v is not None]
        value = len(known) if kind == "count" else _folded(kind, known)
        result.add((*key, value))
    return result


def _distinct(bindings: list[dict[str, Value]]) -> list[dict[str, Value]]:
    seen: dict[tuple[tuple[str, Value], ...], dict[str, Value]] = {}
    for b in bindings:
        seen.setdefault(tuple((name, b[name]) for name in sorted(b)), b)
    return list(seen.values())


def _folded(kind: str, known: list[int]) -> Value:
    if not known:
        return None
    if kind == "sum":
        return sum(known)
    return min(known) if kind == "min" else max(known)
