"""Operators of users: registered, applied in FROM and in the algebra, declared after a restart, refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tidings
from tidings import Database
from tidings.algebra import (
    DeltaPair,
    RelationInstance,
    SubstitutionList,
    chain_rule,
    delta_of,
    first_principle,
    relation,
    to_sql,
)
from tidings.errors import (
    DependentObjects,
    EngineFailed,
    FunctionNotRegistered,
    InvalidFunction,
    InvalidOperator,
    UnknownFunction,
)

COLUMNS = "sensor STRING, value DOUBLE"


def smooth(readings: pa.Table) -> pa.Table:
    middle = pc.quantile(readings["value"], 0.5, interpolation="lower")[0]
    return readings.filter(pc.less_equal(pc.abs(pc.subtract(readings["value"], middle)), 20.0))


def define(db: Database) -> Any:
    return db.operator("Smooth", takes=COLUMNS, returns=COLUMNS, key="sensor")(smooth)


@pytest.fixture
def plant(db: Database) -> Database:
    define(db)
    db.sql("CREATE TABLE readings (id INT PRIMARY KEY, sensor STRING, value DOUBLE)")
    db.sql("INSERT INTO readings VALUES (1, 's1', 20), (2, 's1', 21), (3, 's1', 90), (4, 's2', 50)")
    return db


def test_views_rules_and_explanations(plant: Database) -> None:
    fired: list[Any] = []
    plant.procedure("note")(fired.extend)
    plant.sql("CREATE VIEW good AS SELECT * FROM SMOOTH(TABLE readings)")
    plant.sql("""
        CREATE RULE hot WHEN SELECT sensor, value FROM smooth(TABLE readings) WHERE value > 80
          DO CALL note(sensor, value) WITH (action = 'deferred')
    """)
    since = plant.time
    plant.sql("UPDATE readings SET value = 85 WHERE id = 2")
    assert [tuple(row.values()) for row in fired] == [("s1", 85.0), ("s1", 90.0)]
    assert len(plant.changes("good", since, strict=True).rows()) == 4
    assert "restricted: i_readings.sensor" in plant.explain("good")


def test_inputs_may_be_queries_and_sources_may_have_aliases(plant: Database) -> None:
    query = "SELECT o.v FROM smooth(TABLE(SELECT * FROM readings WHERE id > 1)) AS o(s, v) WHERE o.s = 's1'"
    assert plant.query(query).rows() == [{"v": 21.0}]
    assert len(plant.query("SELECT smooth.value FROM smooth(TABLE readings)")) == 3


def test_the_algebra_takes_what_the_decorator_gives(plant: Database) -> None:
    operator = define(plant)
    node = relation("readings", data=plant).apply(operator)
    since = plant.time
    plant.sql("DELETE FROM readings WHERE id = 3; INSERT INTO readings VALUES (5, 's2', 55)")
    list_ = SubstitutionList.of_database(node, since)
    assert delta_of(chain_rule(node), list_).rows == (set(), {("s2", 55.0)}) == first_principle(node, list_).rows
    assert len(plant.query(to_sql(node))) == 4


def test_incremental_forms_in_the_algebra(db: Database) -> None:
    calls = []

    def changes(old: list[pa.Table], removed: list[pa.Table], added: list[pa.Table]) -> tuple[pa.Table, pa.Table]:
        calls.append(old[0].num_rows)
        return removed[0], added[0]

    same = db.operator("same", takes="a INT", returns="a INT", incremental=changes)(lambda rows: rows)
    twice = db.operator("twice", takes="a INT", returns="b INT", incremental="linear")(
        lambda rows: pa.table({"b": pc.multiply(rows["a"], 2)})
    )
    old, new = (RelationInstance.of(("a",), *rows) for rows in (((1, 10), (2, 20)), ((1, 10), (3, 30))))
    list_ = SubstitutionList.between({"r": old}, {"r": new})
    leaf = relation("r", "a")
    assert delta_of(chain_rule(leaf.apply(same)), list_) == DeltaPair.between(old, new)
    assert calls == [2]
    assert delta_of(chain_rule(leaf.apply(twice)), list_).rows == ({(40,)}, {(60,)})


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ({"name": "upper"}, InvalidFunction),
        ({"name": "two words"}, InvalidFunction),
        ({"name": "op", "takes": []}, InvalidOperator),
        ({"name": "op", "takes": "sensor"}, InvalidOperator),
        ({"name": "op", "takes": "sensor INTERVAL"}, InvalidOperator),
        ({"name": "op", "returns": ""}, InvalidOperator),
        ({"name": "op", "returns": "x INT; y"}, InvalidOperator),
        ({"name": "op", "key": "place"}, InvalidOperator),
        ({"name": "op", "takes": "sensor STRING, Sensor INT"}, InvalidOperator),
        ({"name": "op", "incremental": "fast"}, InvalidOperator),
        ({"name": "op", "returns": None}, InvalidOperator),
        ({"name": 5}, InvalidOperator),
        ({"name": "op", "takes": [COLUMNS, COLUMNS]}, InvalidFunction),
        ({"name": "op", "takes": [COLUMNS, COLUMNS], "incremental": "linear"}, InvalidOperator),
    ],
)
def test_what_cannot_be_an_operator_is_refused(db: Database, said: dict[str, Any], condition: type[Exception]) -> None:
    with pytest.raises(condition):
        db.operator(**{"takes": COLUMNS, "returns": COLUMNS, **said})(smooth)


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT * FROM smooth(TABLE readings, TABLE readings)", InvalidOperator),
        ("SELECT * FROM smooth(1)", InvalidOperator),
        ("SELECT * FROM smooth(TABLE nosuch)", tidings.errors.UnknownRelation),
        ("SELECT * FROM smooth(TABLE other)", tidings.errors.UnknownColumn),
        ("SELECT * FROM smoth(TABLE readings)", tidings.errors.TidingsError),
        ("SELECT smooth(1) AS x", UnknownFunction),
    ],
)
def test_what_cannot_be_applied_is_refused(plant: Database, query: str, condition: type[Exception]) -> None:
    plant.sql("CREATE TABLE other (sensor STRING)")
    with pytest.raises(condition):
        plant.query(query)


def test_what_gives_the_wrong_thing_is_named(plant: Database) -> None:
    plant.operator("no_table", takes=COLUMNS, returns=COLUMNS)(lambda rows: [1])
    plant.operator("no_column", takes=COLUMNS, returns=COLUMNS)(lambda rows: rows.select(["sensor"]))
    for name in ("no_table", "no_column"):
        with pytest.raises(EngineFailed, match=f"{name} gave"):
            plant.query(f"SELECT * FROM {name}(TABLE readings)")


def test_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "plant"
    with tidings.open(path, engine="duckdb") as db:
        define(db)
        db.sql("CREATE TABLE readings (sensor STRING, value DOUBLE)")
        db.sql("CREATE MATERIALIZED VIEW good AS SELECT * FROM smooth(TABLE readings)")
        db.sql("INSERT INTO readings VALUES ('a', 1.0)")
        db.advance()
    with tidings.open(path, engine="duckdb") as db:
        assert len(db.query("good")) == 1
        (row,) = db.functions().rows()
        assert (row["name"], row["kind"], row["registered"]) == ("smooth", "operator", False)
        db.sql("INSERT INTO readings VALUES ('a', 2.0)")
        with pytest.raises(FunctionNotRegistered) as caught:
            db.query("good")
        assert caught.value.parameters == {"name": "smooth"}
        with pytest.raises(DependentObjects):
            db.operator("smooth", takes=COLUMNS, returns=COLUMNS)(smooth)
        define(db)
        assert len(db.query("good")) == 2
