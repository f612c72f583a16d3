"""Loads of first rows and of histories."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from tidings import Database
from tidings.errors import InvalidRow, UnknownColumn, UnsupportedStatement
from tidings.store.relation.table import Table
from tidings.write.load import Loader


class Watching:
    """A load hook that notes what it is called for."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def before(self, target: Table) -> None:
        self.calls.append(("before", target.base))

    def loaded(self, target: Table) -> None:
        self.calls.append(("loaded", target.base_size))

    def record(self, connection: object) -> None:
        self.calls.append("record")

    def logged(self, tables: Sequence[Table], since: int, until: int) -> None:
        self.calls.append(("logged", [t.name for t in tables], since, until))


ROWS = pa.table({"qty": pa.array([2, 4], pa.int32()), "item": pa.array([1, 3], pa.int64())})


def test_first_rows_and_their_hook(db: Database) -> None:
    hook = Watching()
    db._parts.loader.load("quantity", ROWS, None, "refuse", hook)
    assert hook.calls == [("before", None), ("loaded", 2), "record"]
    assert sorted(row["item"] for row in db.query("quantity")) == [1, 3]
    assert db.time == 1000


def test_a_history_is_recorded_like_a_commit(db: Database) -> None:
    db.sql("CREATE TABLE r (n INT, at BIGINT) WITH (append_only, time = at)")
    hook, rows = Watching(), [{"n": 1, "at": 10}, {"n": 2, "at": 20}]
    db._parts.loader.load({"r": rows}, None, None, "refuse", hook)
    assert hook.calls == [("logged", ["r"], 0, 20)]
    assert [(c.row["n"], c.time) for c in db.changes("r", per_commit=True)] == [(1, 10), (2, 20)]
    db._parts.loader.load({"r": []}, None, None, "refuse", None)
    assert db.time == 20


def test_refusals(db: Database) -> None:
    loader: Loader = db._parts.loader
    db.sql("CREATE EVENT e (n INT)")
    with pytest.raises(UnsupportedStatement):
        loader.load("e", ROWS, None, "refuse", None)
    with pytest.raises(UnknownColumn):
        loader.load("quantity", ROWS, "qyt", "refuse", None)
    with pytest.raises(InvalidRow, match="no column named other"):
        loader.load("quantity", ROWS.append_column("other", pa.array([1, 2])), None, "refuse", None)
    loader.load("quantity", ROWS, None, "refuse", None)
    assert loader.has_rows("quantity")
    for further, sorted_by in ((ROWS.rename_columns(["qty", "other"]), None), (ROWS, "qty"), ([(1, 2, 3)], None)):
        with pytest.raises(InvalidRow):
            loader.further_rows("quantity", further, sorted_by)
    text = pa.table({"item": ["one"], "qty": ["many"]})
    with pytest.raises(InvalidRow):
        loader.further_rows("quantity", text, None)


def test_further_rows_are_in_the_form_of_the_table(db: Database) -> None:
    db._parts.loader.load("quantity", ROWS, None, "refuse", None)
    wide = pa.table({"qty": pa.array([5], pa.int64()), "ITEM": pa.array([7], pa.int16())})
    target, rows = db._parts.loader.further_rows("QUANTITY", wide, "item")
    assert rows.schema == target.schema
    assert rows.to_pylist() == [{"item": 7, "qty": 5}]
