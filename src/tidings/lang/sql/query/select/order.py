"""ORDER BY with LIMIT and OFFSET: the rows at certain places of an order."""

from __future__ import annotations

import re
from typing import TypeVar

from sqlglot import exp

from tidings.errors import InvalidExpression, Place
from tidings.ir.expression import Expression, column, literal
from tidings.ir.relation import Filter, Item, Project, Relation, Window
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.select.asked_once import PLACE

T = TypeVar("T")


def first_rows(
    ctx: Context,
    rows: Relation,
    out: list[Item],
    order: list[exp.Ordered],
    offset: int,
    limit: int | None,
    name: str,
    per: tuple[str, ...] = (),
    *,
    places: bool = False,
) -> Relation:
    """The rows at certain places of an order; the whole row breaks ties.

    ``per`` are columns that count apart.  With ``places`` a last column has the place of each row.
    """
    alias, fields = rows.fields[0].alias, rows.fields
    placed = [o.copy() for o in order]
    for part in placed:
        part.set("this", column(alias, part.this.name))
    ties = [ascending(f.expression) for f in fields]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[*placed, *ties]), over="OVER")
    if per:
        number.set("partition_by", [column(alias, p) for p in per])
    window = Window(rows, ctx.alias("place"), (Item("n", "int", number),))
    at = column(window.alias, "n")
    conditions: list[Expression] = [exp.GT(this=at, expression=literal(offset))] if offset else []
    if limit is not None:
        conditions.append(exp.LTE(this=at.copy(), expression=literal(offset + limit)))
    items = tuple(Item(i.name, i.type, column(alias, i.name)) for i in out)
    items += (Item(PLACE, "int", at.copy()),) if places else ()
    return Project(Filter(window, tuple(conditions)) if conditions else window, ctx.alias(name), items)


def ordinal(ctx: Context, tree: Expression, outputs: list[T]) -> T | None:
    """The output a whole number stands for in GROUP BY and ORDER BY."""
    if not isinstance(tree, exp.Literal) or tree.is_string or not str(tree.this).isdigit():
        return None
    number = int(str(tree.this))
    if not 1 <= number <= len(outputs):
        at = [m.start() for m in re.finditer(rf"\b{number}\b", ctx.text)]
        place = Place(ctx.text, at[-1], at[-1] + len(str(number))) if at else None
        raise InvalidExpression(place, reason=f"there is no output column {number}; there are {len(outputs)}")
    return outputs[number - 1]


def count(ctx: Context, clause: Expression | None) -> int | None:
    """The number in a LIMIT or OFFSET; None for none, and for LIMIT ALL."""
    value = clause.args.get("expression") if clause is not None else None
    if clause is None or (isinstance(value, exp.Column | exp.Var) and value.name.upper() == "ALL"):
        return None
    if not isinstance(value, exp.Literal) or not str(value.this).isdigit():
        raise ctx.unsupported(f"{clause.key.upper()} by anything but a number", clause)
    return int(str(value.this))


def ascending(expression: Expression) -> exp.Ordered:
    return exp.Ordered(this=expression.copy(), desc=False, nulls_first=True)
