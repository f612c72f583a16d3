"""Functions of users on Spark: in views and rules, declared after a restart, refused and failing by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.unit.front.test_functions import define
from tidings.errors import EngineFailed, FunctionNotRegistered, InvalidExpression, InvalidFunction

pytestmark = pytest.mark.spark


def test_a_function_through_its_life(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "plant"
    with tidings.open(path, spark=spark) as db:
        define(db)
        db.sql("CREATE TABLE readings (sensor INT, celsius DOUBLE)")
        db.sql("CREATE MATERIALIZED VIEW warm AS SELECT sensor, fahrenheit(celsius) AS f FROM readings")
        db.sql("INSERT INTO readings VALUES (1, 20.0), (2, NULL)")
        db.advance()
        since = db.time
        db.sql("UPDATE readings SET celsius = 0.0 WHERE sensor = 2")
        assert db.changes("warm", since).additions() == [{"sensor": 2, "f": 32.0}]
        for name in ("upper", "spark_partition_id", "bround"):
            with pytest.raises(InvalidFunction):
                db.function(name, takes=["int"], returns="int")(lambda a: a)
        with pytest.raises(InvalidExpression):
            db.query("SELECT fahrenheit(celsius, 1) AS x FROM readings")
        db.function("broken", takes=["int"], returns="int", each=True)(lambda a: 1 // 0)
        with pytest.raises(EngineFailed, match="ZeroDivisionError"):
            db.query("SELECT broken(sensor) AS x FROM readings")
    with tidings.open(path, spark=spark) as db:
        with pytest.raises(FunctionNotRegistered):
            db.query("SELECT fahrenheit(celsius) AS x FROM readings")
        define(db)
        assert {row["f"] for row in db.query("warm").rows()} == {68.0, 32.0}
