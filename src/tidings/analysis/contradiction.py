"""Whether conditions can be true together, as far as comparisons of columns with constants tell.

Conditions are taken apart into cases, each a conjunction of comparisons; they contradict each other if there is a
column in every case that no value suits.  What is not understood counts as true.

>>> from tidings.ir.expression import read
>>> texts = "t.x > 1 AND t.x < 2", "t.x < 5 OR t.x IS NULL", "t.x IN (5, 7)"
>>> narrow, low, listed = map(read, texts)
>>> known = {("t", "x"): "int"}
>>> contradict([narrow], known), contradict([low, listed], known), contradict([low], known)
(True, True, False)

Floating numbers are never judged: ``x = 0.1 AND x = 0.10000000000000000001`` is true for a DOUBLE of 0.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlglot import exp

from tidings.analysis.constant import NO_VALUE, constant
from tidings.ir import types
from tidings.ir.expression import Expression, ref

_MOST_CASES = 64
"""More alternatives than these are not looked into."""

_COMPARISONS: dict[type[Expression], str] = {
    exp.EQ: "=", exp.NullSafeEQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

Ref: TypeAlias = tuple[str, str]
Types: TypeAlias = Mapping[Ref, str]
Fact: TypeAlias = tuple[Ref, str, Any]
"""A column, how it compares, and with what: ``null``, ``in`` or one of the signs."""
Case: TypeAlias = tuple[Fact, ...]


def contradict(conditions: Iterable[Expression], known: Types) -> bool:
    """Whether no row can meet all conditions; ``known`` are the types of its columns."""
    cases: list[Case] = [()]
    for condition in conditions:
        cases = _both(cases, _cases(condition, known, negated=False))
    return all(_is_impossible(case, known) for case in cases)


def _both(left: list[Case], right: list[Case]) -> list[Case]:
    """The cases of a conjunction; those of one side alone where all together would be too many."""
    if len(left) * len(right) > _MOST_CASES:
        return left
    return [(*a, *b) for a in left for b in right]


def _cases(condition: Expression, known: Types, *, negated: bool) -> list[Case]:
    """The alternatives under which a condition, or its negation, is true."""
    node = condition.unnest()
    match node:
        case exp.Not():
            return _cases(node.this, known, negated=not negated)
        case exp.Boolean():
            return [()] if bool(node.this) != negated else []
        case exp.And() | exp.Or():
            sides = [_cases(side, known, negated=negated) for side in (node.left, node.right)]
            if isinstance(node, exp.And) != negated:
                return _both(*sides)
            return [*sides[0], *sides[1]] if len(sides[0]) + len(sides[1]) <= _MOST_CASES else [()]
        case exp.Coalesce(expressions=[exp.Boolean(this=False)]) if not negated:
            return _cases(node.this, known, negated=False)
        case exp.Between() if not node.args.get("symmetric"):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
            return _cases(exp.And(this=low, expression=high), known, negated=negated)
        case _:
            return _of_column(node, known, negated=negated)


def _of_column(node: Expression, known: Types, *, negated: bool) -> list[Case]:
    """The alternatives under which a comparison of a column is true; one without facts for anything else."""
    column = ref(node if isinstance(node, exp.Column) else node.this) if isinstance(node.this, Expression) else None
    sign = _COMPARISONS.get(type(node))
    if sign is not None and column is None:
        column, sign = ref(node.expression), _SWAPPED.get(sign, sign)
        value = node.this
    else:
        value = node.args.get("expression")
    if column is None or column not in known:
        return [()]
    match node:
        case exp.Column() if known[column] == "boolean":
            return [((column, "=", not negated),)]
        case exp.Is(expression=exp.Null()):
            return [((column, "null", not negated),)]
        case exp.In() if not node.args.get("query") and not node.args.get("unnest"):
            values = [constant(e, known[column]) for e in node.expressions]
            if NO_VALUE in values:
                return [()]
            if negated:
                return [] if None in values else [tuple((column, "<>", v) for v in values)]
            return [((column, "in", frozenset(v for v in values if v is not None)),)]
        case _ if sign is not None:
            return _compared(column, sign, constant(value, known[column]), isinstance(node, exp.NullSafeEQ), negated)
        case _:
            return [()]


def _compared(column: Ref, sign: str, value: Any, null_safe: bool, negated: bool) -> list[Case]:
    if value is NO_VALUE:
        return [()]
    if value is None:
        return [((column, "null", not negated),)] if null_safe else []
    if negated and null_safe:
        return [((column, "<>", value),), ((column, "null", True),)]
    return [((column, _OPPOSITE[sign] if negated else sign, value),)]


@dataclass(slots=True)
class _Range:
    """The values that a column may have."""

    null: bool | None = None
    """Whether it has to be NULL, or may not be."""
    low: tuple[Any, bool] | None = None
    high: tuple[Any, bool] | None = None
    """Bounds, and whether they are values that it may have."""
    among: frozenset[Any] | None = None
    without: set[Any] = field(default_factory=set)
    impossible: bool = False

    def add(self, sign: str, value: Any) -> None:
        null = bool(value) if sign == "null" else False
        self.impossible |= self.null is not None and self.null != null
        self.null = null
        match sign:
            case "=" | "in":
                values = frozenset([value]) if sign == "=" else value
                self.among = values if self.among is None else self.among & values
            case "<>":
                self.without.add(value)
            case "<" | "<=":
                bound = (value, sign == "<=")
                self.high = bound if self.high is None else min(self.high, bound)
            case ">" | ">=":
                bound = (value, sign == ">=")
                is_higher = self.low is None or value > self.low[0] or (value == self.low[0] and sign == ">")
                self.low = bound if is_higher else self.low

    def is_empty(self, *, whole: bool) -> bool:
        """Whether there is no such value; ``whole`` if only whole numbers count."""
        if self.impossible:
            return True
        if self.among is not None:
            return not any(self._suits(value) for value in self.among)
        if self.low is None or self.high is None:
            return False
        low, high = self.low[0], self.high[0]
        if whole:
            return bool(low + (not self.low[1]) > high - (not self.high[1]))
        return bool(low > high or (low == high and not (self.low[1] and self.high[1])))

    def _suits(self, value: Any) -> bool:
        above = self.low is None or value > self.low[0] or (value == self.low[0] and self.low[1])
        below = self.high is None or value < self.high[0] or (value == self.high[0] and self.high[1])
        return above and below and value not in self.without


def _is_impossible(case: Case, known: Types) -> bool:
    ranges: dict[Ref, _Range] = {}
    for column, sign, value in case:
        ranges.setdefault(column, _Range()).add(sign, value)
    return any(r.is_empty(whole=known[column] in types.INTEGRAL) for column, r in ranges.items())
