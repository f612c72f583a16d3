"""Incremental forms of operators: used wherever changes are found, called per transaction and key, checked if asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database
from tidings.algebra import SubstitutionList, chain_rule, delta_of, relation
from tidings.errors import (
    DependentObjects,
    EngineFailed,
    FunctionNotRegistered,
    InvalidFunction,
    InvalidOperator,
    WrongIncrementalForm,
)

COLUMNS = "k STRING, n INT"
Tables = list[pa.Table]


def large(rows: pa.Table) -> pa.Table:
    """The rows of a key once there are three of them."""
    return rows if rows.num_rows > 2 else rows.slice(0, 0)


class LargeChanges:
    """The form of ``large``, which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, old: Tables, removed: Tables, added: Tables) -> tuple[pa.Table, pa.Table]:
        self.asked.append(tuple(sorted(row["n"] for row in part[0].to_pylist()) for part in (old, removed, added)))
        gone = [tuple(row.values()) for row in removed[0].to_pylist()]
        kept = [row for row in old[0].to_pylist() if tuple(row.values()) not in gone]
        new = pa.concat_tables([pa.Table.from_pylist(kept, old[0].schema), added[0]])
        return large(old[0]), large(new)


def define(db: Database, form: Any, **more: Any) -> Any:
    return db.operator("large", takes=COLUMNS, returns=COLUMNS, key="k", incremental=form, **more)(large)


@pytest.fixture
def form(db: Database) -> LargeChanges:
    form = LargeChanges()
    define(db, form, check=True)
    db.sql("CREATE TABLE t (id INT PRIMARY KEY, k STRING, n INT)")
    db.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3)")
    return form


def test_it_is_called_for_each_transaction_and_key_with_what_was_there_before(db: Database, form: LargeChanges) -> None:
    since = db.time
    db.sql("INSERT INTO t VALUES (4, 'a', 4)")
    db.sql("UPDATE t SET n = 5 WHERE id = 1; DELETE FROM t WHERE id = 2")
    changes = db.changes("SELECT * FROM large(TABLE t)", since, per_commit=True)
    assert form.asked == [([1, 2], [], [4]), ([1, 2, 4], [1], [5]), ([2, 4, 5], [2], [])]
    assert sorted((change.row["n"], change.weight) for change in changes) == [
        (1, -1), (1, 1), (2, -1), (2, 1), (4, -1), (4, 1), (5, -1), (5, 1),
    ]  # fmt: skip
    assert len(changes.net()) == 0


def test_stored_views_rules_and_datalog_use_it(db: Database, form: LargeChanges) -> None:
    fired: list[Any] = []
    db.procedure("note")(fired.extend)
    db.sql("""
        CREATE VIEW many AS SELECT * FROM large(TABLE t);
        CREATE MATERIALIZED VIEW kept WITH (refresh = 'immediate') AS SELECT * FROM large(TABLE t);
        CREATE VIEW twos AS DATALOG $$ twos(k, n) :- many(k, n), n > 1. .output twos $$;
        CREATE RULE grown WHEN SELECT k, n FROM many DO CALL note(k, n) WITH (action = 'deferred');
    """)
    since = db.time
    form.asked.clear()
    db.sql("INSERT INTO t VALUES (4, 'a', 4)")
    assert sorted(row["n"] for row in fired) == [1, 2, 4]
    assert len(form.asked) == 2, "once for the stored view, once for the rule"
    assert {row["n"] for row in db.changes("twos", since).additions()} == {2, 4}
    assert len(form.asked) == 3
    assert sorted(row["n"] for row in db.query("kept")) == [1, 2, 4]
    assert db.check() == []


def test_the_explanation_shows_it(db: Database, form: LargeChanges) -> None:
    text = db.explain("SELECT n FROM large(TABLE t)")
    assert "Incrlarge(γ(" in text
    assert "restricted: i_t.k" in text


