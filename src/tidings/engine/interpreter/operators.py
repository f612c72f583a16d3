"""Operators over rows: functions from lists of rows to lists of rows.

Joins by equality go through dictionaries; all others go through pairs of rows, of which there may be no more than
:data:`MOST_ROWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from sqlglot import exp

from tidings.engine.interpreter.aggregates import Aggregates, require_key, window_function
from tidings.engine.interpreter.expression import Compiler
from tidings.engine.interpreter.values import (
    LeftToEngine,
    NotInterpreted,
    Row,
    Typed,
    Value,
    column,
    converted,
    require_comparable,
)
from tidings.ir import types
from tidings.ir.expression import Expression, aliases, ref
from tidings.ir.relation import Aggregate, Field, Item, Window

Rows: TypeAlias = list[Row]
RowFunction: TypeAlias = Callable[[Rows], Rows]

MOST_ROWS = 10_000


def compiler(fields: Sequence[Field]) -> Compiler:
    """Makes functions of the rows of a relation."""
    return Compiler({f.ref: column(place, f.type) for place, f in enumerate(fields)})


def filtered(conditions: Sequence[Expression], fields: Sequence[Field]) -> RowFunction:
    met = [compiler(fields).condition(c) for c in conditions]
    return lambda rows: [row for row in rows if all(condition(row) is True for condition in met)]


def projected(items: Sequence[Item], fields: Sequence[Field]) -> RowFunction:
    places = {f.ref: (place, f.type) for place, f in enumerate(fields)}
    plain = [places.get(ref(i.expression) or ("", "")) for i in items]
    known = [p[0] for p, i in zip(plain, items, strict=True) if p is not None and p[1] == i.type]
    if len(known) == len(items):
        return picked(known)
    computed = [item(compiler(fields), i.expression, i.type) for i in items]
    return lambda rows: [tuple(value(row) for value in computed) for row in rows]


def picked(places: Sequence[int]) -> RowFunction:
    """Some columns of rows."""
    if len(places) < 2:
        return lambda rows: [tuple(row[place] for place in places) for row in rows]
    pick = itemgetter(*places)
    return lambda rows: list(map(pick, rows))


def item(compiler: Compiler, expression: Expression, type: str) -> Value:
    """An expression as a value of a type."""
    return converted(compiler.value(expression), type)


def require_like_keys(one: str, other: str) -> None:
    """Refuse keys that are compared with values of another type."""
    require_comparable(column(0, one), column(0, other))


def repeated(times: Expression, fields: Sequence[Field]) -> RowFunction:
    count = compiler(fields).value(times)
    if count.type not in types.INTEGRAL:
        raise NotInterpreted(f"{count.type} as a number of times")

    def run(rows: Rows) -> Rows:
        result = [row for row in rows for _ in range(min(count.value(row) or 0, MOST_ROWS + 1))]
        return require_few(result)

    return run


def aggregated(node: Aggregate) -> RowFunction:
    fields = node.input.fields
    of_row = compiler(fields)
    keys = [item(of_row, i.expression, require_key(i.type)) for i in node.keys]
    collected = Aggregates(of_row.columns)
    results = [item(collected, i.expression, i.type) for i in node.aggregates]
    folds = collected.folds

    def run(rows: Rows) -> Rows:
        groups: dict[Row, Rows] = {} if keys else {(): []}
        for row in rows:
            groups.setdefault(tuple(key(row) for key in keys), []).append(row)
        result = []
        for group, members in groups.items():
            folded = tuple(fold(members) for fold in folds)
            result.append((*group, *(value(folded) for value in results)))
        return result

    return run


def consolidated(rows: Rows) -> Rows:
    """Rows that end with a weight, each once, weights added up, zeros gone."""
    totals: dict[Row, int] = {}
    for row in rows:
        totals[row[:-1]] = totals.get(row[:-1], 0) + row[-1]
    return [(*row, weight) for row, weight in totals.items() if weight]


def with_windows(node: Window) -> RowFunction:
    columns = compiler(node.input.fields).columns
    functions = [window_function(i.expression, columns) for i in node.items]
    casts = [converted(column(0, f.type), i.type) for f, i in zip(functions, node.items, strict=True)]

    def run(rows: Rows) -> Rows:
        given = [[cast((value,)) for value in f.run(rows)] for f, cast in zip(functions, casts, strict=True)]
        return [(*row, *values) for row, *values in zip(rows, *given, strict=True)]

    return run


def require_few(rows: Rows) -> Rows:
    if len(rows) > MOST_ROWS:
        raise LeftToEngine("more rows than a few")
    return rows


@dataclass(frozen=True, slots=True)
class Matching:
    """Finds the rows of a right input that match rows of a left one, as rows with the columns of both."""

    left_keys: tuple[Value, ...]
    right_keys: tuple[Value, ...]
    matches_null: tuple[bool, ...]
    """For each key whether NULL matches NULL."""
    conditions: tuple[Value, ...]
    """What pairs have to meet beside."""

    def run(self, left: Rows, right: Rows) -> list[Rows]:
        """For each row of the left input its matches."""
        index: dict[Row, Rows] = {}
        for row in right:
            key = tuple(k(row) for k in self.right_keys)
            if not self._matches_nothing(key):
                index.setdefault(key, []).append(row)
        found: list[Rows] = []
        pairs = 0
        for row in left:
            key = tuple(k(row) for k in self.left_keys)
            candidates = () if self._matches_nothing(key) else index.get(key, ())
            pairs += len(candidates)
            if pairs > MOST_ROWS:
                raise LeftToEngine("more pairs of rows than a few")
            both = [row + other for other in candidates]
            if self.conditions:
                both = [pair for pair in both if all(c(pair) is True for c in self.conditions)]
            found.append(both)
        return found

    def _matches_nothing(self, key: Row) -> bool:
        return None in key and any(
            value is None and not same for value, same in zip(key, self.matches_null, strict=True)
        )


def matching(left: Sequence[Field], right: Sequence[Field], conditions: Sequence[Expression]) -> Matching:
    """How rows of two inputs match that meet all conditions together."""
    sides = {f.alias for f in left}, {f.alias for f in right}
    compilers = compiler(left), compiler(right)
    keys: list[tuple[Value, Value]] = []
    matches_null: list[bool] = []
    others: list[Value] = []
    for condition in conditions:
        equal = _equality(condition, sides, compilers)
        if equal is None:
            others.append(compiler((*left, *right)).condition(condition))
        else:
            keys.append((equal[0].value, equal[1].value))
            matches_null.append(isinstance(condition, exp.NullSafeEQ))
    return Matching(tuple(k for k, _ in keys), tuple(k for _, k in keys), tuple(matches_null), tuple(others))


def _equality(
    condition: Expression, sides: tuple[set[str], set[str]], compilers: tuple[Compiler, Compiler]
) -> tuple[Typed, Typed] | None:
    """The two values that a condition asks to be equal, one of each input; None if it asks something else."""
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return None
    one, other = condition.this, condition.expression
    for first, second in ((one, other), (other, one)):
        if aliases(first) and aliases(second) and aliases(first) <= sides[0] and aliases(second) <= sides[1]:
            values = compilers[0].value(first), compilers[1].value(second)
            require_comparable(*values)
            return values
    return None
