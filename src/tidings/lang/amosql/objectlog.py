"""ObjectLog: Horn clauses with typed literals, which functions and conditions are compiled into.

    threshold_item,integer(I,T) ← consume_freq_item,integer(I,G1) ∧ … ∧ T = G4 + G5

A stored function is a relation of its arguments and its value, a type the relation of its objects.  A clause counts its
derivations: a head follows as often as there are ways to make the body true.  Literals are a closed union;
:func:`show`, :func:`substituted` and :mod:`tidings.lang.amosql.sql_query` are the total functions over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from tidings.lang.amosql.syntax import Value


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ConstantTerm:
    value: Value
    type: str


Term: TypeAlias = Variable | ConstantTerm


@dataclass(frozen=True, slots=True)
class RelationOf:
    """What a literal reads: the relation of a function or type, with its columns and their types."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    functional: bool = False
    """Whether the last column is determined by the others."""
    function: str = ""
    """The function whose relation it is; empty for the objects of a type, and for rows given with a query."""


@dataclass(frozen=True, slots=True)
class Atom:
    """``quantity(I,G1)``, or ``item(I)``."""

    relation: RelationOf
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """``G5 = G2 * G4``."""

    result: Term
    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Compare:
    """``G1 < G7``."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    """``¬(…)``: there is no way to make the literals true."""

    body: Body


@dataclass(frozen=True, slots=True)
class Alternatives:
    """``(… ∨ …)``: there is a way for some branch; how many does not count."""

    branches: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Aggregated:
    """``G5 = sum(G6 | …)``: over all ways to make the literals true."""

    result: Term
    kind: str
    distinct: bool
    value: Term
    body: Body


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """``G2 = f(G1)``, computed by a function of Python."""

    result: Term
    function: str
    name: str
    """The name under which the function of Python is registered."""
    arguments: tuple[Term, ...]
    types: tuple[str, ...]
    """The declared types of the arguments."""


Literal: TypeAlias = Atom | Compute | Compare | Not | Alternatives | Aggregated | ForeignCall
Body: TypeAlias = tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class HornClause:
    """``head ← body``; a distinct one counts each head once."""

    name: str
    head: tuple[Term, ...]
    body: Body
    distinct: bool = False


def substituted(body: Body, terms: Mapping[str, Term]) -> Body:
    """A body with other terms in the place of some variables."""

    def term(old: Term) -> Term:
        return terms.get(old.name, old) if isinstance(old, Variable) else old

    def literal(old: Literal) -> Literal:
        match old:
            case Atom():
                return replace(old, terms=tuple(map(term, old.terms)))
            case Compute():
                return replace(old, result=term(old.result), left=term(old.left), right=term(old.right))
            case Compare():
                return replace(old, left=term(old.left), right=term(old.right))
            case Not():
                return Not(substituted(old.body, terms))
            case Alternatives():
                return Alternatives(tuple(substituted(branch, terms) for branch in old.branches))
            case Aggregated():
                inner = substituted(old.body, terms)
                return replace(old, result=term(old.result), value=term(old.value), body=inner)
            case ForeignCall():
                return replace(old, result=term(old.result), arguments=tuple(map(term, old.arguments)))
            case _:
                assert_never(old)

    return tuple(map(literal, body)) if terms else body


def terms_of(literal: Literal) -> tuple[Term, ...]:
    """The terms of a literal, without those of the bodies in it."""
    match literal:
        case Atom():
            return literal.terms
        case Compute():
            return (literal.left, literal.right, literal.result)
        case Compare():
            return (literal.left, literal.right)
        case ForeignCall():
            return (*literal.arguments, literal.result)
        case Aggregated():
            return (literal.result,)
        case Not() | Alternatives():
            return ()
        case _:
            assert_never(literal)


def inner_bodies(literal: Literal) -> tuple[Body, ...]:
    """The bodies in a literal."""
    match literal:
        case Not() | Aggregated():
            return (literal.body,)
        case Alternatives():
            return literal.branches
        case _:
            return ()


def variables(body: Body) -> Iterator[Variable]:
    """The variables of a body, those of bodies in it too, in the order in which they occur."""
    for literal in body:
        for inner in inner_bodies(literal):
            yield from variables(inner)
        if isinstance(literal, Aggregated) and isinstance(literal.value, Variable):
            yield literal.value
        yield from (term for term in terms_of(literal) if isinstance(term, Variable))


def atoms(body: Body) -> Iterator[Atom]:
    """The literals that read relations, those of bodies in it too."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal
        for inner in inner_bodies(literal):
            yield from atoms(inner)


