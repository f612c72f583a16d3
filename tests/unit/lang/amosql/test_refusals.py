"""Every condition of AMOSQL, provoked through the front door: class, parameters, place and hint."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

import tidings
from tidings import errors
from tidings.errors import TidingsError

SCHEMA = """
create type item;
create type part under item;
create type shop;
create function quantity(item) -> integer;
create function weight(item) -> real;
create function name(item) -> charstring;
create function sells(shop) -> set of item;
create function heavy(item i) -> boolean as select true where weight(i) > 10.0;
create function double(integer n) -> integer as select n * 2;
create function noise(integer n) -> integer as foreign 'noise';
create function broken(integer n) -> integer as foreign 'broken';
create function wrong(integer n) -> integer as foreign 'wrong';
create function moment() -> integer as foreign 'moment';
create procedure empty(item i) as set quantity(i) = 0;
create rule low(integer n) as for each item i when quantity(i) < n do empty(i);
create item instances :a, :b; create part instances :p; create shop instances :s;
set quantity(:a) = 1; set quantity(:b) = 2; commit;
"""

CASES: list[tuple[type[TidingsError], str, dict[str, Any], int, str | None]] = [
    (errors.InvalidSyntax, "select i for each item i were quantity(i) > 1", {}, 26, None),
    (errors.InvalidSyntax, "select i for ech item i", {}, 14, "did you mean each?"),
    (errors.InvalidSyntax, "crate type x", {}, 7, "did you mean create?"),
    (errors.InvalidSyntax, "set quantity(:a)", {}, 1, None),
    (errors.InvalidSyntax, "set quantity(:a) = 99999999999999999999", {}, 20, None),
    (errors.InvalidSyntax, "create procedure f(item i) as select i", {}, 31, None),
    (errors.InvalidSyntax, "create function f(item i) -> integer as select 1, 2", {}, 41, None),
    (errors.UnknownType, "create type x under itm", {"name": "itm"}, 13, "did you mean item?"),
    (errors.UnknownType, "select i for each itm i", {"name": "itm"}, 19, "did you mean item?"),
    (errors.UnknownFunction, "select quantty(:a)", {"name": "quantty"}, 8, "did you mean quantity?"),
    (errors.UnknownFunction, "drop function quantty", {"name": "quantty"}, 15, "did you mean quantity?"),
    (errors.UnknownRule, "activate lo(1)", {"name": "lo"}, 10, "did you mean low?"),
    (errors.UnknownVariable, "select j for each item i", {"name": "j"}, 8, "known here: i"),
    (errors.UnknownVariable, "set quantity(:aa) = 1", {"name": ":aa"}, 14, "did you mean :a?"),
    (errors.UnknownVariable, "create function f() -> integer as select quantity(:a)", {"name": ":a"}, 51, None),
    (errors.UnboundVariable, "select x for each integer x", {"name": "x"}, 1, None),
    (errors.UnboundVariable, "select i, x for each item i, integer x", {"name": "x"}, 1, None),
    (errors.UnboundVariable, "create rule r() as for each integer n when n > 2 do empty(:a)", {"name": "n"}, 13, None),
    (errors.DuplicateDefinition, "create type item", {"kind": "type", "name": "item"}, 13, None),
    (errors.DuplicateDefinition, "create type quantity", {"kind": "function"}, 13, None),
    (errors.DuplicateDefinition, "create function quantity(item) -> integer", {"kind": "function"}, 17, None),
    (errors.DuplicateDefinition, "create function item(shop) -> integer", {"kind": "type"}, 17, None),
    (errors.DuplicateDefinition, "select i for each item i, shop i", {"kind": "variable"}, 27, None),
    (errors.TypeMismatch, "set quantity(:a) = 'many'", {"found": "charstring", "expected": "integer"}, 20, None),
    (errors.TypeMismatch, "set quantity(:s) = 1", {"found": "shop", "expected": "item"}, 14, None),
    (errors.TypeMismatch, "select i for each item i where name(i) > 3", {"found": "integer"}, 42, None),
    (errors.TypeMismatch, "select i for each item i where i > :a", {"found": "item"}, 32, None),
    (errors.TypeMismatch, "select name(i) + 1 for each item i", {"found": "charstring"}, 8, None),
    (errors.TypeMismatch, "select i for each item i where quantity(i)", {"expected": "boolean"}, 32, None),
    (errors.TypeMismatch, "select quantity(i) > 2 for each item i", {"expected": "a value"}, 8, None),
    (errors.TypeMismatch, "create integer instances :n", {"expected": "a type of objects"}, 8, None),
    (errors.TypeMismatch, "delete quantity(:a)", {"expected": "an object"}, 8, None),
    (errors.TypeMismatch, "select sum(select i for each item i)", {"expected": "a number"}, 12, None),
    (errors.InvalidCall, "select quantity(:a, 2)", {"name": "quantity"}, 8, None),
    (errors.InvalidCall, "select empty(:a)", {"name": "empty"}, 8, "call it as a statement"),
    (errors.InvalidCall, "for each item i do quantity(i)", {"name": "quantity"}, 20, None),
    (errors.InvalidCall, "activate low(1, 2)", {"name": "low"}, 10, None),
    (errors.NotUpdatable, "set heavy(:a) = true", {"name": "heavy"}, 5, None),
    (errors.NotUpdatable, "add quantity(:a) = 3", {"name": "quantity"}, 5, "use set"),
    (errors.InvalidOverload, "create function quantity(shop) -> real", {"type": "shop"}, 17, None),
    (errors.InvalidOverload, "create function quantity(part, shop) -> integer", {"type": "part"}, 17, None),
    (errors.InvalidOverload, "create function double(real x) -> integer", {"name": "double"}, 17, None),
    (errors.RecursiveFunction, "create function r(item i) -> integer as select r(i) + 1", {"name": "r"}, 48, None),
    (
        errors.ForeignNotHere,
        "create rule r() as for each item i when quantity(i) > moment() do empty(i)",
        {"name": "moment"},
        13,
        None,
    ),
    (errors.SeveralValues, "set :x = select i for each item i", {"count": 3}, 10, None),
    (errors.SeveralValues, "set quantity(:a) = quantity(i) for each item i", {"count": 2}, 1, None),
]

WITHOUT_PLACE: list[tuple[type[TidingsError], str, dict[str, Any]]] = [
    (errors.UnknownForeign, "select noise(1)", {"name": "noise"}),
    (errors.ForeignFailed, "select broken(1)", {"name": "broken"}),
    (errors.ForeignFailed, "select wrong(1)", {"name": "wrong"}),
    (errors.ForeignFailed, "select i for each item i where not (wrong(quantity(i)) = 1)", {"name": "wrong"}),
    (errors.FunctionNotRegistered, "select i for each item i where not (noise(quantity(i)) = 1)", {"name": "noise"}),
]


@pytest.fixture(scope="module")
def db() -> Any:
    with tidings.open(engine="duckdb") as database:
        database.foreign("broken")(lambda n: 1 // 0)
        database.foreign("wrong")(lambda n: "one")
        database.amosql(SCHEMA)
        yield database


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_refusal(db: tidings.Database, case: tuple[type[TidingsError], str, dict[str, Any], int, str | None]) -> None:
    condition, text, parameters, column, hint = case
    with pytest.raises(condition) as refused:
        db.amosql(text)
    error = refused.value
    assert {name: error.parameters[name] for name in parameters} == parameters
    assert error.place is not None
    assert (error.place.line, error.place.column) == (1, column), str(error)
    assert hint is None or error.hint == hint


@pytest.mark.parametrize("case", WITHOUT_PLACE, ids=lambda case: case[1])
def test_refusal_without_a_place(db: tidings.Database, case: tuple[type[TidingsError], str, dict[str, Any]]) -> None:
    condition, text, parameters = case
    with pytest.raises(condition) as refused:
        db.amosql(text)
    assert {name: refused.value.parameters[name] for name in parameters} == parameters


@pytest.mark.parametrize(
    ("text", "dependents"),
    [
        ("drop type shop", "sells"),
        ("drop function weight", "heavy"),
        ("drop function empty", "low"),
    ],
)
def test_what_others_need_is_not_dropped(db: tidings.Database, text: str, dependents: str) -> None:
    with pytest.raises(errors.DependentObjects) as refused:
        db.amosql(text)
    assert refused.value.parameters["dependents"] == dependents
    assert refused.value.place is not None
    assert db.amosql("select weight(i) for each item i") is not None


def test_names_of_sql_are_not_taken(db: tidings.Database) -> None:
    db.sql("CREATE TABLE stock (x INT)")
    with pytest.raises(errors.DuplicateRelation):
        db.amosql("create type stock")
    with pytest.raises(errors.DuplicateRelation):
        db.amosql("create function stock(item) -> integer")
    db.amosql("create type other_stock")


def test_what_sql_reads_keeps_its_name(db: tidings.Database) -> None:
    """Overloading moves the table of a stored function; a view of SQL that reads it is in the way, and all stays."""
    db.amosql("create function length(item) -> integer; set length(:a) = 5; commit;")
    db.sql("CREATE VIEW lengths AS SELECT value FROM length")
    with pytest.raises(errors.DependentObjects):
        db.amosql("create function length(part p) -> integer as select 1;")
    assert db.query("lengths").rows() == [{"value": 5}]
    db.amosql("set length(:b) = 6; commit;")
    assert len(db.query("lengths").rows()) == 2


STATEMENTS = [
    "create function total(shop s) -> integer as select sum(select quantity(i) for each item i where sells(s) = i);",
    "create rule high(item i) as for each shop s when sells(s) = i and not (quantity(i) > 5 or heavy(i)) do empty(i);",
    "select i, quantity(i) * 2 for each item i, shop s where sells(s) = i and count(select p for each part p) < 3;",
    "for each item i where quantity(i) > 0 do begin set quantity(i) = 1; if quantity(i) = 1 then empty(i); end;",
    "set weight(:a) = 1.5 + quantity(:b) / 2; add sells(:s) = :p; remove sells(:s) = :a; delete :b;",
    "create procedure reset(item i, integer n) as if n > 1 then set quantity(i) = double(n) else empty(i);",
    "activate low(3); deactivate low(3); explain rule low; select name(i) into :n for each item i where i = :a;",
    "set :x = select i for each item i where name(i) = 'it''s'; drop function total; commit; rollback;",
]


@pytest.mark.parametrize("block", range(4))
def test_only_conditions_escape(block: int) -> None:
    """Statements with words left out, doubled, or put in the place of others are run or refused by name."""
    random = Random(block)
    words = [word for text in STATEMENTS for word in re.findall(r"'[^']*'|:?\w+|->|[^\s\w]", text)]
    with tidings.open(engine="duckdb") as db:
        db.foreign("broken")(lambda n: 1 // 0)
        db.foreign("wrong")(lambda n: "one")
        db.amosql(SCHEMA)
        for _ in range(60):
            parts = re.findall(r"'[^']*'|:?\w+|->|[^\s\w]", random.choice(STATEMENTS))
            for _ in range(random.choice([1, 1, 2, 3])):
                at = random.randrange(len(parts))
                parts[at : at + random.choice([0, 1])] = random.choice([[], [random.choice(words)], [parts[at]] * 2])
            text = " ".join(parts)
            try:
                db.amosql(text)
            except TidingsError:
                pass
            except Exception as error:
                raise AssertionError(text) from error
