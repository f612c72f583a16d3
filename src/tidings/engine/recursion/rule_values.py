"""The values of terms and conditions of rules, computed in this process where Python and the engines agree on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sqlglot import exp

from tidings.delta.recursion.rounds import RuleProgram
from tidings.ir import types
from tidings.ir.expression import Expression
from tidings.ir.rule import DatalogRule, variable_name

Binding: TypeAlias = dict[str, Any]
"""The values of variables, by name."""

_COMPARISONS: dict[type[Expression], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_ARITHMETIC: dict[type[Expression], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_SMALL = 1 << 31


class NotInMemory(Exception):
    """A program or its rows are not for this process."""


def is_supported(program: RuleProgram) -> bool:
    """Whether Python and the engines agree on all values of a program."""
    if "all" in program.extremes.values():
        return False
    columns = (c for cs in program.columns.values() for c in cs)
    if not all(c.type in types.EXACT or types.decimal(c.type) is not None for c in columns):
        return False
    return all(_is_supported_rule(rule, program) for rule in program.rules)


def _is_supported_rule(rule: DatalogRule, program: RuleProgram) -> bool:
    kinds = _variable_types(rule, program)
    heads = zip(rule.head.terms, program.columns[rule.head.predicate], strict=True)
    atoms = [(t, c) for i in rule.body for t, c in zip(i.atom.terms, program.columns[i.predicate], strict=True)]
    return all(_fits(term, target.type, kinds) for term, target in (*heads, *atoms)) and all(
        _is_comparison(c, kinds) for c in rule.conditions
    )


def _variable_types(rule: DatalogRule, program: RuleProgram) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for literal in rule.positive:
        for term, target in zip(literal.atom.terms, program.columns[literal.predicate], strict=True):
            name = variable_name(term)
            if name is not None:
                kinds.setdefault(name, target.type)
    return kinds


def _kind(term: Expression, kinds: Mapping[str, str]) -> str | None:
    """The type of a term as far as it matters here: whole numbers are one type; None for what is not computed here."""
    name = variable_name(term)
    if name is not None:
        kind = kinds.get(name, "any")
        return "whole" if kind in types.INTEGRAL else kind
    match term:
        case exp.Literal():
            return "string" if term.is_string else "whole" if term.this.isdigit() and int(term.this) < _SMALL else None
        case exp.Null():
            return "any"
        case exp.Paren():
            return _kind(term.this, kinds)
        case exp.Neg():
            return "whole" if _kind(term.this, kinds) == "whole" else None
        case exp.Add() | exp.Sub() | exp.Mul():
            both = {_kind(term.this, kinds), _kind(term.expression, kinds)}
            return "whole" if both == {"whole"} else None
        case _:
            return None


def _fits(term: Expression, type: str, kinds: Mapping[str, str]) -> bool:
    kind = _kind(term, kinds)
    return kind == "any" or kind == ("whole" if type in types.INTEGRAL else type)


def _is_comparison(condition: Expression, kinds: Mapping[str, str]) -> bool:
    if not isinstance(condition, (*_COMPARISONS, exp.NullSafeEQ)):
        return False
    left, right = _kind(condition.this, kinds), _kind(condition.expression, kinds)
    return left is not None and left == right and (left in ("whole", "string") or type(condition) in (exp.EQ, exp.NEQ))


def value_of(term: Expression, binding: Binding) -> Any:
    name = variable_name(term)
    if name is not None:
        return binding[name]
    match term:
        case exp.Literal():
            return term.this if term.is_string else int(term.this)
        case exp.Null():
            return None
        case exp.Paren():
            return value_of(term.this, binding)
        case exp.Neg():
            inner = value_of(term.this, binding)
            return None if inner is None else -inner
        case _:
            left, right = value_of(term.this, binding), value_of(term.expression, binding)
            return None if left is None or right is None else _small(_ARITHMETIC[type(term)](left, right))


def _small(number: int) -> int:
    if abs(number) >= _SMALL:
        raise NotInMemory("numbers that may not fit their types")
    return number


def holds(condition: Expression, binding: Binding) -> bool:
    left, right = value_of(condition.this, binding), value_of(condition.expression, binding)
    if isinstance(condition, exp.NullSafeEQ):
        return bool(left == right)
    return left is not None and right is not None and _COMPARISONS[type(condition)](left, right)
