"""Relations from Arrow tables, rows and databases."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings.algebra import (
    DeltaRelation,
    SubstitutionList,
    chain_rule,
    delta_of,
    evaluate,
    first_principle,
    instance_of,
    relation,
)
from tidings.errors import DuplicateTid, DuplicateTuple, InvalidExpression, UnknownColumn, UnknownRelation

ROWS = [{"id": 1, "tags": ["a"], "at": {"x": 1}}, {"id": 2, "tags": [], "at": None}]


def test_arrow_tables_and_rows() -> None:
    expected = {("r:1",): (1, ("a",), (("x", 1),)), ("r:2",): (2, (), None)}
    assert instance_of(ROWS, "id").tuples == expected
    assert instance_of(pa.Table.from_pylist(ROWS), ["id"]).tuples == expected
    leaf = relation("r", data=pa.Table.from_pylist(ROWS), tid="id")
    assert evaluate(leaf.select("id > 1"), SubstitutionList({}, {}).old).rows == {(2, (), None)}


class Frame:
    """What a Spark DataFrame offers here."""

    def toArrow(self) -> pa.Table:
        return pa.table({"id": [1, 2]})


def test_data_frames() -> None:
    assert instance_of(Frame(), name="f").tuples == {("f:1",): (1,), ("f:2",): (2,)}


@pytest.mark.parametrize("data", [5, [1, 2], [{"a": 1}, {"b": 2}], []])
def test_other_data_is_refused(data: Any) -> None:
    with pytest.raises(InvalidExpression):
        instance_of(data)


def test_tids_are_columns_with_unique_values() -> None:
    with pytest.raises(UnknownColumn):
        instance_of(ROWS, "key")
    with pytest.raises(DuplicateTid):
        instance_of([{"k": 1, "v": 1}, {"k": 1, "v": 2}], "k")


def test_an_expression_has_the_tuples_of_its_data() -> None:
    assert evaluate(relation("r", data=[{"a": 1}, {"a": 2}]).select("a > 1")).rows == {(2,)}
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (5), (6)")
        assert evaluate(relation("t", data=db).select("a > 5")).rows == {(6,)}


def test_a_relation_that_is_nowhere_is_refused() -> None:
    with pytest.raises(UnknownRelation):
        evaluate(relation("nowhere", "a"))
    with pytest.raises(UnknownRelation):
        evaluate(relation("nowhere", "a"), SubstitutionList({}, {}).old)
    with pytest.raises(UnknownRelation):
        SubstitutionList({}, {"nowhere": first_principle(relation("r", data=ROWS), SubstitutionList({}, {}))})


def test_what_happened_in_a_database() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE emp (id INT PRIMARY KEY, name STRING, salary INT); CREATE TABLE log (line STRING)")
        db.sql("INSERT INTO emp VALUES (1, 'Joe', 30), (2, 'Lynn', 40), (3, 'Ann', 28)")
        since = db.time
        with db.transaction() as tx:
            tx.sql("UPDATE emp SET salary = 33 WHERE id = 1; INSERT INTO emp VALUES (4, 'Ed', 25)")
            tx.sql("DELETE FROM emp WHERE id = 2")
        emp = relation("emp", data=db)
        assert (emp.attributes, emp.types) == (("id", "name", "salary"), ("int", "string", "int"))
        view = emp.select("salary > 32").project("id", "name")
        substitutions = SubstitutionList.of_database(view, since)
        assert DeltaRelation.of_pair(substitutions.deltas["emp"]).modified
        delta = delta_of(chain_rule(view), substitutions)
        assert delta.rows == ({(2, "Lynn")}, {(1, "Joe")}) == first_principle(view, substitutions).rows
        db.sql("INSERT INTO log VALUES ('x'), ('x')")
        with pytest.raises(DuplicateTuple):
            evaluate(relation("log", data=db), SubstitutionList({}, {}).old)
        with pytest.raises(UnknownRelation):
            relation("nosuch", data=db)
