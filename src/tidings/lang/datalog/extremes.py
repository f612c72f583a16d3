"""Least and greatest values inside a recursion, as of shortest paths, and where they are sound.

    dist(y, min(d + w)) :- dist(x, d), edge(x, y, w).

Of every group only the least value is kept, and what follows from a greater one is not derived.  That loses nothing
where a lesser value in the body gives a lesser one in the head, and where the value is asked for nothing else: the
recursion is monotone.  Everything else is refused.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidings.errors import InvalidDatalog
from tidings.ir.expression import Expression, refs
from tidings.ir.rule import DatalogAtom, DatalogRule, variable_name
from tidings.lang.datalog.resolve import Resolved, ResolvedRule

_KINDS: dict[type[Expression], str] = {exp.Min: "min", exp.Max: "max"}


def extremes(component: tuple[str, ...], resolved: Resolved) -> dict[str, str]:
    """Which predicates of a recursive component keep a least or greatest value; refuses what is not monotone."""
    kinds: dict[str, str] = {}
    for name in component:
        for rule in resolved.rules[name]:
            for position in rule.aggregates:
                last = position == len(rule.rule.head.terms) - 1
                kind = _KINDS.get(type(rule.rule.head.terms[position]))
                if kind is None or not last or kinds.setdefault(name, kind) != kind:
                    reason = f"in the recursion of {name} the last term of the head is its one min or max"
                    raise InvalidDatalog(rule.parsed.head.place, reason=reason)
    for name in component if kinds else ():
        for rule in resolved.rules[name]:
            _check_monotone(rule, kinds)
    return kinds


def without_aggregate(rule: DatalogRule) -> DatalogRule:
    """A rule whose head has the value itself in the place of its least or greatest one."""
    *rest, last = rule.head.terms
    if not isinstance(last, exp.Min | exp.Max):
        return rule
    return replace(rule, head=DatalogAtom(rule.head.predicate, (*rest, last.this)))


def _check_monotone(resolved: ResolvedRule, kinds: dict[str, str]) -> None:
    rule = without_aggregate(resolved.rule)
    kind = kinds.get(rule.head.predicate)
    for literal in rule.body:
        if literal.predicate not in kinds:
            continue
        name = variable_name(literal.atom.terms[-1])
        others = [t for i in rule.body if i is not literal for t in i.atom.terms]
        elsewhere = [*literal.atom.terms[:-1], *others, *rule.head.terms[:-1]]
        sound = (
            name is not None
            and kinds[literal.predicate] == (kind or kinds[literal.predicate])
            and not any(_mentions(term, name) for term in elsewhere)
            and all(_keeps(c, name, kinds[literal.predicate]) for c in rule.conditions)
            and (_increases(rule.head.terms[-1], name) if kind else not _mentions(rule.head.terms[-1], name))
        )
        if not sound:
            reason = (
                f"the {kinds[literal.predicate]} of {literal.predicate} is used in the recursion in a way that is not "
                "monotone"
            )
            hint = "in the recursion the value is only added to or scaled, and compared only with an upper bound (min) "
            raise InvalidDatalog(resolved.parsed.place, hint + "or a lower bound (max)", reason=reason)


def _mentions(term: Expression, name: str) -> bool:
    return any(n == name for _, n in refs(term))


def _increases(term: Expression, name: str) -> bool:
    """Whether a term does not fall where a variable rises."""
    if not _mentions(term, name) or variable_name(term) == name:
        return True
    match term:
        case exp.Paren():
            return _increases(term.this, name)
        case exp.Add():
            return _increases(term.left, name) and _increases(term.right, name)
        case exp.Sub():
            return _increases(term.left, name) and not _mentions(term.right, name)
        case exp.Mul():
            sides = ((term.left, term.right), (term.right, term.left))
            return any(_increases(a, name) and isinstance(b, exp.Literal) and b.is_number for a, b in sides)
        case exp.Greatest() | exp.Least():
            return all(_increases(t, name) for t in (term.this, *term.expressions))
        case _:
            return False


def _keeps(condition: Expression, name: str, kind: str) -> bool:
    """Whether a condition that holds for a value holds for all that are better."""
    if not _mentions(condition, name):
        return True
    upper, lower = (exp.LT, exp.LTE), (exp.GT, exp.GTE)
    if not isinstance(condition, (*upper, *lower)):
        return False
    value_left = _mentions(condition.left, name)
    value, bound = (condition.left, condition.right) if value_left else (condition.right, condition.left)
    is_upper = isinstance(condition, upper) == value_left
    return is_upper == (kind == "min") and _increases(value, name) and not _mentions(bound, name)
