"""A program as statements: one view per predicate, each after those it reads.

The text of a view has the rules of its own predicate, or of all that depend on each other with it, so that it can be
bound again by itself; the predicates below are views that it reads.
"""

from __future__ import annotations

from collections.abc import Collection

from tidings.ir.expression import show_name
from tidings.lang.datalog.compile import DatalogProgram


def view_statements(bound: DatalogProgram, *, stored: Collection[str], replace: bool = False) -> list[tuple[str, str]]:
    """The names of the views and the statements that create them; those in ``stored`` are stored."""
    statements: list[tuple[str, str]] = []
    for component in bound.resolved.components:
        for name in component:
            kind = "MATERIALIZED VIEW" if name.lower() in {s.lower() for s in stored} else "VIEW"
            create = "CREATE OR REPLACE" if replace else "CREATE"
            query = program_text(bound, component, name)
            statements.append((name, f"{create} {kind} {show_name(name)} AS DATALOG $$\n{query}\n$$"))
    return statements


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
