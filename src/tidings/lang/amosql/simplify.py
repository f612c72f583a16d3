"""Makes bodies of clauses shorter: equalities are carried out, and types that follow from other literals left out."""

from __future__ import annotations

from collections.abc import Collection

from tidings.lang.amosql.objectlog import Atom, Body, Compare, Literal, Term, Variable, substituted
from tidings.lang.amosql.schema import Schema


def simplified(body: Body, local: Collection[str], schema: Schema) -> tuple[Body, dict[str, Term]]:
    """A body in which no local variable is said to equal something else, and what now stands for such variables.

    ``supplies(S,G) ∧ G = I`` is ``supplies(S,I)``.  ``item(I) ∧ quantity(I,G)`` is ``quantity(I,G)``.
    """
    terms: dict[str, Term] = {}
    while (equality := _equality(body, local)) is not None:
        at, variable, term = equality
        one = {variable.name: term}
        body = substituted(body[:at] + body[at + 1 :], one)
        terms = {name: one.get(old.name, old) if isinstance(old, Variable) else old for name, old in terms.items()}
        terms |= one
    return without_implied_types(body, schema), terms


def _equality(body: Body, local: Collection[str]) -> tuple[int, Variable, Term] | None:
    """The first literal that says what a local variable equals, its place and what it says."""
    for at, literal in enumerate(body):
        if isinstance(literal, Compare) and literal.operator == "=":
            for variable, term in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(variable, Variable) and variable.name in local and variable != term:
                    return at, variable, term
    return None


def without_implied_types(body: Body, schema: Schema) -> Body:
    """A body without literals that say of an object what others say of it as well."""
    kept: list[Literal] = list(body)
    for literal in body:
        if _is_type(literal, schema):
            others = [other for other in kept if other is not literal]
            if any(_implies(other, literal, schema) for other in others):
                kept = others
    return tuple(kept)


def _is_type(literal: Literal, schema: Schema) -> bool:
    return isinstance(literal, Atom) and not literal.relation.function and schema.is_object_type(literal.relation.name)


def _implies(literal: Literal, type: Literal, schema: Schema) -> bool:
    """Whether a literal is true of objects of a type only."""
    if not isinstance(literal, Atom) or not isinstance(type, Atom):
        return False
    places = zip(literal.terms, literal.relation.types, strict=True)
    return any(term == type.terms[0] and schema.is_a(declared, type.relation.name) for term, declared in places)
