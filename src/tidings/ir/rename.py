"""Giving a plan other aliases, so that it can stand twice in one plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from tidings.ir.expression import Expression, column, refs, substitute
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Window,
)


def rename(node: Relation, alias: Callable[[str], str]) -> Relation:
    """The same plan with every alias replaced; ``alias`` must keep different aliases apart."""

    def e(expression: Expression) -> Expression:
        return substitute(expression, {r: column(alias(r[0]), r[1]) for r in refs(expression)})

    def items(items_below: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(Item(i.name, i.type, e(i.expression)) for i in items_below)

    def go(n: Relation) -> Relation:
        match n:
            case Scan():
                return Scan(n.relation, alias(n.alias), n.columns, n.version)
            case Values():
                return Values(alias(n.alias), n.columns, n.rows)
            case Filter():
                return Filter(go(n.input), tuple(map(e, n.conditions)))
            case Project():
                return Project(go(n.input), alias(n.alias), items(n.items))
            case Join():
                return Join(tuple(map(go, n.inputs)), tuple(map(e, n.conditions)))
            case Union():
                return Union(tuple(map(go, n.inputs)), alias(n.alias), n.columns)
            case Aggregate():
                return Aggregate(go(n.input), alias(n.alias), items(n.keys), items(n.aggregates))
            case Window():
                return Window(go(n.input), alias(n.alias), items(n.items))
            case Unnest():
                return Unnest(go(n.input), alias(n.alias), n.element, e(n.array))
            case During():
                return During(go(n.input), e(n.condition), tuple(map(e, n.instants)))
            case OuterJoin():
                return OuterJoin(go(n.left), go(n.right), tuple(map(e, n.conditions)))
            case SemiJoin():
                return SemiJoin(go(n.left), go(n.right), tuple(map(e, n.conditions)), n.anti)
            case SetOperation():
                return SetOperation(n.kind, n.all, go(n.left), go(n.right), alias(n.alias), n.columns)
            case Repeat():
                return Repeat(go(n.input), e(n.times))
            case Restrict():
                return Restrict(go(n.input), e(n.expression), go(n.keys), n.null_safe)
            case Consolidate():
                return Consolidate(go(n.input), alias(n.alias))
            case Fixpoint():
                return replace(n, inputs=tuple(map(go, n.inputs)), alias=alias(n.alias))
            case _:
                assert_never(n)

    return go(node)
