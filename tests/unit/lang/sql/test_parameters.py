"""Values in the place of parameters, by name and in order, in every way to ask and to change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pytest

import tidings
from tidings import Database
from tidings.errors import InvalidParameter, UnsupportedStatement

NASTY = "it's \\ a `x`; DROP TABLE t -- \" ?"


@pytest.fixture
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (id INT, s STRING)")
        db.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
        yield db


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (7, 7),
        (-7, -7),
        (2**40, 2**40),
        (10**30, Decimal(10**30)),
        (1.5, 1.5),
        (float("inf"), float("inf")),
        (Decimal("-1.50"), Decimal("-1.50")),
        (Decimal("1E+3"), Decimal(1000)),
        (Decimal("0.001"), Decimal("0.001")),
        (True, True),
        (NASTY, NASTY),
        ("", ""),
        (b"\x00\xff", b"\x00\xff"),
        (date(2026, 1, 2), date(2026, 1, 2)),
        (datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
        (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
        ([1, 2], [1, 2]),
        (None, None),
        (np.int64(7), 7),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.datetime64("2026-01-02T00:00:00"), datetime(2026, 1, 2, tzinfo=UTC)),
        (np.array([1, 2]), [1, 2]),
        (pandas.Series(["a", "b"]), ["a", "b"]),
        (pandas.Timestamp("2026-01-02"), datetime(2026, 1, 2, tzinfo=UTC)),
        (pandas.NaT, None),
    ],
)
def test_a_value_comes_back_as_it_was_given(db: Database, value: Any, back: Any) -> None:
    assert db.query("SELECT :v AS v", params={"v": value}).rows() == [{"v": back}]
    assert db.query("SELECT ? AS v", params=[value]).rows() == [{"v": back}]


def test_question_marks_are_filled_in_the_order_of_the_text(db: Database) -> None:
    query = "SELECT ? AS a, x.b FROM (SELECT ? AS b) x WHERE ? = ? ORDER BY ?"
    assert db.query(query, params=["a", "b", 1, 1, "o"]).rows() == [{"a": "a", "b": "b"}]


def test_every_way_takes_them(db: Database) -> None:
    assert db.query("SELECT id FROM t WHERE s = :s", params={"s": "b"}).rows() == [{"id": 2}]
    assert len(db.changes("SELECT id FROM t WHERE id > ?", params=[1])) == 2
    db.sql("INSERT INTO t VALUES (:id, :s)", params={"id": 4, "s": NASTY})
    db.sql("UPDATE t SET s = ? WHERE id = ?", params=["c", 3])
    with db.transaction() as tx:
        tx.sql("DELETE FROM t WHERE id = :id", params={"id": 1})
        assert len(tx.query("SELECT * FROM t WHERE id < :id", params={"id": 3})) == 1
    assert db.query("SELECT * FROM t ORDER BY id").rows() == [
        {"id": 2, "s": "b"},
        {"id": 3, "s": "c"},
        {"id": 4, "s": NASTY},
    ]


def test_a_list_fills_an_in(db: Database) -> None:
    query = "SELECT id FROM t WHERE id IN (:ids) ORDER BY id"
    assert [row["id"] for row in db.query(query, params={"ids": [1, 3, 9]})] == [1, 3]
    assert db.query(query, params={"ids": []}).rows() == []
    assert len(db.query("SELECT id FROM t WHERE id NOT IN (?)", params=[[]])) == 3
    assert len(db.query("SELECT id FROM t WHERE id IN (1, :ids)", params={"ids": (2,)})) == 2


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("SELECT :a AS a", None),
        ("SELECT ? AS a", None),
        ("SELECT :a AS a", {}),
        ("SELECT :a AS a", {"a": 1, "b": 2}),
        ("SELECT :a AS a", [1]),
        ("SELECT ? AS a", {"a": 1}),
        ("SELECT ? AS a", []),
        ("SELECT ? AS a", [1, 2]),
        ("SELECT ? AS a", "1"),
        ("SELECT ? AS a", 7),
        ("SELECT ? AS a", [object()]),
        ("SELECT ? AS a", [Decimal("NaN")]),
        ("SELECT 1 AS a", [1]),
    ],
)
def test_what_does_not_fit_is_refused(db: Database, text: str, params: Any) -> None:
    with pytest.raises(InvalidParameter):
        db.query(text, params=params)


def test_a_definition_has_none(db: Database) -> None:
    with pytest.raises(UnsupportedStatement):
        db.sql("CREATE VIEW v AS SELECT id FROM t WHERE id = :id", params={"id": 1})
