"""Random recursive predicates, as Datalog and as ``WITH RECURSIVE``: the same clauses printed twice."""

from __future__ import annotations

import random
from itertools import count

from tests.laws.datalog_programs import TABLES, Clause, HeadTerm, Lit, RandomProgram, Sum, random_recursion


def recursive_query(rng: random.Random) -> tuple[RandomProgram, str]:
    """A program of one recursive predicate over tables, and the query that says the same."""
    program = random_recursion(rng, "p")
    width = program.widths["p"]
    clauses = [clause for stratum in program.strata for clause in stratum]
    columns = ", ".join(f"c{n}" for n in range(width))
    branches = " UNION ".join(_select(clause) for clause in clauses)
    return program, f"WITH RECURSIVE p ({columns}) AS ({branches}) SELECT {columns} FROM p"


def _select(clause: Clause) -> str:
    """A clause as a branch; a variable that stands twice has one value, NULL too."""
    numbers = count()
    positive = [(lit, f"t{next(numbers)}") for lit in clause.body if not lit.negated]
    bound: dict[str, str] = {}
    conditions: list[str] = []
    for lit, alias in positive:
        for place, term in enumerate(lit.terms):
            column = f"{alias}.c{place}"
            if isinstance(term, int):
                conditions.append(f"{column} = {term}")
            elif term != "_" and term in bound:
                conditions.append(f"{column} <=> {bound[term]}")
            elif term != "_":
                bound[term] = column
    conditions += [f"{bound[a]} {op} {bound[b] if isinstance(b, str) else b}" for a, op, b in clause.comparisons]
    conditions += [_absent(lit, bound, f"x{n}") for n, lit in enumerate(clause.body) if lit.negated]
    head = [f"{_term(term, bound)} AS c{n}" for n, term in enumerate(clause.terms)]
    tables = " CROSS JOIN ".join(f"{lit.predicate} {alias}" for lit, alias in positive)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(head)} FROM {tables}{where}"


def _term(term: HeadTerm, bound: dict[str, str]) -> str:
    if isinstance(term, Sum):
        return f"{bound[term.variable]} + {term.number}"
    return bound[term] if isinstance(term, str) else str(term)


def _absent(lit: Lit, bound: dict[str, str], alias: str) -> str:
    tests = [f"{alias}.c{n} <=> {bound[t] if isinstance(t, str) else t}" for n, t in enumerate(lit.terms) if t != "_"]
    assert lit.predicate in TABLES
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"NOT EXISTS (SELECT 1 FROM {lit.predicate} {alias}{where})"
