"""A node that exists is valid: every way to build one wrongly is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidings.ir.expression import read
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    Filter,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetKind,
    SetOperation,
    Union,
    Values,
    Version,
    Window,
)

A = Column("a", "int")
T = Scan("t", "t", (A, Column("b", "string")))
U = Scan("u", "u", (A,))
KEYS = Project(U, "keys", (Item("a", "int", read("u.a")),))
COUNTED = Item("n", "bigint", read("COUNT(*) OVER (PARTITION BY t.a)"))

REFUSED: dict[str, tuple[Callable[[], Relation], str]] = {
    "scan: same name twice": (lambda: Scan("t", "t", (A, A)), "same name"),
    "scan: same name in other case": (lambda: Scan("t", "t", (A, Column("A", "int"))), "same name"),
    "values: same name twice": (lambda: Values("v", (A, A), ()), "same name"),
    "values: a row too short": (lambda: Values("v", (A,), ((),)), "another width"),
    "values: a column in a row": (lambda: Values("v", (A,), ((read("t.a"),),)), "not among"),
    "filter: no condition": (lambda: Filter(T, ()), "without conditions"),
    "filter: unknown column": (lambda: Filter(T, (read("t.c = 1"),)), "not among"),
    "filter: unknown alias": (lambda: Filter(T, (read("u.a = 1"),)), "not among"),
    "project: same name twice": (
        lambda: Project(T, "p", (Item("x", "int", read("t.a")), Item("X", "int", read("t.a")))),
        "same name",
    ),
    "project: unknown column": (lambda: Project(T, "p", (Item("x", "int", read("t.z")),)), "not among"),
    "join: one input": (lambda: Join((T,), ()), "fewer than two"),
    "join: an alias twice": (lambda: Join((T, T), ()), "an alias in two inputs"),
    "join: unknown column": (lambda: Join((T, U), (read("t.a = u.b"),)), "not among"),
    "union: no input": (lambda: Union((), "n", (A,)), "of nothing"),
    "union: another number of columns": (lambda: Union((T,), "n", (A,)), "do not fit"),
    "union: other types": (lambda: Union((U, KEYS), "n", (Column("a", "bigint"),)), "do not fit"),
    "union: same name twice": (lambda: Union((T,), "n", (A, Column("A", "string"))), "same name"),
    "aggregate: a key and an aggregate of one name": (
        lambda: Aggregate(T, "g", (Item("x", "int", read("t.a")),), (Item("X", "bigint", read("COUNT(*)")),)),
        "same name",
    ),
    "aggregate: unknown key": (lambda: Aggregate(T, "g", (Item("x", "int", read("u.a")),), ()), "not among"),
    "aggregate: unknown column inside": (
        lambda: Aggregate(T, "g", (), (Item("x", "bigint", read("SUM(t.z)")),)),
        "not among",
    ),
    "window: the alias of its input": (lambda: Window(T, "t", (COUNTED,)), "alias that is taken"),
    "window: same name twice": (lambda: Window(T, "w", (COUNTED, COUNTED)), "same name"),
    "window: unknown partition": (
        lambda: Window(T, "w", (Item("n", "bigint", read("COUNT(*) OVER (PARTITION BY t.z)")),)),
        "not among",
    ),
    "outer join: an alias on both sides": (lambda: OuterJoin(T, T, ()), "an alias in both inputs"),
    "outer join: unknown column": (lambda: OuterJoin(T, U, (read("t.a = u.b"),)), "not among"),
    "semi join: an alias on both sides": (lambda: SemiJoin(U, U, ()), "an alias in both inputs"),
    "semi join: unknown column": (lambda: SemiJoin(T, U, (read("w.a = u.a"),)), "not among"),
    "set operation: other types": (
        lambda: SetOperation(SetKind.EXCEPT, False, U, KEYS, "n", (Column("a", "bigint"),)),
        "do not fit",
    ),
    "set operation: another number of columns": (
        lambda: SetOperation(SetKind.INTERSECT, True, T, U, "n", (A,)),
        "do not fit",
    ),
    "repeat: unknown column": (lambda: Repeat(U, read("u.n")), "not among"),
    "restrict: keys of two columns": (lambda: Restrict(U, read("u.a"), T), "more than one column"),
    "restrict: unknown column": (lambda: Restrict(U, read("t.a"), KEYS), "not among"),
    "consolidate: no instant and weight": (lambda: Consolidate(T, "c"), "without __t and __w"),
    "consolidate: same name twice": (
        lambda: Consolidate(
            Join((U, Scan("t", "t", (A,), Version.DELTA)), ()),
            "c",
        ),
        "same name",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal(case: str) -> None:
    build, reason = REFUSED[case]
    with pytest.raises(ValueError, match=reason):
        build()


def test_fields_pass_through_filter_and_join() -> None:
    assert [f.ref for f in Join((T, U), ()).fields] == [("t", "a"), ("t", "b"), ("u", "a")]
    assert Filter(T, (read("t.a = 1"),)).fields == T.fields
    assert Restrict(T, read("t.a"), KEYS).fields == T.fields
    assert Repeat(T, read("t.a")).fields == T.fields


def test_fields_of_keyed_operators() -> None:
    """An outer join has the columns of both sides, a semi join of the left, a window those below and its own."""
    assert OuterJoin(T, U, ()).fields == T.fields + U.fields
    assert SemiJoin(T, U, ()).fields == T.fields
    assert [f.ref for f in Window(T, "w", (COUNTED,)).fields] == [("t", "a"), ("t", "b"), ("w", "n")]
    grouped = Aggregate(T, "g", (Item("k", "string", read("t.b")),), (Item("n", "bigint", read("COUNT(*)")),))
    assert [(f.ref, f.type) for f in grouped.fields] == [(("g", "k"), "string"), (("g", "n"), "bigint")]
    either = SetOperation(SetKind.EXCEPT, True, U, KEYS, "n", (Column("x", "int"),))
    assert [f.ref for f in either.fields] == [("n", "x")]


def test_fields_take_a_new_alias() -> None:
    assert [f.ref for f in Union((U, KEYS), "n", (Column("x", "int"),)).fields] == [("n", "x")]
    assert [f.ref for f in KEYS.fields] == [("keys", "a")]


@pytest.mark.parametrize(
    ("version", "more"),
    [
        (Version.CURRENT, []),
        (Version.OLD, ["__w"]),
        (Version.DELTA, ["__t", "__w"]),
        (Version.NEW, ["__t", "__w"]),
    ],
)
def test_version_columns(version: Version, more: list[str]) -> None:
    assert [f.name for f in Scan("u", "u", (A,), version).fields] == ["a", *more]


def test_nodes_are_values() -> None:
    assert hash(Scan("u", "u", (A,))) == hash(U)
    assert Filter(T, (read("t.a = 1"),)) == Filter(T, (read("t.a = 1"),))
    with pytest.raises(AttributeError):
        U.alias = "v"  # type: ignore[misc]
