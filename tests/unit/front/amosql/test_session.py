"""Sessions: variables, transactions, foreign functions, procedures, definitions that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import errors
from tidings.front.amosql.schema_changes import SchemaChanges

SCHEMA = """
create type item;
create type part under item;
create function quantity(item) -> integer;
create function weight(item) -> real;
create function parts(item) -> set of item;
create function total() -> integer;
create function far(real x) -> set of real;
"""


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as database:
        database.amosql(SCHEMA)
        yield database


def rows(db: tidings.Database, text: str) -> list[tuple[Any, ...]]:
    result = db.amosql(text)
    assert result is not None
    return [tuple(row.values()) for row in result.rows()]


def test_variables_are_those_of_the_transaction(db: tidings.Database) -> None:
    db.amosql("create item instances :a; commit; create item instances :b; set :n = 3 + 4; rollback;")
    assert rows(db, "select :a") == [(1,)]
    for name in ("b", "n"):
        with pytest.raises(errors.UnknownVariable):
            db.amosql(f"select :{name}")
    db.amosql("set :n = 3 + 4; delete :a;")
    with pytest.raises(errors.UnknownVariable):
        db.amosql("select :a")
    db.amosql("rollback")
    assert rows(db, "select :a") == [(1,)]


def test_select_into(db: tidings.Database) -> None:
    db.amosql("create item instances :a, :b; set quantity(:a) = 5; set quantity(:b) = 6; commit;")
    db.amosql("select i, quantity(i) into :x, :q for each item i where quantity(i) > 5")
    assert rows(db, "select :x, :q, :x") == [(2, 6, 2)]


def test_functions_without_arguments_and_of_real_numbers(db: tidings.Database) -> None:
    db.amosql("set total() = 1; set total() = 2; commit; add far(1.5) = 2.5; add far(1.5) = 2.5; add far(1.5) = -3.0;")
    assert rows(db, "total()") == [(2,)]
    assert rows(db, "select far(1.5)") == [(-3.0,), (2.5,)]
    db.amosql("remove far(1.5) = 2.5; commit; remove total();")
    assert rows(db, "select far(1.5)") == [(-3.0,)]
    assert rows(db, "total()") == []


def test_whole_numbers_are_numbers(db: tidings.Database) -> None:
    db.amosql("create item instances :a; set weight(:a) = 2; set quantity(:a) = 3; commit;")
    assert rows(db, "select weight(i) * quantity(i), quantity(i) / 2, 1 - -2 for each item i") == [(6.0, 1.5, 3)]
    assert rows(db, "select i for each item i where quantity(i) / 0 = quantity(i) / 0") == []


def test_foreign_functions_in_queries_and_procedures(db: tidings.Database) -> None:
    calls: list[int] = []
    db.foreign("square")(lambda n: n * n if n < 10 else None)
    db.foreign("note")(lambda n: calls.append(n))
    db.amosql("""
        create function square(integer n) -> integer as foreign 'square';
        create function squared(item i) -> integer as select square(quantity(i)) + 1;
        create procedure note(integer n) as foreign 'note';
        create procedure note_all() as for each item i where square(quantity(i)) > 5 do note(square(quantity(i)));
        create item instances :a, :b, :c;
        set quantity(:a) = 2; set quantity(:b) = 3; set quantity(:c) = 12; commit;
        note_all(); note(7);
    """)
    assert calls == [9, 7]
    assert rows(db, "select squared(i) for each item i") == [(5,), (10,)]
    assert rows(db, "select i for each item i where square(quantity(i)) = 9") == [(2,)]
    assert rows(db, "select square(5)") == [(25,)]
    db.amosql("for each item i do set quantity(i) = square(quantity(i)); commit;")
    assert rows(db, "select quantity(i) for each item i") == [(4,), (9,), (12,)]
    db.amosql("create function gone(item i) -> integer as select square(square(quantity(i)));")
    assert db.query("SELECT * FROM squared").to_pandas().values.tolist() == [[1, 17], [2, 82]]
    assert db.query("SELECT i, value FROM gone").rows() == []


def test_foreign_functions_in_conditions_of_rules(db: tidings.Database) -> None:
    """With negations, aggregates and parameters; a function that has no value makes a condition false."""
    calls: list[tuple[object, ...]] = []
    db.foreign("note")(lambda *values: calls.append(values))
    db.amosql("""
        create function square(integer n) -> integer as foreign 'square';
        create function half(real x) -> real as foreign 'half';
        create procedure note(charstring rule, item i) as foreign 'note';
        create rule big() as for each item i when square(quantity(i)) > 20 do note('big', i);
        create rule odd() as for each item i when not (square(quantity(i)) > 0) do note('odd', i);
        create rule above(integer n) as for each item i when square(n) < half(weight(i)) do note('above', i);
        create rule total() as for each item i
          when sum(select square(quantity(j)) for each item j where quantity(j) <= quantity(i)) > 30
          do note('total', i);
        create item instances :a, :b;
        activate big(); activate odd(); activate total(); activate above(3);
    """)
    db.foreign("square")(lambda n: n * n if n < 10 else None)
    db.foreign("half")(lambda x: x / 2)
    for text, expected in [
        ("set quantity(:a) = 4; set quantity(:b) = 5; commit;", [("big", 2), ("total", 2)]),
        ("set quantity(:a) = 12; commit;", [("odd", 1)]),
        ("set quantity(:a) = 5; commit;", [("big", 1), ("total", 1), ("total", 2)]),
        ("set weight(:b) = 18; commit;", []),
        ("set weight(:b) = 18.5; commit;", [("above", 2)]),
    ]:
        calls.clear()
        db.amosql(text)
        assert sorted(calls) == expected, text
    assert "G2 = square(G1)" in db.amosql("explain rule big").rows()[0]["explanation"]  # type: ignore[union-attr]


def test_aggregates_of_values_from_around_them(db: tidings.Database) -> None:
    """An aggregate of a parameter is none of the query that the parameter belongs to."""
    calls: list[tuple[object, ...]] = []
    db.foreign("note")(lambda *values: calls.append(values))
    for name, query in {"s": "sum(select n", "m": "max(select n + 1", "d": "sum(select distinct n"}.items():
        db.amosql(f"""
            create procedure note_{name}(charstring rule, item i) as foreign 'note';
            create rule {name}(integer n) as for each item i
              when {query} for each item j where quantity(j) <= quantity(i)) > 3 do note_{name}('{name}', i);
        """)
    db.amosql("activate s(2); activate m(3); activate d(3); activate d(4); create item instances :a, :b;")
    db.amosql("set quantity(:a) = 4; set quantity(:b) = 5; commit;")
    assert sorted(calls) == [("d", 1), ("d", 2), ("m", 1), ("m", 2), ("s", 2)]


def test_foreign_functions_after_a_restart(tmp_path: Path) -> None:
    """They are declared, and named if they are missing; while a stored view calls one, another code is refused."""
    square, calls = (lambda n: n * n), list[int]()
    text = "set quantity(:a) = {}; commit;"
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.amosql("""
            create type item; create function quantity(item) -> integer;
            create function square(integer n) -> integer as foreign 'square';
            create procedure note(item i) as foreign 'note';
            create rule big() as for each item i when square(quantity(i)) > 20 do note(i);
            create item instances :a; activate big(); set quantity(:a) = 2;
        """)
        with pytest.raises(errors.RuleFailed, match="square is declared"):
            db.amosql("commit;")
        assert [(r["name"], r["kind"], r["registered"]) for r in db.functions()] == [("square", "foreign", False)]
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.foreign("note")(calls.append)
        db.foreign("square")(square)
        db.amosql("create item instances :a; " + text.format(7))
        assert len(calls) == 1
        db.sql("CREATE MATERIALIZED VIEW stored AS SELECT i FROM cnd_big")
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        with pytest.raises(errors.DependentObjects, match="stored"):
            db.foreign("square")(lambda n: n + 1)
        db.foreign("square")(square)
        with pytest.raises(errors.ForeignNotHere, match="no arguments"):
            db.amosql("""
                create function now() -> integer as foreign 'now';
                create rule late() as for each item i when quantity(i) < now() do note(i);
            """)


def test_a_refused_commit_leaves_the_session_as_before(db: tidings.Database) -> None:
    db.sql("CREATE RULE positive WHEN SELECT item FROM quantity WHERE value < 0 DO RAISE 'no'")
    db.amosql("create item instances :a; set quantity(:a) = 1; commit;")
    with pytest.raises(errors.RuleRaised):
        db.amosql("create item instances :b; set quantity(:b) = -1; commit;")
    assert rows(db, "select quantity(i) for each item i") == [(1,)]
    with pytest.raises(errors.UnknownVariable):
        db.amosql("select :b")
    db.amosql("set quantity(:a) = 2; commit;")


def test_a_statement_that_a_rule_refuses_ends_the_transaction(db: tidings.Database) -> None:
    db.sql("""
        CREATE RULE positive WHEN SELECT item FROM quantity WHERE value < 0 DO RAISE 'no' WITH (condition = 'immediate')
    """)
    db.amosql("create item instances :a; set quantity(:a) = 1; commit; set quantity(:a) = 2;")
    with pytest.raises(errors.RuleRaised):
        db.amosql("set quantity(:a) = -1;")
    assert rows(db, "select quantity(:a)") == [(1,)]
    db.amosql("set quantity(:a) = 3; commit;")
    assert rows(db, "select quantity(:a)") == [(3,)]


def test_actions_trigger_rules(db: tidings.Database) -> None:
    """A shortage of a part is one of what it is part of; priorities decide who goes first."""
    db.amosql("""
        create function log() -> set of charstring;
        create rule whole() as for each item i, item p when parts(i) = p and quantity(p) < 0 do set quantity(i) = -1;
        create rule told() priority 5 as for each item i when quantity(i) < 0 do
          begin set quantity(i) = quantity(i) - 1; add log() = 'told'; end;
        activate whole(); activate told();
        create item instances :car, :wheel; add parts(:car) = :wheel;
        set quantity(:car) = 1; set quantity(:wheel) = 4; commit;
        set quantity(:wheel) = -1; commit;
    """)
    assert rows(db, "select i, quantity(i) for each item i") == [(1, -2), (2, -2)]
    assert rows(db, "log()") == [("told",)]


def test_a_failing_action_refuses_the_transaction(db: tidings.Database) -> None:
    db.amosql("""
        create procedure act(item i) as foreign 'act';
        create rule r() as for each item i when quantity(i) > 5 do act(i); activate r();
        create item instances :a; commit; set quantity(:a) = 9;
    """)
    with pytest.raises(errors.RuleFailed) as refused:
        db.amosql("commit")
    assert isinstance(refused.value.__cause__, errors.UnknownForeign)
    assert rows(db, "select quantity(:a)") == []


def test_procedures_that_call_themselves(db: tidings.Database) -> None:
    db.amosql("""
        create procedure count_down(item i, integer n) as
          if n > 0 then begin set quantity(i) = n; count_down(i, n - 1); end;
        create procedure forever(item i) as forever(i);
        create item instances :a; count_down(:a, 5);
    """)
    assert rows(db, "select quantity(:a)") == [(1,)]
    with pytest.raises(errors.InvalidCall):
        db.amosql("forever(:a)")


def test_rules_with_parameters(db: tidings.Database) -> None:
    db.amosql("""
        create function seen(item, integer) -> set of item;
        create rule near(item i, integer n) as
          for each item o when parts(i) = o and quantity(o) < n do add seen(i, n) = o;
        create item instances :a, :b; add parts(:a) = :b; set quantity(:b) = 9; commit;
        activate near(:a, 5); activate near(:a, 3); activate near(:b, 5); deactivate near(:a, 3);
        set quantity(:b) = 2; commit;
    """)
    assert db.query("SELECT * FROM seen").rows() == [{"item": 1, "integer": 5, "value": 2}]


def test_drop(db: tidings.Database) -> None:
    db.amosql("""
        create function twice(item i) -> integer as select quantity(i) * 2;
        create rule r() as for each item i when twice(i) > 4 do set weight(i) = 1.0;
    """)
    with pytest.raises(errors.DependentObjects) as refused:
        db.amosql("drop function twice")
    assert refused.value.parameters["dependents"] == "r"
    db.amosql("drop rule r; drop function twice; drop function parts; drop type part;")
    assert "twice" not in {row["name"] for row in db.views().rows()}
    assert not {"parts", "part"} & {row["name"] for row in db.tables().rows()}
    db.amosql("create type parts; create function twice(item) -> integer;")


def test_a_database_that_is_opened_again(tmp_path: Path) -> None:
    """Rules act before anything is said in AMOSQL; a reader asks, and sees later definitions."""
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.amosql(SCHEMA)
        db.amosql("""
            create rule r() as for each item i when quantity(i) > 5 do set weight(i) = 1.5; activate r();
            create item instances :a; set quantity(:a) = 1; commit;
        """)
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("UPDATE quantity SET value = 7")
        assert db.query("SELECT value FROM weight").rows() == [{"value": 1.5}]
        with tidings.open(tmp_path / "db", engine="duckdb", read_only=True) as reader:
            assert rows(reader, "select weight(i) for each item i") == [(1.5,)]
            db.amosql("create function half(item i) -> real as select weight(i) / 2;")
            assert rows(reader, "select half(i) for each item i") == [(0.75,)]
            with pytest.raises(errors.ReadOnly):
                reader.amosql("create type x")
        db.amosql("create item instances :b; commit;")
        assert rows(db, "select i for each item i") == [(1,), (2,)]


def test_what_is_missing_is_made_when_a_database_is_opened(tmp_path: Path) -> None:
    """A definition is recorded first; the process may die before its view is made."""
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.amosql(SCHEMA)
        text = "create function half(item i) -> real as select weight(i) / 2"
        with db.transaction() as tx:
            tx.insert("amosql_definitions", [{"number": 99, "text": text, "made": False}])
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        assert db.query("SELECT * FROM half").rows() == []


@pytest.mark.parametrize("done", range(5))
def test_an_overload_that_was_cut_short(tmp_path: Path, done: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies while the table of a function gets its other name; that is gone on with, and no row is lost."""
    views = ["CREATE OR REPLACE VIEW", "CREATE OR REPLACE VIEW `quantity`", "VIEW `twice` … FROM `quantity` AS"]
    statements = ["CREATE TABLE", "DROP TABLE", *views]
    schema_text = SCHEMA + "create function twice(item i) -> integer as select quantity(i) * 2;"
    original = SchemaChanges.run

    def dying(self: SchemaChanges, text: str) -> None:
        if all(part in text for part in statements[done].split(" … ")):
            raise KeyboardInterrupt
        original(self, text)

    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.amosql(schema_text + "create item instances :a; create part instances :p;")
        db.amosql("set quantity(:a) = 4; set quantity(:p) = 5; commit;")
        monkeypatch.setattr(SchemaChanges, "run", dying)
        with pytest.raises(KeyboardInterrupt):
            db.amosql("create function quantity(part p) -> integer as select 7;")
        monkeypatch.setattr(SchemaChanges, "run", original)
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        assert rows(db, "select i, quantity(i), twice(i) for each item i") == [(1, 4, 8), (2, 7, 14)]
        assert len(db.query("SELECT * FROM quantity_item").rows()) == 2


