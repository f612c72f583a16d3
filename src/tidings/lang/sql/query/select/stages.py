"""Taking the aggregates and window functions out of expressions.

``SELECT k + 1, SUM(x) / COUNT(*) … GROUP BY k`` computes its aggregates first and its expressions over them after; the
same goes for window functions.  :class:`Stage` collects what a stage below has to compute and leaves columns of that
stage in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import NonDeterministic
from tidings.ir.expression import Expression, column, window_call
from tidings.ir.relation import Field
from tidings.lang.sql.context import Context

_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass(slots=True)
class Stage:
    """Expressions computed by one stage, each under a name of its own; equal ones once."""

    alias: str
    prefix: str
    computed: dict[Expression, str] = field(default_factory=dict)

    def name(self, expression: Expression) -> Expression:
        """The column that stands for an expression of this stage."""
        name = self.computed.setdefault(expression, f"{self.prefix}{len(self.computed) + 1}")
        return column(self.alias, name)


def without_aggregates(expression: Expression, keys: Sequence[Stage], aggregates: Stage) -> Expression:
    """The expression over the columns of a grouping: its keys, those that come first before others, and aggregates."""

    def take(node: Expression) -> Expression | None:
        known = next((k for k in keys if node in k.computed), None)
        if known is not None:
            return known.name(node)
        return aggregates.name(node) if is_taken_whole(node) else None

    return _taken(expression, take)


def without_windows(expression: Expression, windows: Stage) -> Expression:
    """The expression over the columns of a window stage."""
    return _taken(expression, lambda node: windows.name(node) if isinstance(_collected(node), exp.Window) else None)


def _collected(node: Expression) -> Expression:
    """What collects the values that a node puts in order; else the node itself.

    An array is taken together with its order: without it, equal groups could differ from one evaluation to the next.
    """
    if not isinstance(node, exp.ArraySort) or node.expression is not None:
        return node
    inner = node.this.unnest()
    inner = inner.this.unnest() if isinstance(inner, exp.ArrayDistinct) else inner
    call = inner
    while isinstance(call, (*_WRAPPERS, exp.Window)):
        call = call.this
    return inner if isinstance(call, exp.ArrayAgg) else node


def with_computed(expression: Expression, stage: Stage) -> Expression:
    """The expression with what the stage computes taken from it."""
    return _taken(expression, lambda node: stage.name(node) if node in stage.computed else None)


def replaced(expression: Expression, by: Mapping[Expression, Expression]) -> Expression:
    """The expression with some of its parts replaced."""
    return _taken(expression, by.get)


def partitioned(window: Expression, ties: list[Expression]) -> Expression:
    """A window function that sees only rows with the same ties."""
    if not ties:
        return window
    tree = window.copy()
    inner = window_call(tree)
    inner.set("partition_by", [*(inner.args.get("partition_by") or []), *(t.copy() for t in ties)])
    return tree


def check_order(ctx: Context, window: Expression) -> None:
    """Refuse a window function that tells rows apart, or ranks them, without an order to do so by."""
    if window.args.get("order") is None and (by_rows(window) or functions.needs_order(window.this)):
        name = functions.function_name(window.this) or "window"
        raise NonDeterministic(ctx.place(window), "give the window an ORDER BY", function=f"{name}()")


def by_rows(window: Expression) -> bool:
    """Whether a window's frame counts rows, and not values of its order."""
    spec = window.args.get("spec")
    return spec is not None and str(spec.args.get("kind") or "").upper() == "ROWS"


def settled(window: Expression, fields: tuple[Field, ...]) -> Expression:
    """A window function whose answer does not depend on how ties fall: the whole row breaks them."""
    call = window_call(window)
    if call.args.get("order") is None or not (by_rows(call) or functions.depends_on_ties(call.this)):
        return window
    tree = window.copy()
    ties = [exp.Ordered(this=f.expression, desc=False, nulls_first=True) for f in fields]
    order = window_call(tree).args["order"]
    order.set("expressions", [*order.expressions, *ties])
    return tree


def is_aggregate_call(node: Expression) -> bool:
    """Whether a node is an aggregate with all that belongs to it, and not the function of a window."""
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        return False
    if isinstance(node, _WRAPPERS):
        return functions.is_aggregate(node.this) or isinstance(node.this, _WRAPPERS)
    return functions.is_aggregate(node) and not isinstance(node.parent, _WRAPPERS)


def is_taken_whole(node: Expression) -> bool:
    """Whether a node is an aggregate call, or one with the order its array is put into."""
    return is_aggregate_call(_collected(node))


def has_aggregate(expression: Expression) -> bool:
    return any(is_aggregate_call(n) for n in expression.walk())


def has_window(expression: Expression) -> bool:
    return any(isinstance(n, exp.Window) for n in expression.walk())


def _taken(expression: Expression, take: Callable[[Expression], Expression | None]) -> Expression:
    """Replace the outermost nodes that ``take`` has something for."""
    tree = exp.Paren(this=expression.copy())

    def go(node: Expression) -> None:
        for child in list(node.iter_expressions()):
            taken = take(child)
            if taken is None:
                go(child)
            else:
                child.replace(taken.copy())

    go(tree)
    result: Expression = tree.this
    return result.pop() if result.parent is not None else result
