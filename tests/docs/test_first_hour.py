"""The first hour of a new user: a shop, an exploration with typical mistakes, and a use from inside Spark.

Each is a script, as somebody would write it from the documentation, against both engines and both executions.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.docs import shop
from tests.docs.python_mistakes import PYTHON_MISTAKES
from tests.foreign import FOREIGN
from tests.unit.front.mistakes import MISTAKES, ON_SPARK, SETUP
from tidings import Database
from tidings.errors import TidingsError

WAYS = [
    {"engine": "duckdb", "execution": "spark"},
    {"engine": "duckdb", "execution": "auto"},
    pytest.param({"engine": "spark", "execution": "spark"}, marks=[pytest.mark.spark, pytest.mark.slow]),
    pytest.param({"engine": "spark", "execution": "auto"}, marks=pytest.mark.spark),
]
"""Both engines, each alone and with the second one in this process."""


def _name(way: dict[str, str]) -> str:
    return f"{way['engine']}-{way['execution']}"


@pytest.fixture
def opening(request: pytest.FixtureRequest, way: dict[str, Any]) -> Callable[..., Database]:
    """Opens databases in one of the ways."""
    settings = way | ({"spark": request.getfixturevalue("spark")} if way["engine"] == "spark" else {})
    return lambda path=None, **options: tidings.open(path, **settings, **options)


@pytest.mark.parametrize("way", WAYS, ids=_name)
def test_the_shop(opening: Callable[..., Database], tmp_path: Path) -> None:
    clock, path = tidings.ManualClock(shop.OPENED), tmp_path / "shop.tidings"
    with opening(path, clock=clock) as db:
        till = shop.build(db, clock, tmp_path)
        shop.morning(till)
        shop.noon(till)
        shop.afternoon(till)
    with opening(path, clock=clock) as db:
        till.db = db
        shop.serve(till)
        shop.evening(till)


def refused(condition: str, act: Callable[[], object]) -> None:
    """Somebody is told what is wrong, in words that are Tidings' own."""
    with pytest.raises(TidingsError) as caught:
        act()
    assert caught.value.condition == condition
    assert FOREIGN.search(caught.value.message) is None, caught.value.message


@pytest.mark.parametrize("way", WAYS, ids=_name)
def test_an_exploration(opening: Callable[..., Database]) -> None:
    """Somebody tries things out, errs, reads what is said, and does what it says."""
    clock = tidings.ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    with opening(clock=clock) as db:
        db.sql("CREATE TABLE quantity (item INT PRIMARY KEY, qty INT); CREATE TABLE bill (id INT, due TIMESTAMP)")
        with pytest.raises(tidings.errors.UnknownRelation, match="quantity"):
            db.query("quantitty")
        refused("InvalidSyntax", lambda: db.sql("INSERT INTO quantity VALUES (1, 90"))
        db.load("quantity", [(1, 90), (2, 80)])
        loaded = db.time
        assert loaded == clock.now()
        refused("DuplicateKey", lambda: db.sql("INSERT INTO quantity VALUES (1, 5)"))
        db.sql("INSERT INTO quantity VALUES (1, 5) ON CONFLICT (item) DO UPDATE SET qty = excluded.qty")
        assert [c.row for c in db.changes("quantity", since=loaded).rows()] == [
            {"item": 1, "qty": 90},
            {"item": 1, "qty": 5},
        ]
        assert {row["qty"] for row in db.query("quantity", as_of="2026-01-01")} == {90, 80}
        refused("InvalidInstant", lambda: db.query("quantity", as_of="yesterday"))
        refused("InvalidInstant", lambda: db.changes("quantity", since=1.5))  # type: ignore[arg-type]
        refused(
            "NotATable", lambda: db.sql("CREATE VIEW low AS SELECT item FROM quantity WHERE qty < 10; DELETE FROM low")
        )
        assert db.query("low").rows() == [{"item": 1}]

        # what was due long ago was not reported then: nobody had asked
        db.load("bill", [(1, datetime(2020, 1, 1)), (2, datetime(2026, 1, 1, 1)), (3, None)])
        db.sql("CREATE VIEW late AS SELECT id FROM bill WHERE due < now()")
        assert db.query("late").rows() == [{"id": 1}]
        assert db.changes("late", per_commit=True).rows() == []
        seen = db.time
        clock.advance(timedelta(hours=2))
        assert [c.row for c in db.changes("late")] == [c.row for c in db.changes("late", since=seen)] == [{"id": 2}]
    refused("DatabaseClosed", lambda: db.query("quantity"))
    refused("DatabaseClosed", lambda: db.sql("INSERT INTO quantity VALUES (3, 1)"))


