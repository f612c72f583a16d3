"""What is known about the order of instants, without looking at rows.

Two expressions that add constant intervals to the same column compare as the intervals do.  Months and years have no
fixed length, so they count as something between the shortest and the longest.  Declared facts (:class:`After`) say
that the rows of one table do not come before those that they name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from tidings.ir.expression import Expression, cast, equality, greatest, operand, read, ref
from tidings.ir.standard_form import After, Instant, TableUse

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_UNITS = {
    "MICROSECOND": (1, 1),
    "MILLISECOND": (1_000, 1_000),
    "SECOND": (_SECOND, _SECOND),
    "MINUTE": (60 * _SECOND, 60 * _SECOND),
    "HOUR": (3_600 * _SECOND, 3_600 * _SECOND),
    "DAY": (_DAY, _DAY),
    "WEEK": (7 * _DAY, 7 * _DAY),
    "MONTH": (28 * _DAY, 31 * _DAY),
    "YEAR": (365 * _DAY, 366 * _DAY),
}
"""The shortest and the longest of each unit, in microseconds."""


class Offset(NamedTuple):
    """An expression as another one and a number of microseconds between two bounds."""

    base: Expression
    least: int
    most: int


def offset(expression: Expression) -> Offset:
    """What an expression adds to what.

    >>> offset(read("m.ts + INTERVAL 1 DAY - INTERVAL 1 HOUR"))[1:]
    (82800000000, 82800000000)
    """
    node = expression.unnest()
    if isinstance(node, exp.Cast) and isinstance(day := node.this.unnest(), exp.TsOrDsAdd) and _is_int(day.expression):
        days = int(str(day.expression.this)) * _DAY
        return Offset(cast(day.this.unnest(), "timestamp"), days, days)
    if isinstance(node, exp.Add | exp.Sub):
        swapped = [(node.right, node.left)] if isinstance(node, exp.Add) else []
        for moment, added in [(node.left, node.right), *swapped]:
            length = _length(added)
            if length is not None:
                base, least, most = offset(moment)
                shortest, longest = length if isinstance(node, exp.Add) else (-length[1], -length[0])
                return Offset(base, least + shortest, most + longest)
    return Offset(node, 0, 0)


def _is_int(node: Expression) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()


def _length(node: Expression) -> tuple[int, int] | None:
    """The bounds of an interval's length, if it is a constant."""
    node = node.unnest()
    if isinstance(node, exp.Add):
        parts = [_length(node.left), _length(node.right)]
        known = [p for p in parts if p is not None]
        return (sum(p[0] for p in known), sum(p[1] for p in known)) if len(known) == len(parts) else None
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return None
    unit = _UNITS.get(str(node.args.get("unit") or "").upper().removesuffix("S"))
    try:
        amount = int(str(node.this.this))
    except ValueError:
        return None
    if unit is None:
        return None
    shortest, longest = sorted((amount * unit[0], amount * unit[1]))
    return shortest, longest


def microseconds_later(expression: Expression, microseconds: int) -> Expression:
    """An expression and some microseconds."""
    if not microseconds:
        return expression
    unit = "MICROSECOND" if microseconds == 1 else "MICROSECONDS"
    return exp.Add(this=_side(expression), expression=read(f"INTERVAL {microseconds} {unit}"))


def not_after(first: Instant, second: Instant) -> Expression:
    """The condition that an instant is not after another one.

    >>> show(not_after(Instant(read("m.ts"), 1), Instant(read("m.due"))))
    'm.ts < m.due'
    """
    ahead = first.shift - second.shift
    if ahead > 0:
        earlier = microseconds_later(first.expression, ahead - 1)
        return exp.LT(this=_side(earlier), expression=_side(second.expression))
    later = microseconds_later(second.expression, -ahead)
    return exp.LTE(this=_side(first.expression), expression=_side(later))


def _side(expression: Expression) -> Expression:
    """A moment as the left side of a sum or a side of a comparison, with parentheses where it needs them."""
    return expression.copy() if isinstance(expression, exp.Add | exp.Sub) else operand(expression)


def latest(instants: tuple[Instant, ...]) -> Instant:
    """The last of some instants, as one."""
    if len(instants) == 1:
        return instants[0]
    shift = min(i.shift for i in instants)
    return Instant(greatest([microseconds_later(i.expression, i.shift - shift) for i in instants]), shift)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of instants of the rows of some tables for which some terms are true."""

    successors: dict[Expression, set[Expression]]
    """Expressions that are known not to be before an expression, directly."""

    @staticmethod
    def of(tables: Iterable[TableUse], plain: Iterable[Expression]) -> Order:
        """What declared facts say about the rows of tables, by what the terms set equal."""
        equal = _equal_columns(plain)
        uses = list(tables)
        successors: dict[Expression, set[Expression]] = defaultdict(set)
        for later in uses:
            for fact in later.table.after:
                for earlier in uses:
                    if earlier is not later and _names(later, fact, earlier, equal):
                        successors[earlier.time].add(later.time)
        return Order(dict(successors))

    def is_not_after(self, first: Instant, second: Instant) -> bool | None:
        """Whether an instant is not after another one, if that is known."""
        a, b = offset(first.expression), offset(second.expression)
        if a.most + first.shift <= b.least + second.shift and self._reaches(a.base, b.base):
            return True
        if a.least + first.shift > b.most + second.shift and self._reaches(b.base, a.base):
            return False
        return None

    def _reaches(self, first: Expression, second: Expression) -> bool:
        unvisited, seen = [first], {first}
        while unvisited:
            node = unvisited.pop()
            if node == second:
                return True
            new = self.successors.get(node, set()) - seen
            seen |= new
            unvisited += new
        return False

    def last_ones(self, instants: tuple[Instant, ...]) -> tuple[Instant, ...]:
        """Those of some instants that may be the last."""
        kept: list[Instant] = []
        for n, instant in enumerate(instants):
            others = [*kept, *instants[n + 1 :]]
            if not any(self.is_not_after(instant, other) for other in others):
                kept.append(instant)
        return tuple(kept)


def _equal_columns(plain: Iterable[Expression]) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """For each column those that terms set equal to it, directly or through others."""
    groups: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for term in plain:
        sides = equality(term)
        if sides is None or (left := ref(sides[0])) is None or (right := ref(sides[1])) is None:
            continue
        group = groups.get(left, {left}) | groups.get(right, {right})
        groups.update(dict.fromkeys(group, group))
    return groups


def _names(later: TableUse, fact: After, earlier: TableUse, equal: dict[tuple[str, str], set[tuple[str, str]]]) -> bool:
    """Whether terms say that a row names another one, as a fact has it."""
    if fact.relation.lower() != earlier.table.name.lower():
        return False
    pairs = zip(fact.columns, fact.named, strict=True)
    return all((earlier.alias, named) in equal.get((later.alias, column), ()) for column, named in pairs)
