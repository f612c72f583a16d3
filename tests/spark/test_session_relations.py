"""Temporary views of the user's session are read by what is asked once, and by nothing that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tidings
from tidings.engine.spark import bases, engine
from tidings.errors import SessionRelation, UnknownRelation

pytestmark = pytest.mark.spark


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """A session with a view ``updates``."""
    session = spark.newSession()
    frame = session.range(1, 5).selectExpr("id AS sku", "CAST(id * 10 AS INT) AS qty")
    frame.createOrReplaceTempView("updates")
    yield session
    session.catalog.dropTempView("updates")


@pytest.fixture
def db(session: Any) -> Iterator[tidings.Database]:
    with tidings.open(spark=session, clock=tidings.ManualClock(1)) as db:
        db.sql("CREATE TABLE stock (sku BIGINT PRIMARY KEY, qty INT); INSERT INTO stock VALUES (1, 1), (9, 9)")
        yield db


def stock(db: tidings.Database) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.query("stock").rows())


@pytest.mark.parametrize("few", [True, False])
def test_queries_read_them(db: tidings.Database, session: Any, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not few:
        monkeypatch.setattr(engine, "FEW_ROWS", 0)
        monkeypatch.setattr(bases, "FEW_ROWS", 0)
    joined = "SELECT s.sku, u.qty FROM stock s JOIN updates u ON u.sku = s.sku"
    assert db.query(joined).rows() == [{"sku": 1, "qty": 10}]
    assert [row["sku"] for row in db.query("SELECT sku FROM Updates ORDER BY sku DESC LIMIT 2").rows()] == [4, 3]
    with db.transaction() as tx:
        assert len(tx.query("SELECT * FROM updates")) == 4
    session.range(1).selectExpr("'other' AS name").createOrReplaceTempView("updates")
    assert db.query("SELECT * FROM updates").rows() == [{"name": "other"}]


def test_statements_read_them(db: tidings.Database) -> None:
    merge = (
        "MERGE INTO stock AS s USING updates AS u ON s.sku = u.sku "
        "WHEN MATCHED THEN UPDATE SET qty = u.qty "
        "WHEN NOT MATCHED AND u.sku < 4 THEN INSERT (sku, qty) VALUES (sku, qty)"
    )
    assert db.sql(merge).rows() == [{"inserted": 2, "updated": 1, "deleted": 0}]  # type: ignore[union-attr]
    db.sql("INSERT INTO stock SELECT sku + 10, qty FROM updates WHERE sku = 4")
    db.sql("UPDATE stock SET qty = 0 WHERE sku IN (SELECT sku + 10 FROM updates)")
    assert stock(db) == [(1, 10), (2, 20), (3, 30), (9, 9), (14, 0)]
    db.sql("CREATE TABLE kept AS SELECT * FROM updates WHERE sku > 2")
    assert len(db.query("kept")) == 2


@pytest.mark.parametrize(
    "kept",
    [
        "CREATE VIEW v AS SELECT sku FROM updates",
        "CREATE MATERIALIZED VIEW v AS SELECT s.sku FROM stock s JOIN updates u ON s.sku = u.sku",
        "CREATE RULE r WHEN SELECT sku FROM updates DO NOTIFY 'x'",
        "CREATE RULE r WHEN SELECT sku FROM stock DO INSERT INTO stock SELECT sku + 100, qty FROM updates",
        "CREATE CONTINUOUS QUERY q AS SELECT sku FROM updates",
    ],
)
def test_what_is_kept_may_not_read_them(db: tidings.Database, kept: str) -> None:
    with pytest.raises(SessionRelation) as refused:
        db.sql(kept)
    assert refused.value.parameters["name"] == "updates"


def test_changes_of_them_are_not_known(db: tidings.Database) -> None:
    with pytest.raises(SessionRelation):
        db.changes("SELECT sku FROM updates")
    with pytest.raises(UnknownRelation):
        db.query("SELECT sku FROM update")


def test_relations_of_the_database_hide_them(db: tidings.Database, session: Any) -> None:
    session.range(3).createOrReplaceTempView("stock")
    assert len(db.query("SELECT * FROM stock")) == 2
    session.catalog.dropTempView("stock")
