"""Functions of users: registered, called wherever SQL calls functions, declared after a restart, refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tidings
from tidings import Database
from tidings.errors import (
    DependentObjects,
    EngineFailed,
    FunctionNotRegistered,
    InvalidExpression,
    InvalidFunction,
    UnknownFunction,
    UnsupportedType,
)


def fahrenheit(celsius: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(celsius, 1.8), 32.0)


def other(celsius: pa.Array) -> pa.Array:
    return pc.add(celsius, 1.0)


def define(db: Database, code: Callable[..., Any] = fahrenheit) -> None:
    db.function("Fahrenheit", takes=["DOUBLE"], returns="double")(code)


@pytest.fixture
def readings(db: Database) -> Database:
    define(db)
    db.sql("CREATE TABLE readings (sensor INT, celsius DOUBLE)")
    db.sql("INSERT INTO readings VALUES (1, 20.0), (2, 0.0), (3, NULL)")
    return db


def test_a_view_and_its_changes(readings: Database) -> None:
    readings.sql(
        "CREATE VIEW warm AS SELECT sensor, FAHRENHEIT(celsius) AS f FROM readings WHERE fahrenheit(celsius) > 50"
    )
    since = readings.time
    readings.sql("UPDATE readings SET celsius = 100.0 WHERE sensor <> 1")
    assert readings.query("warm").rows() == [
        {"sensor": 1, "f": 68.0},
        {"sensor": 2, "f": 212.0},
        {"sensor": 3, "f": 212.0},
    ]
    assert readings.changes("warm", since).additions() == [{"sensor": 2, "f": 212.0}, {"sensor": 3, "f": 212.0}]


def test_rules_checks_and_changes_of_rows(readings: Database) -> None:
    fired: list[Any] = []
    readings.procedure("note")(fired.extend)
    readings.sql("""
        CREATE TABLE limits (celsius DOUBLE, CHECK (fahrenheit(celsius) < 200));
        CREATE RULE hot WHEN SELECT sensor FROM readings WHERE fahrenheit(celsius) > 100 DO CALL note(sensor)
          WITH (action = 'deferred')
    """)
    readings.sql("UPDATE readings SET celsius = fahrenheit(celsius) WHERE fahrenheit(celsius) = 68")
    assert [row["sensor"] for row in fired] == [1]
    readings.sql("INSERT INTO limits SELECT celsius FROM readings WHERE sensor = 2")
    with pytest.raises(tidings.errors.CheckViolated):
        readings.sql("INSERT INTO limits VALUES (1000.0)")


def test_datalog(readings: Database) -> None:
    readings.sql("CREATE TABLE edge (a INT, b INT); INSERT INTO edge VALUES (1, 2), (2, 3)")
    readings.function("longer", takes=["int"], returns="int", each=True)(lambda n: n + 1)
    readings.datalog("""
        warm(s, f) :- readings(s, c), f = fahrenheit(c), f > 50.
        path(a, b, n) :- edge(a, b), n = longer(0).
        path(a, c, longer(n)) :- path(a, b, n), edge(b, c).
    """)
    assert readings.query("warm").rows() == [{"s": 1, "f": 68.0}]
    since = readings.time
    readings.sql("INSERT INTO edge VALUES (3, 4)")
    assert {tuple(row.values()) for row in readings.changes("path", since).additions()} == {
        (3, 4, 1),
        (2, 4, 2),
        (1, 4, 3),
    }


def test_arrays_lists_and_chunks_are_values(readings: Database) -> None:
    results: dict[str, Callable[[pa.Array], Any]] = {
        "as_list": lambda a: [1] * len(a),
        "as_chunks": lambda a: pa.chunked_array([pa.array([1] * len(a), pa.int64())]),
        "as_narrow": lambda a: pa.array([1] * len(a), pa.int8()),
    }
    for name, code in results.items():
        readings.function(name, takes=["int"], returns="bigint")(code)
        assert readings.query(f"SELECT sum({name}(sensor)) AS n FROM readings").rows() == [{"n": 3}]


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        ({"name": "upper", "takes": ["string"], "returns": "string"}, InvalidFunction),
        ({"name": "sum", "takes": ["int"], "returns": "int"}, InvalidFunction),
        ({"name": "list_sort", "takes": ["int"], "returns": "int"}, InvalidFunction),
        ({"name": "two words", "takes": ["int"], "returns": "int"}, InvalidFunction),
        ({"name": "none", "takes": [], "returns": "int"}, InvalidFunction),
        ({"name": "two", "takes": ["int", "int"], "returns": "int"}, InvalidFunction),
        ({"name": "odd", "takes": ["int"], "returns": "interval"}, InvalidFunction),
        ({"name": "odd", "takes": [5], "returns": "int"}, InvalidFunction),
        ({"name": "odd", "takes": ["int"], "returns": None}, InvalidFunction),
        ({"name": 5, "takes": ["int"], "returns": "int"}, InvalidFunction),
        ({"name": "odd", "takes": ["whatever"], "returns": "int"}, UnsupportedType),
    ],
)
def test_what_cannot_be_a_function_is_refused(
    db: Database, arguments: dict[str, Any], condition: type[Exception]
) -> None:
    with pytest.raises(condition):
        db.function(**arguments)(lambda a: a)


def test_what_fails_is_named(readings: Database) -> None:
    readings.function("short", takes=["int"], returns="int")(lambda a: [1])
    readings.function("broken", takes=["int"], returns="int", each=True)(lambda a: 1 // 0)
    with pytest.raises(EngineFailed, match="short gave 1 values for 3 rows"):
        readings.query("SELECT short(sensor) AS x FROM readings")
    with pytest.raises(EngineFailed, match="ZeroDivisionError"):
        readings.query("SELECT broken(sensor) AS x FROM readings")
    with pytest.raises(InvalidExpression):
        readings.query("SELECT fahrenheit(celsius, 1) AS x FROM readings")
    with pytest.raises(UnknownFunction):
        readings.query("SELECT celsius_of(1) AS x")


def test_after_a_restart_the_declaration_is_there_and_the_code_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "plant"
    with tidings.open(path, engine="duckdb") as db:
        define(db)
        db.sql("CREATE TABLE readings (sensor INT, celsius DOUBLE)")
        db.sql("CREATE MATERIALIZED VIEW warm AS SELECT sensor, fahrenheit(celsius) AS f FROM readings")
        db.sql("CREATE VIEW cold AS SELECT sensor FROM readings WHERE fahrenheit(celsius) < 32")
        db.sql("INSERT INTO readings VALUES (1, 20.0)")
        db.advance()
    with tidings.open(path, engine="duckdb") as db:
        (row,) = db.functions().rows()
        assert (row["name"], row["takes"], row["returns"], row["registered"]) == (
            "fahrenheit",
            "double",
            "double",
            False,
        )
        assert row["text"].startswith("def fahrenheit(celsius")
        assert db.query("warm").rows() == [{"sensor": 1, "f": 68.0}]
        with pytest.raises(FunctionNotRegistered) as caught:
            db.query("cold")
        assert caught.value.parameters == {"name": "fahrenheit"}
        db.sql("INSERT INTO readings VALUES (2, -10.0)")
        with pytest.raises(FunctionNotRegistered):
            db.query("warm")
        with pytest.raises(DependentObjects):
            define(db, other)
        define(db)
        assert {row["f"] for row in db.query("warm").rows()} == {68.0, 14.0}
        assert db.query("cold").rows() == [{"sensor": 2}]
        db.sql("DROP VIEW warm")
        define(db, other)
        assert db.functions().rows()[0]["text"].startswith("def other")
        assert len(db.query("cold")) == 2
    with tidings.open(path, engine="duckdb", read_only=True) as reader:
        define(reader, other)
        assert reader.query("SELECT fahrenheit(1.5) AS x").rows() == [{"x": 2.5}]


def test_a_function_that_a_stored_view_calls_through_a_view_keeps_its_text(readings: Database) -> None:
    readings.sql("CREATE VIEW warm AS SELECT sensor, fahrenheit(celsius) AS f FROM readings")
    readings.sql("CREATE MATERIALIZED VIEW hot AS SELECT sensor FROM warm WHERE f > 100")
    with pytest.raises(DependentObjects) as caught:
        define(readings, other)
    assert caught.value.parameters["dependents"] == "hot"