def test_one_that_is_wrong_is_told_when_it_is_checked(db: Database, form: LargeChanges) -> None:
    def forgetful(old: Tables, removed: Tables, added: Tables) -> tuple[pa.Table, pa.Table]:
        return removed[0], added[0]

    operator = define(db, forgetful, check=True)
    since = db.time
    db.sql("INSERT INTO t VALUES (4, 'a', 4)")
    with pytest.raises(WrongIncrementalForm) as caught:
        db.changes("SELECT * FROM large(TABLE t)", since)
    said = caught.value.parameters
    assert said["name"] == "large"
    assert str(said["reason"]).startswith("it says +1 {'k': 'a', 'n': 4}, and right is +1 {'k': 'a', 'n': 1}, +1 ")
    node = relation("t", data=db).project("k", "n").apply(operator)
    with pytest.raises(WrongIncrementalForm):
        delta_of(chain_rule(node), SubstitutionList.of_database(node, since))


def test_one_that_is_wrong_is_found_by_the_check_of_stored_views(db: Database, form: LargeChanges) -> None:
    define(db, lambda old, removed, added: (removed[0], added[0]))
    db.sql("CREATE MATERIALIZED VIEW kept AS SELECT * FROM large(TABLE t)")
    db.advance()
    db.sql("INSERT INTO t VALUES (4, 'a', 4)")
    db.advance()
    db.sql("INSERT INTO t VALUES (5, 'c', 4)")
    db.advance()
    assert any("kept" in str(finding) for finding in db.check())


def test_the_algebra_calls_it_per_key_too(db: Database, form: LargeChanges) -> None:
    node = relation("t", data=db).project("k", "n").apply(define(db, form, check=True))
    since = db.time
    db.sql("INSERT INTO t VALUES (4, 'a', 4)")
    form.asked.clear()
    delta = delta_of(chain_rule(node), SubstitutionList.of_database(node, since))
    assert form.asked == [([1, 2], [], [4])]
    assert delta.rows == (set(), {("a", 1), ("a", 2), ("a", 4)})


def test_what_cannot_be_called_as_a_form_is_refused(db: Database, form: LargeChanges) -> None:
    with pytest.raises(InvalidOperator, match="its incremental form cannot be called"):
        define(db, lambda old, removed: None)


@pytest.mark.parametrize(
    "other",
    [
        lambda old, removed, added: added[0],
        lambda old, removed, added: (removed[0], added[0].select(["k"])),
    ],
    ids=["one table", "other columns"],
)
def test_what_gives_the_wrong_thing_is_named(db: Database, form: LargeChanges, other: Any) -> None:
    define(db, other)
    with pytest.raises(EngineFailed, match="the incremental form of large gave"):
        db.changes("SELECT * FROM large(TABLE t)", 0)


def test_names_of_functions_do_not_begin_as_those_behind_operators_do(db: Database) -> None:
    with pytest.raises(InvalidFunction, match="begin with __"):
        db.function("__operator_large", takes=["int"], returns="int")(lambda x: x)


def test_what_is_bound_to_an_operator_keeps_its_declaration(db: Database, form: LargeChanges) -> None:
    db.sql("CREATE VIEW many AS SELECT * FROM large(TABLE t)")
    db.sql("CREATE RULE grown WHEN SELECT k FROM large(TABLE t) DO NOTIFY 'x'")
    with pytest.raises(DependentObjects) as caught:
        define(db, None)
    assert caught.value.parameters["dependents"] == "many, rule grown"
    with pytest.raises(DependentObjects):
        db.operator("large", takes=COLUMNS, returns=COLUMNS, incremental=form)(large)
    define(db, lambda old, removed, added: (removed[0], added[0]))  # another text, and nothing has been stored


def test_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with tidings.open(path, engine="duckdb") as db:
        define(db, LargeChanges())
        db.sql("CREATE TABLE t (k STRING, n INT)")
        db.sql("CREATE MATERIALIZED VIEW kept AS SELECT * FROM large(TABLE t)")
        db.sql("INSERT INTO t VALUES ('a', 1), ('a', 2), ('a', 3)")
        db.advance()
    with tidings.open(path, engine="duckdb") as db:
        db.sql("INSERT INTO t VALUES ('a', 4)")
        with pytest.raises(FunctionNotRegistered) as caught:
            db.query("kept")
        assert caught.value.parameters == {"name": "large"}
        form = LargeChanges()
        define(db, form)
        assert len(db.query("kept")) == 4
        assert form.asked == [([1, 2, 3], [], [4])]
        (row,) = db.functions().rows()
        assert "rows.num_rows > 2" in row["text"]