@pytest.mark.spark
@pytest.mark.parametrize("execution", [pytest.param("spark", marks=pytest.mark.slow), "auto"])
def test_from_inside_spark(spark: Any, execution: Any, tmp_path: Path) -> None:
    """Somebody has a session, frames and a stream, and wants to know what changes."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "200")
    frame = session.range(1000).selectExpr("CAST(id AS INT) AS item", "CAST(id % 50 AS INT) AS qty")
    with tidings.open(tmp_path / "shop.tidings", spark=session, execution=execution) as db:
        db.sql(
            "CREATE TABLE stock (item INT PRIMARY KEY, qty INT);"
            "CREATE VIEW gone AS SELECT item FROM stock WHERE qty = 0"
        )
        assert db.load("stock", frame).inserted == 1000
        assert len(list((tmp_path / "shop.tidings" / "base").rglob("*.parquet"))) == 1
        position = db.time
        for batch in (7, 7, 8):  # a batch that is sent again counts once
            changed = session.createDataFrame([(batch, 0)], "item INT, qty INT")
            with db.transaction(id=f"stock-{batch}") as tx:
                tx.upsert("stock", changed)
        assert sorted(row["item"] for row in db.changes("gone", since=position).additions()) == [7, 8]
        answer = db.query("gone").to_spark()
        assert answer.sparkSession.range(9).join(answer, answer["item"] == 7).count() == 9
        refused("InvalidRow", lambda: db.load("stock", frame.withColumnRenamed("qty", "quantity")))
        refused("EngineFailed", lambda: db.query("SELECT 1 / qty FROM stock"))


@pytest.mark.parametrize("way", WAYS, ids=_name)
def test_mistakes_of_python(opening: Callable[..., Database], tmp_path: Path) -> None:
    with opening() as db:
        db.sql(SETUP)
        before = {name: len(db.query(name)) for name in ("customer", "orders", "line", "log")}
        for condition, act in PYTHON_MISTAKES:
            refused(condition, lambda act=act: act(db, tmp_path))  # type: ignore[misc]
        assert {name: len(db.query(name)) for name in before} == before


@pytest.mark.spark
@pytest.mark.parametrize("execution", [pytest.param("spark", marks=pytest.mark.slow), "auto"])
def test_mistakes_of_sql_on_spark(spark: Any, execution: Any) -> None:
    """The same conditions as on DuckDB, where each is also seen to change nothing, unless that asks for Spark."""
    assert [c for c, text in MISTAKES if c == "SparkNeeded"] == ["SparkNeeded"] * len(ON_SPARK)
    names = ("customer", "orders", "line", "log")
    with tidings.open(spark=spark, execution=execution) as db:
        db.sql(SETUP)
        before = {name: sorted(map(str, db.query(name))) for name in names}
        wrong = []
        for condition, text in MISTAKES:
            expected = ON_SPARK.get(text, condition)
            try:
                db.sql(text)
            except TidingsError as error:
                if error.condition != expected or FOREIGN.search(error.message):
                    wrong.append((text, expected, error.condition, error.message))
            else:
                wrong.append((text, expected, "nothing", ""))
        assert wrong == []
        assert {name: sorted(map(str, db.query(name))) for name in names} == before


def test_there_are_a_hundred_mistakes() -> None:
    assert len(MISTAKES) + len(PYTHON_MISTAKES) >= 150
