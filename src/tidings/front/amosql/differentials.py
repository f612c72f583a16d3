"""Partial differentials of clauses, as clauses and in the algebra of :mod:`tidings.algebra.calculus`.

A positive differential has Δ+ of one influent in the place of the influent, and the new state of the others; a negative
one has Δ- and the old states.  What is negated counts the other way: its losses are gains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidings.algebra.calculus import NaturalJoin, SetExpression, SetProduct, Sign, partial, project, relation, select
from tidings.algebra.calculus import show as show_algebra
from tidings.errors import TidingsError
from tidings.lang.amosql.objectlog import (
    Atom,
    Compare,
    Compute,
    HornClause,
    Literal,
    Not,
    Term,
    Variable,
    show,
    show_atom,
    show_term,
)


@dataclass(frozen=True, slots=True)
class ClauseDifferential:
    """How one influent, changing one way, changes a node."""

    influent: str
    sign: Sign
    """The way in which the influent changes."""
    text: str
    algebra: str | None


def differentials(clause: HornClause) -> Iterator[ClauseDifferential]:
    """All partial differentials of a clause: two for each literal that reads a relation."""
    expression = as_algebra(clause)
    for at, literal in enumerate(clause.body):
        atom, negated = _atom(literal)
        if atom is None:
            continue
        for sign in Sign:  # the way in which the node changes
            changes = sign.opposite if negated else sign
            by = atom.relation.name
            algebra = None
            if expression is not None and (differential := partial(expression, by, sign)) is not None:
                algebra = show_algebra(differential)
            yield ClauseDifferential(by, changes, _text(clause, at, sign, changes), algebra)


def _text(clause: HornClause, at: int, sign: Sign, changes: Sign) -> str:
    """A differential as a clause."""
    changed, _ = _atom(clause.body[at])
    assert changed is not None
    lines = []
    for place, literal in enumerate(clause.body):
        atom, negated = _atom(literal)
        if place == at:
            lines.append(show_atom(changed, before=f"Δ{changes.value}"))
        elif atom is None:
            lines.append(show(literal))
        else:
            shown = show_atom(atom, after="_old" if sign is Sign.MINUS else "")
            lines.append(f"¬({shown})" if negated else shown)
    types = ",".join(term.type for term in clause.head)
    head = f"{clause.name}{f'_{types}' if types else ''}({','.join(map(show_term, clause.head))})"
    body = " ∧\n".join(f"    {line}" for line in lines)
    return f"Δ{sign.value if negates(clause) else ''}{head}/Δ{changes.value}{changed.relation.name} ←\n{body}"


def negates(clause: HornClause) -> bool:
    """Whether gains of an influent may be losses of the node, so that its own sign has to be said."""
    return any(isinstance(literal, Not) for literal in clause.body)


def _atom(literal: Literal) -> tuple[Atom | None, bool]:
    """The relation that a literal reads, and whether it is negated."""
    match literal:
        case Atom():
            return literal, False
        case Not(body=(Atom() as atom,)):
            return atom, True
        case _:
            return None, False


def as_algebra(clause: HornClause) -> SetExpression | None:
    """A clause without negation as an expression over sets; None if it is not one."""
    try:
        return _as_algebra(clause)
    except TidingsError:
        return None


def _as_algebra(clause: HornClause) -> SetExpression | None:
    whole: SetExpression | None = None
    conditions: list[str] = []
    values: dict[str, str] = {}
    for at, literal in enumerate(clause.body):
        if isinstance(literal, Not):
            return None
        if isinstance(literal, Atom):
            leaf, equal = _leaf(literal, at)
            conditions += equal
            if whole is None:
                whole = leaf
            else:
                shared = set(whole.attributes) & set(leaf.attributes)
                whole = NaturalJoin(whole, leaf) if shared else SetProduct(whole, leaf)

    def scalar(term: Term) -> str:
        return values.get(term.name, term.name) if isinstance(term, Variable) else repr(term.value)

    for literal in clause.body:
        if isinstance(literal, Compute):
            computed = f"({scalar(literal.left)} {literal.operator} {scalar(literal.right)})"
            if isinstance(literal.result, Variable):
                values[literal.result.name] = computed
            else:
                conditions.append(f"{computed} == {scalar(literal.result)}")
        elif isinstance(literal, Compare):
            sign = {"=": "==", "<>": "!="}.get(literal.operator, literal.operator)
            conditions.append(f"{scalar(literal.left)} {sign} {scalar(literal.right)}")
    if whole is None:
        return None
    for condition in conditions:
        whole = select(whole, condition)
    items = [t for t in clause.head if isinstance(t, Variable)]
    return project(whole, *(f"{t.name} = {scalar(t)}" for t in items))


def _leaf(atom: Atom, at: int) -> tuple[SetExpression, list[str]]:
    """A literal as a leaf; constants and variables that come twice are names of their own, with conditions."""
    names: list[str] = []
    conditions: list[str] = []
    for place, term in enumerate(atom.terms):
        if isinstance(term, Variable) and term.name not in names:
            names.append(term.name)
        else:
            own = f"C{at}{place}"
            names.append(own)
            value = term.name if isinstance(term, Variable) else repr(term.value)
            conditions.append(f"{own} == {value}")
    return relation(atom.relation.name, *names), conditions
