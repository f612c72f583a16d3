"""Plans as functions from the rows of their inputs to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tidings.engine.interpreter import operators
from tidings.engine.interpreter.aggregates import require_key
from tidings.engine.interpreter.expression import Compiler
from tidings.engine.interpreter.operators import RowFunction, Rows
from tidings.engine.interpreter.values import LeftToEngine, NotInterpreted
from tidings.ir.expression import Expression, aliases
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    Field,
    Filter,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    Union,
    Values,
    Version,
    Window,
)

InterpretedPlan: TypeAlias = Callable[[Sequence[Rows]], Rows]
"""From the rows of all inputs to the rows of a plan."""


class InterpretedInput(NamedTuple):
    """The place of an input among all, and what columns its rows have."""

    place: int
    columns: tuple[Column, ...]


Inputs: TypeAlias = Mapping[tuple[str, Version], InterpretedInput]


def interpreted(plan: Relation, inputs: Inputs) -> InterpretedPlan:
    """A plan as a function; raises :class:`NotInterpreted` if something in it is not known."""
    return _Interpreter(inputs).plan(plan)


@dataclass(frozen=True, slots=True)
class _Interpreter:
    inputs: Inputs

    def plan(self, node: Relation) -> InterpretedPlan:
        match node:
            case Scan():
                return self._scan(node)
            case Values():
                return _values(node)
            case Join():
                return self._join(node)
            case SemiJoin() | OuterJoin():
                return self._two_sided(node)
            case Restrict():
                return self._restrict(node)
            case Union():
                parts = [self.plan(child) for child in node.inputs]
                return lambda inputs: [row for part in parts for row in part(inputs)]
            case Filter() | Project() | Aggregate() | Consolidate() | Window() | Repeat():
                below, over = self.plan(node.input), _over_rows(node)
                return lambda inputs: over(below(inputs))
            case _:
                raise NotInterpreted(type(node).__name__)

    def _scan(self, node: Scan) -> InterpretedPlan:
        place, columns = self.inputs[node.relation, node.version]
        names = [c.name for c in columns]
        pick = operators.picked([names.index(f.name) for f in node.fields])
        return lambda inputs: pick(inputs[place])

    def _join(self, node: Join) -> InterpretedPlan:
        """Inputs one after the other; a condition is judged as soon as there are all columns that it mentions."""
        first, *others = node.inputs
        joined, fields, left_over = self.plan(first), first.fields, list(node.conditions)
        for other in others:
            known = {f.alias for f in (*fields, *other.fields)}
            ready = [c for c in left_over if aliases(c) <= known]
            left_over = [c for c in left_over if c not in ready]
            joined = self._joined(joined, fields, other, ready)
            fields = (*fields, *other.fields)
        return joined

    def _joined(
        self, left: InterpretedPlan, fields: Sequence[Field], other: Relation, conditions: Sequence[Expression]
    ) -> InterpretedPlan:
        right, match = self.plan(other), operators.matching(fields, other.fields, conditions).run
        return lambda inputs: [pair for pairs in match(left(inputs), right(inputs)) for pair in pairs]

    def _two_sided(self, node: SemiJoin | OuterJoin) -> InterpretedPlan:
        left, right = self.plan(node.left), self.plan(node.right)
        match = operators.matching(node.left.fields, node.right.fields, node.conditions).run
        if isinstance(node, SemiJoin):
            return lambda inputs: _having(left(inputs), right(inputs), match, not node.anti)
        padding = (None,) * len(node.right.fields)

        def outer(inputs: Sequence[Rows]) -> Rows:
            rows = left(inputs)
            matches = match(rows, right(inputs))
            return [pair for row, pairs in zip(rows, matches, strict=True) for pair in pairs or [row + padding]]

        return outer

    def _restrict(self, node: Restrict) -> InterpretedPlan:
        rows, keys = self.plan(node.input), self.plan(node.keys)
        value, null_safe = operators.compiler(node.input.fields).value(node.expression), node.null_safe
        operators.require_like_keys(value.type, node.keys.fields[0].type)

        def restricted(inputs: Sequence[Rows]) -> Rows:
            wanted = {key for (key,) in keys(inputs) if null_safe or key is not None}
            return [row for row in rows(inputs) if value.value(row) in wanted]

        return restricted


def _over_rows(node: Filter | Project | Aggregate | Consolidate | Window | Repeat) -> RowFunction:
    match node:
        case Filter():
            return operators.filtered(node.conditions, node.input.fields)
        case Project():
            return operators.projected(node.items, node.input.fields)
        case Aggregate():
            return operators.aggregated(node)
        case Consolidate():
            for field in node.fields:
                require_key(field.type)
            return operators.consolidated
        case Window():
            return operators.with_windows(node)
        case Repeat():
            return operators.repeated(node.times, node.input.fields)


def _values(node: Values) -> InterpretedPlan:
    constants = Compiler({})
    items = [
        [operators.item(constants, e, c.type) for e, c in zip(row, node.columns, strict=True)] for row in node.rows
    ]
    try:
        rows = [tuple(item(()) for item in row) for row in items]
    except LeftToEngine as reason:
        raise NotInterpreted(str(reason)) from None
    return lambda _: rows


def _having(left: Rows, right: Rows, match: Callable[[Rows, Rows], list[Rows]], wanted: bool) -> Rows:
    """Rows that match some other row, or that match none."""
    return [row for row, pairs in zip(left, match(left, right), strict=True) if bool(pairs) is wanted]
