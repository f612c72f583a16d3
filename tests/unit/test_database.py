"""The front door: statements, answers, changes, explain."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.clock import instant
from tidings.errors import (
    DependentObjects,
    DuplicateRelation,
    InvalidExpression,
    InvalidInterval,
    InvalidRow,
    MissingRow,
    TidingsError,
    UnknownRelation,
)


def values(found: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in found.rows())


def weighted(delta: tidings.Delta) -> list[tuple[Any, ...]]:
    return [(*c.row.values(), c.time, c.weight) for c in delta.rows()]


@pytest.fixture
def history(db: Database, clock: ManualClock) -> Database:
    """Item 1 becomes low at 2000, ceases to be at 3000 and is low again at 4000."""
    for time, table, old, new in (
        (1000, "threshold", [], [(1, 10)]),
        (2000, "quantity", [], [(1, 5)]),
        (3000, "quantity", [(1, 5)], [(1, 50)]),
        (4000, "quantity", [(1, 50)], [(1, 7)]),
    ):
        clock.set(time)
        with db.transaction() as tx:
            tx.delete(table, old)
            tx.insert(table, new)
    return db


# statements


def test_sql_returns_the_rows_of_a_last_query(db: Database) -> None:
    assert db.sql("CREATE TABLE x (a INT)") is None
    found = db.sql("INSERT INTO x VALUES (1), (2); SELECT a + 1 AS b FROM x")
    assert found is not None
    assert values(found) == [(2,), (3,)]
    touched = db.sql("SELECT 1 AS a; INSERT INTO x VALUES (3)")
    assert touched is not None
    assert values(touched) == [(1, 0, 0)]
    assert db.sql("") is None


def test_insert_casts_to_the_columns(db: Database) -> None:
    db.sql("INSERT INTO quantity (qty, item) VALUES ('7', 1)")
    db.sql("INSERT INTO quantity (item) SELECT item + 1 FROM quantity")
    assert [tuple(r.values()) for r in db.query("SELECT * FROM quantity WHERE qty IS NULL").rows()] == [(2, None)]
    assert [tuple(r.values()) for r in db.query("SELECT * FROM quantity WHERE qty = 7").rows()] == [(1, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO quantity VALUES (1)",
        "INSERT INTO quantity (item, item) VALUES (1, 2)",
        "INSERT INTO quantity (item, nosuch) VALUES (1, 2)",
        "INSERT INTO nosuch VALUES (1)",
        "INSERT INTO low VALUES (1, 2)",
        "INSERT INTO quantity VALUES ('x', 2)",
        "INSERT INTO quantity SELECT nosuch, 1 FROM quantity",
    ],
)
def test_a_refused_insert_changes_nothing(db: Database, text: str) -> None:
    with pytest.raises(TidingsError):
        db.sql(text)
    assert len(db.query("quantity")) == 0
    assert db.time == 0


def test_views_over_views(history: Database) -> None:
    history.sql("CREATE VIEW very_low (it, em) AS SELECT item, qty * 2 FROM low WHERE qty < 6")
    assert history.query("very_low").columns == ["it", "em"]
    assert [c[:2] for c in weighted(history.changes("very_low", per_commit=True))] == [(1, 10), (1, 10)]


@pytest.mark.parametrize("text", ["CREATE VIEW v (x) AS SELECT 1, 2", "CREATE VIEW v (x, X) AS SELECT 1, 2"])
def test_names_of_a_view_must_fit(db: Database, text: str) -> None:
    with pytest.raises(TidingsError):
        db.sql(text)
    with pytest.raises(TidingsError):
        db.query("v")


@pytest.mark.parametrize(
    "text", ["CREATE TABLE quantity (a INT)", "CREATE TABLE LOW (a INT)", "CREATE VIEW Quantity AS SELECT 1 AS a"]
)
def test_names_are_taken_once(db: Database, text: str) -> None:
    with pytest.raises(DuplicateRelation):
        db.sql(text)
    assert db.query("quantity").columns == ["item", "qty"]


def test_if_not_exists_leaves_what_is_there(db: Database) -> None:
    db.sql("CREATE TABLE IF NOT EXISTS quantity (a INT); CREATE VIEW IF NOT EXISTS low AS SELECT 1 AS one")
    assert db.query("quantity").columns == ["item", "qty"]
    assert db.query("low").columns == ["item", "qty"]


def test_drop(db: Database) -> None:
    with pytest.raises(DependentObjects) as refused:
        db.sql("DROP TABLE quantity")
    assert refused.value.parameters == {"name": "quantity", "change": "dropped", "dependents": "low"}
    db.sql("DROP VIEW low; DROP TABLE Quantity; DROP TABLE IF EXISTS quantity")
    with pytest.raises(UnknownRelation):
        db.query("SELECT * FROM quantity")
    with pytest.raises(UnknownRelation):
        db.sql("DROP VIEW low")


@pytest.mark.parametrize("text", ["DROP VIEW quantity", "DROP TABLE low", "DROP VIEW IF EXISTS quantity"])
def test_drop_of_another_kind(db: Database, text: str) -> None:
    with pytest.raises(TidingsError):
        db.sql(text)
    assert values(db.query("low")) == []


def test_a_dropped_table_comes_back_empty(db: Database) -> None:
    db.sql("CREATE TABLE x (a INT); INSERT INTO x VALUES (1)")
    assert values(db.query("x")) == [(1,)]
    db.sql("DROP TABLE x; CREATE TABLE x (b STRING)")
    assert (db.query("x").columns, values(db.query("x"))) == (["b"], [])
    assert len(db.changes("x")) == 0


def test_tables_with_like_names(db: Database) -> None:
    db.sql("CREATE TABLE `my table` (a INT); CREATE TABLE my_20_table (a INT)")
    db.sql("INSERT INTO `my table` VALUES (1); INSERT INTO my_20_table VALUES (2)")
    assert values(db.query("SELECT x.a, y.a AS b FROM `my table` x, my_20_table y")) == [(1, 2)]


# answers


def test_query_by_name_or_text(history: Database) -> None:
    assert values(history.query("low")) == values(history.query("SELECT * FROM LOW")) == [(1, 7)]
    assert values(history.query("Quantity")) == [(1, 7)]


@pytest.mark.parametrize(
    ("at", "expected"), [(0, []), (1999, []), (2000, [(1, 5)]), (2500, [(1, 5)]), (3000, []), (4000, [(1, 7)])]
)
def test_as_of(history: Database, at: int, expected: list[tuple[int, int]]) -> None:
    assert values(history.query("low", as_of=at)) == expected


def test_as_of_a_datetime(history: Database) -> None:
    assert values(history.query("low", as_of=datetime(1970, 1, 1, 0, 0, 0, 2000, tzinfo=UTC))) == [(1, 5)]


@pytest.mark.parametrize(
    "text", ["CREATE TABLE y (a INT)", "SELECT 1 AS a; SELECT 2 AS a", "", "INSERT INTO quantity VALUES (1, 2)"]
)
def test_query_takes_one_query(db: Database, text: str) -> None:
    for ask in (db.query, db.changes, db.explain):
        with pytest.raises(InvalidExpression):
            ask(text)
    assert db.time == 0


# changes


def test_changes_are_net_by_default(history: Database) -> None:
    assert weighted(history.changes("low")) == [(1, 7, 4000, 1)]
    assert weighted(history.changes("low", since=2000)) == [(1, 5, 4000, -1), (1, 7, 4000, 1)]
    assert weighted(history.changes("low", since=1000, until=3000)) == []


def test_changes_per_commit(history: Database) -> None:
    assert weighted(history.changes("low", per_commit=True)) == [
        (1, 5, 2000, 1),
        (1, 5, 3000, -1),
        (1, 7, 4000, 1),
    ]


@pytest.mark.parametrize(
    ("since", "until", "times"),
    [
        (None, None, [2000, 3000, 4000]),
        (1999, 2000, [2000]),
        (2000, 3999, [3000]),
        (2000, None, [3000, 4000]),
        (None, 2999, [2000]),
        (2000, 2000, []),
        (4000, 9000, []),
        (9000, 9999, []),
    ],
)
def test_the_interval_is_open_below_and_closed_above(
    history: Database, since: int | None, until: int | None, times: list[int]
) -> None:
    found = history.changes("low", since=since, until=until, per_commit=True)
    assert [c.time for c in found.rows()] == times
    assert found.columns == ["item", "qty"]


def test_intervals_of_datetimes(history: Database) -> None:
    since = datetime(1970, 1, 1, 0, 0, 0, 2000)
    until = datetime(1970, 1, 1, 0, 0, 0, 3000, tzinfo=UTC)
    assert [c.time for c in history.changes("low", since, until, per_commit=True).rows()] == [3000]


def test_an_interval_that_ends_before_it_begins(history: Database) -> None:
    with pytest.raises(InvalidInterval) as refused:
        history.changes("low", since=3000, until=2000)
    assert (refused.value.parameters["since"], refused.value.parameters["until"]) == (3000, 2000)


def test_changes_of_a_query_without_influents(history: Database) -> None:
    assert len(history.changes("SELECT 1 AS one")) == 0


def test_changes_of_a_table(history: Database) -> None:
    assert [(c.time, c.weight) for c in history.changes("quantity", per_commit=True).rows()] == [
        (2000, 1),
        (3000, -1),
        (3000, 1),
        (4000, -1),
        (4000, 1),
    ]


def test_several_tables_in_one_transaction(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("quantity", [(1, 1), (2, 9)])
        tx.insert("threshold", [(1, 5), (2, 5)])
    assert weighted(db.changes("low", per_commit=True)) == [(1, 1, 1000, 1)]


def test_a_delta_joined_with_a_delta(db: Database, clock: ManualClock) -> None:
    """Both sides come and go in one batch, at different instants."""
    for time, insert in ((1000, True), (2000, False)):
        clock.set(time)
        with db.transaction() as tx:
            for table, rows in (("quantity", [(1, 1)]), ("threshold", [(1, 5)])):
                (tx.insert if insert else tx.delete)(table, rows)
    assert weighted(db.changes("low", per_commit=True)) == [(1, 1, 1000, 1), (1, 1, 2000, -1)]
    assert weighted(db.changes("low")) == []


def test_an_update_of_an_unused_column_is_no_change(db: Database) -> None:
    db.sql("CREATE VIEW items AS SELECT item FROM quantity; INSERT INTO quantity VALUES (1, 1)")
    before = db.time
    with db.transaction() as tx:
        tx.delete("quantity", [(1, 1)])
        tx.insert("quantity", [(1, 2)])
    assert weighted(db.changes("items", since=before, per_commit=True)) == []


def test_keys_that_look_like_slots(db: Database) -> None:
    db.sql("CREATE TABLE x (k STRING, n INT); CREATE TABLE y (k STRING); CREATE TABLE z (n INT)")
    db.sql("INSERT INTO y VALUES ('__keys_0__'), ('__keys_1__'); INSERT INTO z VALUES (7)")
    db.sql("CREATE VIEW j AS SELECT x.k FROM x JOIN y ON x.k = y.k JOIN z ON x.n = z.n")
    before = db.time
    db.sql("INSERT INTO x VALUES ('__keys_0__', 7), ('__keys_1__', 7)")
    assert values(db.query("j")) == [("__keys_0__",), ("__keys_1__",)]
    assert sorted(r["k"] for r in db.changes("j", since=before).additions()) == ["__keys_0__", "__keys_1__"]


@pytest.mark.parametrize("keys", [1, 100, 101, 500])
def test_few_keys_and_many_give_the_same(db: Database, keys: int) -> None:
    """More than a hundred keys are a semi-join instead of a list."""
    with db.transaction() as tx:
        tx.insert("threshold", [(n, 5) for n in range(1000)])
    before = db.time
    with db.transaction() as tx:
        tx.insert("quantity", [(n, n % 10) for n in range(keys)])
    found = db.changes("low", since=before).additions()
    assert sorted(r["item"] for r in found) == [n for n in range(keys) if n % 10 < 5]


# load


def test_loaded_rows_were_always_there(db: Database) -> None:
    db.load("quantity", pa.table({"item": pa.array([1, 2], pa.int64()), "qty": pa.array([1, 2], pa.int32())}))
    db.sql("INSERT INTO threshold VALUES (1, 5)")
    assert values(db.query("quantity", as_of=0)) == [(1, 1), (2, 2)]
    assert weighted(db.changes("low")) == [(1, 1, 1001, 1)]
    with db.transaction() as tx:
        tx.delete("quantity", [(1, 1)])
    assert values(db.query("quantity")) == [(2, 2)]
    assert weighted(db.changes("low", since=1001)) == [(1, 1, 1002, -1)]


def test_loaded_rows_are_counted_for_deletes(db: Database) -> None:
    db.load(
        "quantity", pa.table({"item": pa.array([1, 1, None], pa.int64()), "qty": pa.array([1, 1, None], pa.int32())})
    )
    with db.transaction() as tx:
        tx.delete("quantity", [(1, 1), (1, 1), (None, None)])
    with pytest.raises(MissingRow), db.transaction() as tx:
        tx.delete("quantity", [(1, 1)])
    assert values(db.query("quantity")) == []


def test_odd_names_can_be_loaded_and_deleted(db: Database) -> None:
    db.sql('CREATE TABLE `odd ``t` (`a``b` INT, `c"d` STRING)')
    db.load("odd `t", pa.table({"a`b": pa.array([1], pa.int32()), 'c"d': ["x"]}))
    with db.transaction() as tx:
        tx.delete("odd `t", [(1, "x")])
    assert values(db.query("odd `t")) == []


def test_a_table_that_has_rows_is_loaded(db: Database) -> None:
    rows = pa.table({"item": pa.array([1], pa.int64()), "qty": pa.array([1], pa.int32())})
    db.load("quantity", rows)
    db.load("quantity", rows)
    assert len(db.query("quantity")) == 2
    db.sql("INSERT INTO threshold VALUES (1, 1)")
    with pytest.raises(InvalidRow):
        db.load("threshold", rows)


# explain


def test_explain_says_how_a_view_is_maintained(db: Database) -> None:
    shown = db.explain("low")
    for part in (
        "├── quantity",
        "└── threshold",
        "join [q.item = t.item, q.qty < t.lim]",
        "quantity, threshold",
        "When quantity changes",
        "∂low/∂quantity (as q)  =  π(Δquantity ⋈ threshold⋉)",
        "t restricted: t.item ∈ π(Δquantity), as a list of keys or a semi-join",
        "∂low/∂threshold (as t)  =  π(quantity⋉ ⋈ Δthreshold)",
        "/* item of Δquantity */",
        "GROUP BY",
    ):
        assert part in shown
    assert "__keys_" not in shown


def test_explain_of_a_constant(db: Database) -> None:
    assert "the answer never changes" in db.explain("SELECT 1 AS one")


def test_explain_of_a_table_and_a_query(db: Database) -> None:
    assert "∂quantity/∂quantity  =  " in db.explain("quantity")
    assert "∂result/∂quantity" in db.explain("SELECT item FROM quantity")


def test_definitions_changed_later_are_seen(db: Database) -> None:
    """Plans and programs are kept per text; a new definition must not meet an old plan."""
    db.sql("CREATE TABLE x (a INT); CREATE VIEW v AS SELECT a FROM x; INSERT INTO x VALUES (1)")
    assert values(db.query("SELECT * FROM v")) == [(1,)]
    assert len(db.changes("SELECT * FROM v")) == 1
    db.sql("DROP VIEW v; CREATE VIEW v AS SELECT a + 1 AS b FROM x")
    assert values(db.query("SELECT * FROM v")) == [(2,)]
    assert db.changes("SELECT * FROM v").additions() == [{"b": 2}]


# the passing of time

DUE = "SELECT item FROM deadline WHERE due <= now()"


@pytest.fixture
def deadlines(db: Database, clock: ManualClock) -> Database:
    """Item 1 is due at 5000, item 2 at 9000; both are known from 1000 on."""
    db.sql("CREATE TABLE deadline (item BIGINT, due TIMESTAMP)")
    with db.transaction() as tx:
        tx.insert("deadline", [(1, instant(5000)), (2, instant(9000))])
    return db


def test_a_query_that_reads_the_clock_is_answered_now(deadlines: Database, clock: ManualClock) -> None:
    assert values(deadlines.query(DUE)) == []
    clock.set(5000)
    assert values(deadlines.query(DUE)) == [(1,)]
    assert deadlines.time == 1000
    assert values(deadlines.query(DUE, as_of=4999)) == []
    found = deadlines.sql(DUE)
    assert found is not None
    assert values(found) == [(1,)]


def test_what_was_said_of_an_instant_stays_true(deadlines: Database, clock: ManualClock) -> None:
    """A commit after an answer is later than the answer, even where the clock stands still or goes back."""
    clock.set(6000)
    assert values(deadlines.query(DUE)) == [(1,)]
    clock.set(2000)
    with deadlines.transaction() as tx:
        tx.insert("deadline", [(3, instant(1))])
    assert tx.time == 6001
    assert values(deadlines.query(DUE, as_of=6000)) == [(1,)]
    assert values(deadlines.query(DUE)) == [(1,), (3,)]


def test_a_query_without_the_clock_does_not_move_the_time(deadlines: Database, clock: ManualClock) -> None:
    clock.set(6000)
    deadlines.query("deadline")
    clock.set(2000)
    with deadlines.transaction() as tx:
        tx.insert("deadline", [(3, instant(1))])
    assert tx.time == 2000


def test_changes_by_time_alone(deadlines: Database, clock: ManualClock) -> None:
    clock.set(20_000)
    assert weighted(deadlines.changes(DUE, per_commit=True)) == [(1, 5000, 1), (2, 9000, 1)]
    assert weighted(deadlines.changes(DUE, since=5000, until=9000, per_commit=True)) == [(2, 9000, 1)]
    assert weighted(deadlines.changes(DUE, since=5000, until=8999)) == []
    assert weighted(deadlines.changes("deadline", since=1000)) == []


def test_changes_up_to_the_future_are_not_known(deadlines: Database, clock: ManualClock) -> None:
    clock.set(6000)
    with pytest.raises(InvalidInterval):
        deadlines.changes(DUE, until=6001)
    assert weighted(deadlines.changes(DUE, until=6000)) == [(1, 5000, 1)]
    assert len(deadlines.changes("deadline", until=99_000)) == 2


def test_nothing_changes_after_now(deadlines: Database, clock: ManualClock) -> None:
    clock.set(6000)
    assert weighted(deadlines.changes(DUE, since=6000)) == []
    assert weighted(deadlines.changes(DUE, since=7000)) == []
    assert weighted(deadlines.changes(DUE, since=6000, until=6000)) == []


def test_changes_are_told_once(deadlines: Database, clock: ManualClock) -> None:
    """Whoever reads on from where the last batch ended misses nothing and hears nothing twice."""
    heard, since = [], 0
    for now in (1000, 4999, 5000, 5000, 8000, 9001):
        clock.set(now)
        heard += weighted(deadlines.changes(DUE, since=since, until=now, per_commit=True))
        since = now
    assert heard == [(1, 5000, 1), (2, 9000, 1)]


def test_rows_inserted_by_a_query_that_reads_the_clock(deadlines: Database, clock: ManualClock) -> None:
    clock.set(5000)
    deadlines.sql(f"INSERT INTO quantity (item) {DUE}")
    assert deadlines.time == 5000
    assert values(deadlines.query("SELECT item FROM quantity")) == [(1,)]


def test_rows_are_loaded_by_the_names_of_their_columns() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT, b STRING)")
        with pytest.raises(InvalidRow):
            db.load("t", pa.table({"a": [1], "c": ["x"]}))
        db.load("t", pa.table({"B": ["x"], "a": pa.array([1], pa.int32())}))
        assert db.query("SELECT * FROM t").rows() == [{"a": 1, "b": "x"}]
        db.load("t", pa.table({"a": [2]}))
        db.load("t", pd.DataFrame({"b": ["y"], "a": [3]}))
        assert values(db.query("SELECT * FROM t ORDER BY a")) == [(1, "x"), (2, None), (3, "y")]
