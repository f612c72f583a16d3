"""Conditions as alternatives: disjunctive normal form, with the terms on time and the subqueries apart.

What reads neither the clock nor another table stays as it is written, ``OR`` and all.  The laws of De Morgan and of
distribution hold in three-valued logic too, and so does the negation of a comparison; ``EXISTS`` is never unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from sqlglot import exp

from tidings.analysis import functions
from tidings.ir.expression import Expression, operand
from tidings.ir.standard_form import Alternative
from tidings.lang.sql.continuous.obstacle import NotInClass
from tidings.lang.sql.continuous.scope import NameScope
from tidings.lang.sql.continuous.time_terms import NEGATED, TimeTerms, reads_clock
from tidings.lang.sql.query.comparison import Comparison, quantified, row

LIMIT = 64
"""More alternatives than this are not worth their SQL."""

Subquery = Callable[[Expression, NameScope], list[Alternative]]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Reads the conditions of one query; ``subquery`` gives the alternatives of a query inside of one."""

    times: TimeTerms
    subquery: Subquery

    def alternatives(self, node: Expression, scope: NameScope, negated: bool = False) -> list[Alternative]:
        """The alternatives of a condition, or of its negation."""
        node = node.unnest()
        match node:
            case exp.Not():
                return self.alternatives(node.this, scope, not negated)
            case exp.And() | exp.Or() if isinstance(node, exp.And) is not negated:
                sides = [self.alternatives(side, scope, negated) for side in (node.left, node.right)]
                return all_of(sides)
            case exp.And() | exp.Or() if not _is_plain(node):
                return [a for side in (node.left, node.right) for a in self.alternatives(side, scope, negated)]
            case exp.Exists():
                return _existing(self.subquery(node.this, scope), negated)
            case exp.In() if node.args.get("query") is not None:
                return self._members(node, scope, negated)
            case _ if quantified(node) is not None:
                return self._members(node, scope, negated)
            case _ if _is_plain(node):
                return [Alternative(plain=(_negated(scope.resolved(node)) if negated else scope.resolved(node),))]
            case exp.Between():
                low = exp.GTE(this=operand(node.this), expression=operand(node.args["low"]))
                high = exp.LTE(this=operand(node.this), expression=operand(node.args["high"]))
                return self.alternatives(exp.And(this=low, expression=high), scope, negated)
            case exp.In() if node.expressions:
                equal = [exp.EQ(this=operand(node.this), expression=operand(i)) for i in node.expressions]
                return self.alternatives(exp.or_(*equal), scope, negated)
            case exp.Binary() if node.find(exp.Query) is None:
                compared = scope.resolved(node)
                assert isinstance(compared, exp.Binary)
                return self.times.solved(compared, negated)
            case _ if node.find(exp.Query) is not None:
                raise NotInClass("a subquery that is not EXISTS or IN", node)
            case _:
                raise NotInClass("the clock is not compared in", node)

    def _members(self, node: Expression, scope: NameScope, negated: bool) -> list[Alternative]:
        """``IN``, ``ANY`` and ``ALL`` as questions for rows of a subquery that exist or do not.

        Where none may exist, those that leave the answer unknown may not either.
        """
        if isinstance(node, exp.In):
            compared, tree, values = Comparison(exp.EQ), node.args["query"], row(node.this)
        else:
            quantifier = quantified(node)
            assert quantifier is not None
            compared, tree, values = quantifier.comparison, quantifier.query, row(quantifier.value)
            negated = negated is not quantifier.negated
        if any(map(reads_clock, values)):
            raise NotInClass("the clock is not compared in", node)
        resolved = [scope.resolved(value) for value in values]
        members = []
        for alternative in self.subquery(tree, scope):
            items = [o.expression for o in alternative.output]
            if len(items) != len(resolved):
                raise NotInClass("a value is compared with rows of another width in", node)
            terms = compared.may_hold(resolved, items) if negated else compared.holds(resolved, items)
            members.append(replace(alternative, output=(), plain=(*alternative.plain, *terms)))
        return _existing(members, negated)


def _existing(rows: list[Alternative], negated: bool) -> list[Alternative]:
    """Rows that exist are joined, since the answer is a set; each kind of rows that must not is a term."""
    plain = [replace(alternative, output=()) for alternative in rows]
    return [Alternative(absent=tuple(plain))] if negated else plain


def all_of(parts: list[list[Alternative]]) -> list[Alternative]:
    """The alternatives in which one of each part is true."""
    if (count := prod(map(len, parts))) > LIMIT:
        raise NotInClass(f"its condition has {count} alternatives; at most {LIMIT} are rewritten")
    result = []
    for combination in product(*parts):
        whole = Alternative()
        for part in combination:
            whole = whole.both(part)
        result.append(whole)
    return result


def _is_plain(node: Expression) -> bool:
    """Whether a condition reads neither the clock nor another table."""
    return not any(functions.reads_clock(n) or isinstance(n, exp.Query) for n in node.walk())


def _negated(node: Expression) -> Expression:
    """The negation of a plain condition.

    >>> _negated(exp.maybe_parse("a < b")).sql()
    'a >= b'
    """
    if type(node) in NEGATED:
        return NEGATED[type(node)](this=node.args["this"], expression=node.args["expression"])
    return exp.Not(this=operand(node))
