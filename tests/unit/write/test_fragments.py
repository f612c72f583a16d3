"""Changes of fragmented tables: routed to fragments, and reported of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import MissingRow, NoFragment, UnsupportedStatement

EMP = """
    CREATE TABLE emp (id BIGINT PRIMARY KEY, region STRING, pay INT DEFAULT 7)
    FRAGMENTED BY UNION (north WHERE region = 'n', south WHERE region = 's');
    INSERT INTO emp VALUES (1, 'n', 10), (2, 'n', 20), (3, 's', 30);
"""


@pytest.fixture(params=["memory", "folded"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    folder = None if request.param == "memory" else tmp_path / "firm"
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1_000_000)) as database:
        database.sql(EMP)
        if request.param == "folded":
            database.fold()
        yield database


def _ids(db: Database, name: str) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in db.query(name).rows()}


def test_an_update_moves_a_row(db: Database) -> None:
    before = db.time
    assert db.sql("UPDATE emp SET region = 's' WHERE id = 1").updated == 1  # type: ignore[union-attr]
    assert _ids(db, "north") == {(2, "n", 20)}
    assert _ids(db, "south") == {(3, "s", 30), (1, "s", 10)}
    changes = db.changes("emp", since=before).rows()
    assert sorted((row["region"], weight) for row, _, weight in changes) == [("n", -1), ("s", 1)]


def test_a_row_that_fits_no_fragment_is_refused_by_name(db: Database) -> None:
    for values in ["(9, 'x', 1)", "(9, NULL, 1)"]:
        with pytest.raises(NoFragment, match="no fragment of emp takes it"):
            db.sql(f"INSERT INTO emp VALUES {values}")
    with pytest.raises(NoFragment):
        db.sql("UPDATE emp SET region = 'x' WHERE id = 1")
    with pytest.raises(MissingRow), db.transaction() as tx:
        tx.delete("emp", [(9, "x", 1)])
    db.sql("CREATE TABLE a (x INT); CREATE TABLE b (x INT); CREATE TABLE r FRAGMENTED BY UNION (a, b)")
    with pytest.raises(NoFragment, match="more than one fragment of r"):
        db.sql("INSERT INTO r VALUES (1)")
    assert len(db.query("emp").rows()) == 3


def test_changes_by_rows(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("emp", [{"id": 4, "region": "s"}])
        tx.update("emp", [{"id": 1, "region": "s"}, {"id": 4, "pay": 8}])
        tx.upsert("emp", [{"id": 2, "pay": 21}, {"id": 5, "region": "n"}])
        tx.delete("emp", [{"id": 3}])
        assert len(tx.query("emp").rows()) == 4
    assert _ids(db, "north") == {(2, "n", 21), (5, "n", 7)}
    assert _ids(db, "south") == {(1, "s", 10), (4, "s", 8)}


def test_merge_and_on_conflict(db: Database) -> None:
    db.sql("""
        MERGE INTO emp USING (SELECT 1 AS id, 's' AS region UNION ALL SELECT 9, 'n') src ON emp.id = src.id
        WHEN MATCHED THEN UPDATE SET region = src.region
        WHEN NOT MATCHED THEN INSERT (id, region) VALUES (src.id, src.region);
        INSERT INTO emp VALUES (9, 's', 5) ON CONFLICT (id) DO UPDATE SET region = excluded.region, pay = emp.pay + 1;
        INSERT INTO emp SELECT id + 100, region, pay FROM south
    """)
    assert _ids(db, "north") == {(2, "n", 20)}
    assert _ids(db, "south") == {(r + m, "s", p) for r, p in ((1, 10), (3, 30), (9, 8)) for m in (0, 100)}


def test_what_an_update_does_not_touch_is_no_change_there(db: Database) -> None:
    db.sql("CREATE TABLE r (k INT, x INT, y INT) FRAGMENTED BY JOIN (a (x), b (y)) ON k")
    db.sql("INSERT INTO r VALUES (1, 1, 1), (2, 2, 2)")
    before = db.time
    db.sql("UPDATE r SET y = y + 1")
    assert db.changes("a", since=before).rows() == []
    assert len(db.changes("b", since=before).rows()) == 4
    assert len(db.changes("r", since=before).rows()) == 4


def test_it_is_read_like_a_table(db: Database) -> None:
    fired: list[dict[str, object]] = []
    db.procedure("note")(fired.extend)
    db.sql("""
        CREATE MATERIALIZED VIEW pay AS SELECT region, sum(pay) AS pay FROM emp GROUP BY region;
        CREATE RULE raise ON UPDATE OF emp(pay)
            WHEN SELECT new.id, old.pay AS before, new.pay AS after FROM CHANGES(emp) WHERE new.pay > old.pay
            DO CALL note(id, before, after);
        CREATE RULE moved ON UPDATE OF emp(region) WHEN SELECT new.id FROM CHANGES(emp) DO CALL note(id)
    """)
    subscription = db.subscribe("emp")
    next(iter(subscription))
    db.sql("UPDATE emp SET pay = 35 WHERE id = 3")
    db.sql("UPDATE emp SET region = 's' WHERE id = 1")
    db.advance()
    assert fired == [{"id": 3, "before": 30, "after": 35}, {"id": 1}]
    assert _ids(db, "pay") == {("n", 20), ("s", 45)}
    batch = next(iter(subscription))
    assert sorted(weight for _, _, weight in batch.changes.rows()) == [-1, 1]


def test_several_fragments_in_one_transaction_are_one_change(db: Database) -> None:
    before = db.time
    with db.transaction() as tx:
        tx.sql("UPDATE emp SET region = CASE region WHEN 'n' THEN 's' ELSE 'n' END")
        tx.sql("INSERT INTO north VALUES (7, 'n', 7)")
    changes = db.changes("emp", since=before, per_commit=True).rows()
    assert len(changes) == 7
    assert len({time for _, time, _ in changes}) == 1


def test_a_load_is_for_fragments(db: Database) -> None:
    with pytest.raises(UnsupportedStatement):
        db.load("emp", [(11, "n", 1)])
