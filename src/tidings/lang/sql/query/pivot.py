"""PIVOT and UNPIVOT, written as plain SELECTs.

``PIVOT (f(x) FOR c IN (v, …))`` groups by all columns it does not mention, with an aggregate ``f(x) FILTER (WHERE
c <=> v)`` per value.  Where no row has the value the answer is NULL, also of ``count``: so Spark has it.

``UNPIVOT (v FOR n IN (a, …))`` has a row per listed column: ``stack(…)`` of their names and values.  Rows of NULLs are
left out unless it says INCLUDE NULLS.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.errors import InvalidExpression, UnknownColumn, closest
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.select.stages import is_aggregate_call


def as_select(ctx: Context, pivot: exp.Pivot, source: Expression, names: tuple[str, ...]) -> exp.Select:
    """What a pivot makes of a source with columns of these names."""
    if pivot.args.get("group") is not None or len(pivot.args.get("fields") or []) != 1:
        raise ctx.unsupported("this form of PIVOT", pivot)
    (choice,) = pivot.args["fields"]
    if not isinstance(choice, exp.In) or choice.args.get("query") is not None:
        raise ctx.unsupported("PIVOT over values that are not listed", pivot)
    return (_unpivot if pivot.args.get("unpivot") else _pivot)(ctx, pivot, choice, source, names)


def _pivot(ctx: Context, pivot: exp.Pivot, choice: exp.In, source: Expression, names: tuple[str, ...]) -> exp.Select:
    by = _members(choice.this)
    mentioned = {c.name.lower() for part in (*pivot.expressions, *by) for c in part.find_all(exp.Column)}
    _check(ctx, [c for part in (*pivot.expressions, *by) for c in part.find_all(exp.Column)], names)
    group_keys = [exp.column(exp.to_identifier(n, quoted=True)) for n in names if n.lower() not in mentioned]
    pivoted = []
    for value in choice.expressions:
        shown, cells = _named(value), _members(value.this if isinstance(value, exp.PivotAlias) else value)
        if len(cells) != len(by):
            reason = f"PIVOT is by {len(by)} columns, and a row of its values has {len(cells)}"
            raise InvalidExpression(ctx.place(value), reason=reason)
        equal = [exp.NullSafeEQ(this=b.copy(), expression=c.copy()) for b, c in zip(by, cells, strict=True)]
        for aggregate in pivot.expressions:
            call = aggregate.this if isinstance(aggregate, exp.Alias) else aggregate
            name = shown if len(pivot.expressions) == 1 else f"{shown}_{_aggregate_name(aggregate)}"
            pivoted.append(_among(call, exp.and_(*equal)).as_(name, quoted=True))
    return exp.Select(
        expressions=[*group_keys, *pivoted],
        from_=exp.From(this=source),
        group=exp.Group(expressions=[k.copy() for k in group_keys]) if group_keys else None,
    )


def _among(aggregate: Expression, condition: Expression) -> Expression:
    """An expression over aggregates of the rows that meet a condition; NULL where none does."""

    def only(call: Expression) -> Expression:
        if isinstance(call, exp.Filter):
            both = exp.and_(call.expression.this.copy(), condition.copy())
            return exp.Filter(this=call.this.copy(), expression=exp.Where(this=both))
        return exp.Filter(this=call.copy(), expression=exp.Where(this=condition.copy()))

    whole = exp.Paren(this=aggregate.copy())
    for call in [n for n in whole.walk() if is_aggregate_call(n)]:
        call.replace(only(call))
    some = exp.GT(this=only(exp.Count(this=exp.Star(), big_int=True)), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=whole.this)])


def _unpivot(ctx: Context, pivot: exp.Pivot, choice: exp.In, source: Expression, names: tuple[str, ...]) -> exp.Select:
    value_names = [i.name for i in _members(pivot.expressions[0])]
    listed = [(_named(e, "_"), _members(e.this if isinstance(e, exp.PivotAlias) else e)) for e in choice.expressions]
    _check(ctx, [c for _, columns in listed for c in columns], names)
    gone = {c.name.lower() for _, columns in listed for c in columns}
    passed = [exp.column(exp.to_identifier(n, quoted=True)) for n in names if n.lower() not in gone]
    cells = [cell for name, columns in listed for cell in (exp.Literal.string(name), *(c.copy() for c in columns))]
    rows = exp.Stack(this=exp.Literal.number(len(listed)), expressions=cells)
    new = [exp.to_identifier(n, quoted=True) for n in (choice.this.name, *value_names)]
    view = exp.Lateral(
        this=rows,
        view=True,
        alias=exp.TableAlias(this=exp.to_identifier("unpivoted"), columns=[i.copy() for i in new]),
    )
    out = [exp.column(i.copy(), table="unpivoted") for i in new]
    some = exp.or_(*(exp.Not(this=exp.Is(this=c.copy(), expression=exp.Null())) for c in out[1:]))
    return exp.Select(
        expressions=[*passed, *(c.copy() for c in out)],
        from_=exp.From(this=source),
        laterals=[view],
        where=None if pivot.args.get("include_nulls") else exp.Where(this=some),
    )


def _members(element: Expression) -> list[Expression]:
    return list(element.expressions) if isinstance(element, exp.Tuple) else [element.unnest()]


def _named(element: Expression, between: str | None = None) -> str:
    """The name of a listed value or column: its alias, else what it is."""
    if isinstance(element, exp.PivotAlias):
        return element.alias if isinstance(element.args["alias"], exp.Identifier) else element.args["alias"].name
    members = _members(element)
    shown = ["null" if isinstance(m, exp.Null) else m.name or m.sql(DIALECT) for m in members]
    if between is not None:
        return between.join(shown)
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


def _aggregate_name(aggregate: Expression) -> str:
    if isinstance(aggregate, exp.Alias):
        return aggregate.alias
    ones = aggregate.transform(lambda n: exp.Literal.number(1) if isinstance(n, exp.Star) else n)
    return ones.sql(DIALECT, normalize_functions="lower")


def _check(ctx: Context, columns: list[Expression], names: tuple[str, ...]) -> None:
    for column in columns:
        if column.name.lower() not in {n.lower() for n in names}:
            raise UnknownColumn(ctx.place(column), closest(column.name, list(names)), name=column.name)
