"""Answers clauses: by SQL, but for what only Python can compute, and for what needs no rows.

A clause with foreign calls is cut in two.  SQL finds the rows; what depends on values of foreign functions is computed
and compared here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidings.errors import UnboundVariable
from tidings.front.amosql.foreign import ForeignFunctions
from tidings.front.amosql.rows import Bindings
from tidings.lang.amosql.objectlog import (
    Aggregated,
    Alternatives,
    Atom,
    Body,
    Compare,
    Compute,
    ForeignCall,
    HornClause,
    Literal,
    Not,
    Term,
    Variable,
    foreign_calls,
    substituted,
    terms_of,
    variables,
)
from tidings.lang.amosql.safety import bound
from tidings.lang.amosql.sql_query import GivenRows, query_text
from tidings.lang.amosql.sql_update import Values
from tidings.write.transaction import Transaction

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers clauses in a transaction."""

    transaction: Transaction
    foreign: ForeignFunctions

    def rows(self, clause: HornClause, bindings: Bindings) -> list[Values]:
        """The values of a clause's head for all rows of variables that are given."""
        if not bindings.rows:
            return []
        if len(bindings.rows) == 1:
            terms = bindings.only_row()
            head = tuple(terms.get(t.name, t) if isinstance(t, Variable) else t for t in clause.head)
            clause, bindings = replace(clause, head=head, body=substituted(clause.body, terms)), Bindings()
        in_sql, in_python = _cut(clause.body, bindings)
        if in_python or not in_sql:
            rows = self._computed(clause, in_sql, in_python, bindings)
            return list(dict.fromkeys(rows)) if clause.distinct else rows
        return self._in_sql(clause, bindings)

    def _in_sql(self, clause: HornClause, bindings: Bindings) -> list[Values]:
        columns = [(f"c{n}", term.type) for n, term in enumerate(clause.head)]
        given = GivenRows(bindings.variables, bindings.rows) if bindings.variables else None
        found = self.transaction.query(query_text(clause, columns, given=given)).to_arrow()
        if not columns:
            return [()] * found.num_rows
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _computed(self, clause: HornClause, in_sql: Body, in_python: Body, bindings: Bindings) -> list[Values]:
        needed = [t for t in clause.head if isinstance(t, Variable)] + list(variables(in_python))
        known = bound(in_sql, {v.name for v in bindings.variables})
        head = tuple(dict.fromkeys(v for v in needed if v.name in known))
        if in_sql:
            rows = self._in_sql(replace(clause, head=head, body=in_sql, distinct=False), bindings)
        else:
            places = [bindings.variables.index(v) for v in head]
            rows = [tuple(row[p] for p in places) for row in bindings.rows]
        result = []
        for row in rows:
            values = self._completed(in_python, dict(zip((v.name for v in head), row, strict=True)))
            if values is not None:
                result.append(tuple(_value(term, values) for term in clause.head))
        return result

    def _completed(self, body: Body, values: dict[str, Any]) -> dict[str, Any] | None:
        """The values of all variables; None if a literal is false."""
        waiting = list(body)
        while waiting:
            ready = next((literal for literal in waiting if _is_ready(literal, values)), None)
            if ready is None:
                raise UnboundVariable(name=next(v.name for v in variables(tuple(waiting)) if v.name not in values))
            waiting.remove(ready)
            if not self._take(ready, values):
                return None
        return values

    def _take(self, literal: Literal, values: dict[str, Any]) -> bool:
        match literal:
            case Compute():
                left, right = _value(literal.left, values), _value(literal.right, values)
                if literal.operator == "/" and right == 0:
                    return False
                return _equal(literal.result, _OPERATORS[literal.operator](left, right), values)
            case ForeignCall():
                arguments = tuple(_value(a, values) for a in literal.arguments)
                value = self.foreign.call(literal.name, arguments, literal.result.type)
                return value is not None and _equal(literal.result, value, values)
            case Compare(operator="="):
                known, other = literal.left, literal.right
                if not _is_known(known, values):
                    known, other = other, known
                return _equal(other, _value(known, values), values)
            case Compare():
                compared = _OPERATORS[literal.operator](_value(literal.left, values), _value(literal.right, values))
                return bool(compared)
            case _:
                raise AssertionError("relations are read by SQL")


def _cut(body: Body, bindings: Bindings) -> tuple[Body, Body]:
    """The literals that SQL judges, and those that are judged here; none is left to SQL if no relation is read."""
    if not any(isinstance(literal, Atom | Not | Alternatives | Aggregated) for literal in body):
        return (), body
    if not list(foreign_calls(body)):
        return body, ()
    plain = tuple(literal for literal in body if not isinstance(literal, ForeignCall))
    known = bound(plain, {v.name for v in bindings.variables})
    in_sql, in_python = list[Literal](), list[Literal]()
    for literal in body:
        used = [literal] if not isinstance(literal, Not | Alternatives | Aggregated) else list[Literal]()
        free = {t.name for one in used for t in terms_of(one) if isinstance(t, Variable)} - known
        if isinstance(literal, ForeignCall) or (free and not isinstance(literal, Atom)):
            in_python.append(literal)
        else:
            in_sql.append(literal)
    return tuple(in_sql), tuple(in_python)


def _is_ready(literal: Literal, values: Mapping[str, Any]) -> bool:
    match literal:
        case Compute():
            return _is_known(literal.left, values) and _is_known(literal.right, values)
        case ForeignCall():
            return all(_is_known(a, values) for a in literal.arguments)
        case Compare():
            known = [_is_known(literal.left, values), _is_known(literal.right, values)]
            return all(known) or (literal.operator == "=" and any(known))
        case _:
            return False


def _is_known(term: Term, values: Mapping[str, Any]) -> bool:
    return not isinstance(term, Variable) or term.name in values


def _value(term: Term, values: Mapping[str, Any]) -> Any:
    if not isinstance(term, Variable):
        return term.value
    if term.name not in values:
        raise UnboundVariable(name=term.name)
    return values[term.name]


def _equal(term: Term, value: Any, values: dict[str, Any]) -> bool:
    """A term is a value: that binds it, or is to be true."""
    if isinstance(term, Variable) and term.name not in values:
        values[term.name] = value
        return True
    return bool(_value(term, values) == value)
