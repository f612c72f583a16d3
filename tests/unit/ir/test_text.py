"""``parse(show(plan)) == plan``, for every kind of node and for names and types that invite mistakes."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidPlanText
from tidings.ir.expression import read
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    During,
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
    Unnest,
    Values,
    Version,
    Window,
)
from tidings.ir.text import parse, show

A = Column("a", "int")
T = Scan("t", "t", (A, Column("b", "string")))
U = Scan("u", "u", (A,))
ODD_NAMES = [
    "with space",
    "dotted.name",
    "back`tick",
    "quote'd",
    'double"quoted',
    "select",
    "FROM",
    "scan",
    "delta",
    "old",
    "comma, name",
    "[bracket]",
    "(paren",
    ":=",
    "1st",
    "ünïcode",
    "a--b",
    "/*",
    "null_safe",
    "MixedCase",
]
NESTED = [
    "array<int>",
    "struct<a:int,b:string>",
    "map<string,array<struct<x:decimal(10,2),y:map<int,int>>>>",
    "decimal(38,18)",
    "timestamp_ntz",
]
EXPRESSIONS = [
    "t.a = 1",
    "t.b = 'it''s, [so]'",
    "t.b LIKE '%)'",
    "(t.a = 1 OR t.a IS NULL) AND NOT t.b IN ('x', 'y')",
    "CASE WHEN t.a > 1 THEN 'x' ELSE t.b END = 'x'",
    "CAST(t.a AS DECIMAL(10, 2)) > 1.5",
    "t.b = '\\\\'",
    "t.b = 'line\\nbreak'",
    "t.a <=> NULL",
    "COALESCE(t.a, -1) BETWEEN 0 AND 2",
    "ARRAY(t.a, 2)[0] = 1",
    "EXISTS(ARRAY(t.a), x -> x > 1)",
    't.b = "double"',
]
KINDS: dict[str, Relation] = {
    "scan": T,
    "scan delta": Scan("t", "x", (A,), Version.DELTA),
    "scan old": Scan("t", "x", (A,), Version.OLD),
    "scan new": Scan("t", "x", (A,), Version.NEW),
    "scan without columns": Scan("t", "t", ()),
    "values": Values("v", (A, Column("b", "string")), ((read("1"), read("'x, (y)'")), (read("NULL"), read("''")))),
    "values without rows": Values("v", (A,), ()),
    "values without columns": Values("one", (), ((),)),
    "filter": Filter(T, (read("t.a = 1"), read("t.b = 'x'"))),
    "project": Project(T, "p", (Item("x", "bigint", read("t.a + 1")), Item("y", "string", read("t.b")))),
    "project without items": Project(T, "p", ()),
    "join": Join((T, U), (read("t.a = u.a"), read("t.b <> 'z'"))),
    "product": Join((T, U), ()),
    "union": Union((U, Scan("u", "u_2", (A,))), "n", (A,)),
    "aggregate": Aggregate(
        T, "g", (Item("k", "int", read("t.a % 2")),), (Item("n", "bigint", read("COUNT(DISTINCT t.b)")),)
    ),
    "aggregate without keys": Aggregate(T, "g", (), (Item("n", "bigint", read("COUNT(*)")),)),
    "aggregate without aggregates": Aggregate(T, "g", (Item("a", "int", read("t.a")),), ()),
    "window": Window(
        T,
        "w",
        (
            Item("n", "int", read("ROW_NUMBER() OVER (PARTITION BY t.a ORDER BY t.b DESC NULLS FIRST)")),
            Item("s", "bigint", read("SUM(t.a) OVER (ORDER BY t.a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)")),
        ),
    ),
    "outer_join": OuterJoin(T, U, (read("t.a = u.a"), read("t.b > 'x'"))),
    "outer_join without conditions": OuterJoin(T, U, ()),
    "semi_join": SemiJoin(T, U, (read("t.a <=> u.a"),)),
    "anti_join": SemiJoin(T, U, (read("t.a = u.a OR u.a IS NULL"),), anti=True),
    "except": SetOperation(SetKind.EXCEPT, False, U, Scan("u", "u_2", (A,)), "n", (A,)),
    "except all": SetOperation(SetKind.EXCEPT, True, U, Scan("u", "u_2", (A,)), "n", (A,)),
    "intersect": SetOperation(SetKind.INTERSECT, False, U, Scan("u", "u_2", (A,)), "n", (A,)),
    "intersect all": SetOperation(SetKind.INTERSECT, True, U, Scan("u", "u_2", (A,)), "n", (A,)),
    "an except called all": SetOperation(SetKind.EXCEPT, False, U, Scan("u", "u_2", (A,)), "all", (A,)),
    "unnest": Unnest(T, "e", Column("x y", "int"), read("ARRAY(t.a, 2)")),
    "during": During(T, read("t.b <= CAST(TIMESTAMP_MICROS(__NOW()) AS STRING)"), (read("t.a + 1"), read("t.a"))),
    "repeat": Repeat(T, read("t.a + 1")),
    "restrict": Restrict(T, read("t.a"), Project(U, "keys", (Item("a", "int", read("u.a")),))),
    "restrict null_safe": Restrict(T, read("t.a"), U, null_safe=True),
    "consolidate": Consolidate(Scan("t", "t", (A,), Version.DELTA), "out"),
}


def check(plan: Relation) -> None:
    assert parse(show(plan)) == plan


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_node(kind: str) -> None:
    check(KINDS[kind])


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names(name: str) -> None:
    scan = Scan(name, name, (Column(name, "int"),), Version.DELTA)
    column = scan.fields[0].expression
    check(Consolidate(Project(scan, name, tuple(Item(f.name, f.type, f.expression) for f in scan.fields)), name))
    check(Union((Filter(Scan(name, name, scan.columns), (read("1 = 1"),)),), name, scan.columns))
    check(Restrict(scan, column, Project(scan, name, (Item(name, "int", column),))))


@pytest.mark.parametrize("type", NESTED)
def test_nested_types(type: str) -> None:
    scan = Scan("t", "t", (Column("n", type), A))
    check(Project(scan, "p", (Item("n", type, read("t.n")), Item("b c", "int", read("t.a")))))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    check(Filter(T, (read(text),)))
    check(Project(T, "p", (Item("x", "boolean", read(text)), Item("y", "int", read("t.a")))))


def test_struct_fields() -> None:
    scan = Scan("t", "t", (Column("s", "struct<x:int,y:struct<z z:string>>"),))
    check(Filter(scan, (read("t.s.x = 1 AND t.s.y.`z z` = 'q'"),)))


def test_layout() -> None:
    plan = Project(Join((T, U), (read("t.a = u.a"),)), "low", (Item("x y", "int", read("t.a")),))
    assert show(plan) == (
        "project low [`x y` int := t.a]\n  join [t.a = u.a]\n    scan t t [a int, b string]\n    scan u u [a int]"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("   \n  ", 1),
        ("scan t t [a int]\nscan u u [a int]", 2),
        ("heap t t [a int]", 1),
        ("scan t", 1),
        ("filter [t.a = 1]", 1),
        ("filter [u.a = 1]\n  scan t t [a int]", 1),
        ("join []\n  scan t t [a int]", 1),
        ("scan later t t [a int]", 1),
        ("filter [t.a =]\n  scan t t [a int]", 1),
        ("project p [x int]\n  scan t t [a int]", 1),
        ("join []\n  scan t t [a int]\n  scan u `u [a int]", 3),
        ("filter [t.a = 1]\n    scan t t [a int]", 1),
    ],
)
def test_unreadable_text(text: str, line: int) -> None:
    with pytest.raises(InvalidPlanText) as refused:
        parse(text)
    assert refused.value.parameters["line"] == line
