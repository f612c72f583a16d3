"""Expands derived functions: a clause over stored functions only, as far as its calls are bound early.

A call that is bound late stays: which body it means is known only of the object.  So do functions whose query is
distinct, for they count differently.
"""

from __future__ import annotations

from dataclasses import replace

from tidings.lang.amosql.objectlog import (
    Aggregated,
    Alternatives,
    Atom,
    Body,
    HornClause,
    Literal,
    Not,
    Variable,
    variables,
)
from tidings.lang.amosql.schema import Function, Schema
from tidings.lang.amosql.simplify import simplified
from tidings.lang.amosql.translate import ClauseTranslator, inlined


def expanded(clause: HornClause, schema: Schema) -> HornClause:
    """The clause with the bodies of derived functions in the place of their names."""
    translator = ClauseTranslator(schema, prefix="??")
    in_head = {term.name for term in clause.head if isinstance(term, Variable)}
    body = _expanded(clause.body, schema, translator)
    local = {variable.name for variable in variables(body)} - in_head
    short, terms = simplified(body, local, schema)
    head = tuple(terms.get(t.name, t) if isinstance(t, Variable) else t for t in clause.head)
    return replace(clause, head=head, body=short)


def expandable(relation: str, schema: Schema) -> Function | None:
    """The derived function whose relation has a name, if its body can stand in its place."""
    function = schema.by_relation(relation)
    if function is None or function.clause is None or function.clause.distinct:
        return None
    is_generic = len(schema.functions[function.name]) > 1 and relation == function.name
    return None if is_generic else function


def _expanded(body: Body, schema: Schema, translator: ClauseTranslator) -> Body:
    result: list[Literal] = []
    for literal in body:
        match literal:
            case Atom(relation=relation):
                function = expandable(relation.name, schema)
                if function is None or function.clause is None:
                    result.append(literal)
                else:
                    result += _expanded(inlined(function.clause, literal.terms, translator), schema, translator)
            case Not():
                result.append(Not(_expanded(literal.body, schema, translator)))
            case Alternatives():
                branches = tuple(_expanded(branch, schema, translator) for branch in literal.branches)
                result.append(Alternatives(branches))
            case Aggregated():
                result.append(replace(literal, body=_expanded(literal.body, schema, translator)))
            case _:
                result.append(literal)
    return tuple(result)
