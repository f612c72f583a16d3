"""Random facts and expressions for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from tidings.algebra.calculus import (
    Facts,
    NaturalJoin,
    Row,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    join,
    project,
    relation,
    select,
)

WIDTHS = {"a": 1, "b": 1, "e": 2, "f": 2}
"""The relations and how many attributes each has."""

EXACT = ("select", "union", "difference", "intersect", "product", "join")
MONOTONE = ("select", "project", "union", "product", "join", "path")
ALL = (*EXACT, "project", "path")


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    """The four relations with arbitrary old and new states."""

    def states() -> dict[str, frozenset[Row]]:
        rows = {n: st.frozensets(st.tuples(*[st.integers(0, 2)] * w), max_size=5) for n, w in WIDTHS.items()}
        return {name: draw(strategy) for name, strategy in rows.items()}

    return Facts.between(states(), states())


@st.composite
def expressions(
    draw: st.DrawFn, depth: int = 3, kinds: tuple[str, ...] = ALL, attributes: tuple[str, ...] = ("x", "y")
) -> SetExpression:
    """An expression over the four relations with the given one or two attributes."""

    def below(*names: str) -> SetExpression:
        return draw(expressions(depth - 1, kinds, names))

    first, last = attributes[0], attributes[-1]
    match draw(st.sampled_from(kinds)) if depth else "relation":
        case "select":
            condition = draw(st.sampled_from([f"{first} > 0", f"{first} + 1 != {last} * 2"]))
            return select(below(*attributes), condition)
        case "project":
            return project(below("x", "y"), *_items(attributes, "y % 2", "x"))
        case "union":
            return SetUnion(below(*attributes), below(*attributes))
        case "difference":
            return SetDifference(below(*attributes), below(*attributes))
        case "intersect":
            return SetIntersection(below(*attributes), below(*attributes))
        case "product" if len(attributes) == 2:
            return SetProduct(below(first), below(last))
        case "join":
            return NaturalJoin(below(*attributes), below(last))
        case "path":
            return project(join(below("u", "v"), below("v", "w")), *_items(attributes, "u", "w"))
        case _:
            names = [n for n, width in WIDTHS.items() if width == len(attributes)]
            return relation(draw(st.sampled_from(names)), *attributes)


def _items(attributes: tuple[str, ...], *values: str) -> list[str]:
    return [f"{name} = {value}" for name, value in zip(attributes, values, strict=False)]
