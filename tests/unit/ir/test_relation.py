"""A node that exists is valid: every way to build one wrongly is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidings.ir.expression import read
from tidings.ir.relation import (
    Column,
    Consolidate,
    Filter,
    Item,
    Join,
    Project,
    Relation,
    Restrict,
    Scan,
    Union,
    Values,
    Version,
)

A = Column("a", "int")
T = Scan("t", "t", (A, Column("b", "string")))
U = Scan("u", "u", (A,))
KEYS = Project(U, "keys", (Item("a", "int", read("u.a")),))

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