def foreign_calls(body: Body) -> Iterator[ForeignCall]:
    """The foreign calls of a body, those of bodies in it too."""
    for literal in body:
        if isinstance(literal, ForeignCall):
            yield literal
        for inner in inner_bodies(literal):
            yield from foreign_calls(inner)


# text


def numbered(clause: HornClause, kept: frozenset[str] = frozenset()) -> HornClause:
    """The clause with short names: ``kept`` variables in capitals, the others ``G1``, ``G2``, … as they occur."""
    names: dict[str, Term] = {}
    taken = {name.upper() for name in kept}
    number = 0
    in_head = [term for term in clause.head if isinstance(term, Variable)]
    for variable in [*in_head, *variables(clause.body)]:
        if variable.name in names:
            continue
        if variable.name in kept:
            names[variable.name] = replace(variable, name=variable.name.upper())
            continue
        number += 1
        while f"G{number}" in taken:
            number += 1
        names[variable.name] = replace(variable, name=f"G{number}")
    head = tuple(names[t.name] if isinstance(t, Variable) else t for t in clause.head)
    return replace(clause, head=head, body=substituted(clause.body, names))


def show_clause(clause: HornClause) -> str:
    """The clause on lines of its own, as the literature prints it."""
    types = ",".join(term.type for term in clause.head)
    subscript = f"_{types}" if types else ""
    body = " ∧\n".join(f"    {show(literal)}" for literal in clause.body) or "    true"
    return f"{clause.name}{subscript}({_terms(clause.head)}) ←\n{body}"


def show(literal: Literal) -> str:
    """One literal.

    >>> show(Compute(Variable("G5", "integer"), "*", Variable("G2", "integer"), ConstantTerm(2, "integer")))
    'G5 = G2 * 2'
    """
    match literal:
        case Atom():
            return show_atom(literal)
        case Compute():
            left, right = show_term(literal.left), show_term(literal.right)
            return f"{show_term(literal.result)} = {left} {literal.operator} {right}"
        case Compare():
            return f"{show_term(literal.left)} {literal.operator} {show_term(literal.right)}"
        case Not():
            return f"¬({_conjunction(literal.body)})"
        case Alternatives():
            is_one = len(literal.branches) == 1
            return f"{'∃' if is_one else ''}({' ∨ '.join(map(_conjunction, literal.branches))})"
        case Aggregated():
            what = f"{'distinct ' if literal.distinct else ''}{show_term(literal.value)}"
            return f"{show_term(literal.result)} = {literal.kind}({what} | {_conjunction(literal.body)})"
        case ForeignCall():
            return f"{show_term(literal.result)} = {literal.function}({_terms(literal.arguments)})"
        case _:
            assert_never(literal)


def show_atom(atom: Atom, before: str = "", after: str = "") -> str:
    """A literal that reads a relation, perhaps with a sign before or after its name."""
    relation = atom.relation
    subscript = f"_{','.join(relation.types)}" if relation.function and relation.types else ""
    return f"{before}{relation.name}{after}{subscript}({_terms(atom.terms)})"


def show_term(term: Term) -> str:
    if isinstance(term, Variable):
        return term.name
    if isinstance(term.value, bool):
        return str(term.value).lower()
    return repr(term.value) if term.type in ("integer", "real", "charstring") else f"#{term.value}"


def _terms(terms: tuple[Term, ...]) -> str:
    return ",".join(map(show_term, terms))


def _conjunction(body: Body) -> str:
    return " ∧ ".join(map(show, body)) or "true"
