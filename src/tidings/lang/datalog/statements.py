"""A program as statements: one view per predicate, each after those it reads.

The text of a view has the rules of its own predicate, or of all that depend on each other with it, so that it can be
bound again by itself; the predicates below are views that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from tidings.ir.expression import show_name
from tidings.lang.datalog.compile import DatalogProgram
from tidings.lang.datalog.parse import parse


def view_statements(
    bound: DatalogProgram, *, stored: bool | Collection[str] | None, replace: bool = False
) -> list[tuple[str, str]]:
    """The names of the views and the statements that create them; ``stored`` are all, none, some or those declared."""
    statements: list[tuple[str, str]] = []
    for component in bound.resolved.components:
        for name in component:
            storage = _storage(bound, name, stored)
            kind = "MATERIALIZED VIEW" if storage == "always" else "VIEW"
            create = "CREATE OR REPLACE" if replace else "CREATE"
            query = program_text(bound, component, name)
            if storage == "auto":
                query += f"\n.stored {show_name(name)} auto"
            statements.append((name, f"{create} {kind} {show_name(name)} AS DATALOG $$\n{query}\n$$"))
    return statements


def _storage(bound: DatalogProgram, name: str, stored: bool | Collection[str] | None) -> str:
    """Whether the rows of a predicate are stored: ``always``, ``never``, or ``auto`` where nothing is said of them."""
    if isinstance(stored, bool):
        return "always" if stored else "never"
    if stored is not None:
        return "always" if name.lower() in {s.lower() for s in stored} else "never"
    declared = bound.parsed.storage.get(name.lower())
    return declared or ("auto" if name in bound.resolved.recursive else "never")


@lru_cache(maxsize=1024)
def is_stored_by_cost(query: str) -> bool:
    """Whether the query of a view is a program that leaves it to costs whether its rows are stored.

    >>> is_stored_by_cost("DATALOG $$ p(1). .stored p auto $$"), is_stored_by_cost("SELECT 'DATALOG'")
    (True, False)
    """
    program = _PROGRAM.fullmatch(query.strip())
    return program is not None and "auto" in parse(program[1]).storage.values()


_PROGRAM = re.compile(r"DATALOG\s*\$\$(.*)\$\$", re.IGNORECASE | re.DOTALL)


def program_text(bound: DatalogProgram, component: tuple[str, ...], output: str) -> str:
    """The rules of some predicates, as they were written, with one of them as what they give."""
    declared = {d.predicate.lower(): d for d in bound.parsed.declarations}
    names = {name.lower() for name in component}
    lines = [d.place.text[d.place.start : d.place.end] for name, d in declared.items() if name in names]
    for name in component:
        places = (r.parsed.place for r in bound.resolved.rules[name])
        lines += [place.text[place.start : place.end] for place in places]
    return "\n".join([*lines, f".output {output}"])


def questions(bound: DatalogProgram) -> list[str]:
    """What a program asks, each as a query of its own."""
    places = [question.place for question in bound.parsed.questions]
    return [f"DATALOG $$ ?- {place.text[place.start : place.end]}. $$" for place in places]
