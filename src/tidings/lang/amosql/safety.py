"""Which variables of a body are bound: by a relation, or by a computation over bound ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidings.lang.amosql.objectlog import (
    Aggregated,
    Atom,
    Body,
    Compare,
    Compute,
    ForeignCall,
    Literal,
    Term,
    Variable,
    inner_bodies,
    terms_of,
)


def unbound(body: Body, head: Sequence[Term], parameters: Sequence[str]) -> tuple[list[str], list[str]]:
    """The parameters that a body does not bind, and the variables that stay unbound even if these are given."""
    alone = bound(body, frozenset())
    free = [name for name in parameters if name not in alone]
    given = bound(body, frozenset(free))
    used = [t.name for t in head if isinstance(t, Variable)] + _used(body, given)
    return free, [name for name in dict.fromkeys(used) if name not in given]


def bound(body: Body, given: Collection[str]) -> frozenset[str]:
    """The variables that are bound once some are given."""
    names = set(given)
    names |= {t.name for literal in body if isinstance(literal, Atom) for t in literal.terms if isinstance(t, Variable)}
    size = -1
    while len(names) > size:
        size = len(names)
        for literal in body:
            names |= _bound_by(literal, names)
    return frozenset(names)


def _bound_by(literal: Literal, names: Collection[str]) -> set[str]:
    """The variables that a literal binds once others are bound."""

    def is_bound(*terms: Term) -> bool:
        return all(not isinstance(t, Variable) or t.name in names for t in terms)

    found: list[Term] = []
    match literal:
        case Compute() if is_bound(literal.left, literal.right):
            found = [literal.result]
        case ForeignCall() if is_bound(*literal.arguments):
            found = [literal.result]
        case Compare(operator="="):
            found = [literal.left] if is_bound(literal.right) else [literal.right] if is_bound(literal.left) else []
        case Aggregated() if not _used_unbound(literal, names):
            found = [literal.result]
    return {t.name for t in found if isinstance(t, Variable)}


def _used_unbound(literal: Aggregated, names: Collection[str]) -> list[str]:
    inner = bound(literal.body, names)
    used = _used(literal.body, inner)
    if isinstance(literal.value, Variable):
        used.append(literal.value.name)
    return [name for name in used if name not in inner]


def _used(body: Body, names: Collection[str]) -> list[str]:
    """The variables that literals of a body use, but for those that bodies in it bind themselves."""
    used: list[str] = []
    for literal in body:
        used += [t.name for t in terms_of(literal) if isinstance(t, Variable)]
        for inner in inner_bodies(literal):
            within = bound(inner, names)
            used += [name for name in _used(inner, within) if name not in within]
        if isinstance(literal, Aggregated):
            used += _used_unbound(literal, names)
    return used