def test_a_definition_that_is_refused_late_leaves_no_trace(
    db: tidings.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = SchemaChanges.run

    def refusing(self: SchemaChanges, text: str) -> None:
        if text.startswith("CREATE OR REPLACE VIEW `quantity`"):
            raise errors.EngineFailed(engine="this one", reason="it is tired")
        original(self, text)

    db.amosql("create item instances :a; set quantity(:a) = 4; commit;")
    db.amosql("create function twice(item i) -> integer as select quantity(i) * 2;")
    tables, views = db.tables().rows(), db.views().rows()
    monkeypatch.setattr(SchemaChanges, "run", refusing)
    with pytest.raises(errors.EngineFailed):
        db.amosql("create function quantity(part p) -> integer as select 7;")
    assert (db.tables().rows(), db.views().rows()) == (tables, views)
    assert rows(db, "select i, quantity(i), twice(i) for each item i") == [(1, 4, 8)]
    db.amosql("set quantity(:a) = 5; commit;")
    assert rows(db, "select twice(:a)") == [(10,)]


def test_an_overload_before_and_after_rows(db: tidings.Database) -> None:
    """Rows of a stored function stay when it is overloaded, and so do rules that read it and their activations."""
    db.amosql("""
        create function fired(item) -> integer;
        create rule r(integer n) as for each item i when quantity(i) > n do set fired(i) = n;
        create item instances :a; create part instances :p; set quantity(:a) = 1; commit; activate r(5);
        create function spare(part) -> integer;
        create function quantity(part p) -> integer as select spare(p) * 2;
        set spare(:p) = 3; commit;
    """)
    assert rows(db, "select i, quantity(i) for each item i") == [(1, 1), (2, 6)]
    assert rows(db, "select i, fired(i) for each item i") == [(2, 5)]
    db.amosql("set quantity(:a) = 8; commit;")
    assert rows(db, "select i, fired(i) for each item i") == [(1, 5), (2, 5)]
    assert db.query("SELECT * FROM quantity_item").rows() == [{"item": 1, "value": 8}]
