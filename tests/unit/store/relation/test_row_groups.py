"""Rows of a file by the values of a column: whatever its type, its order and its NULLs, and with few bytes kept."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidings.engine.location import Location
from tidings.store.relation.row_groups import MANY, SCATTERED, DecodedCache, RowGroups, Sought

TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), list(range(-50, 50))),
    (pa.string(), [f"{n:03}ä" for n in range(60)] + ["", "x" * 400, "x" * 401]),
    (pa.decimal128(12, 2), [Decimal(n) / 4 for n in range(-30, 30)]),
    (pa.date32(), [date.fromordinal(730_000 + n) for n in range(50)]),
    (pa.timestamp("us", "UTC"), [datetime.fromtimestamp(n * 1000, UTC) for n in range(50)]),
    (pa.float64(), [n / 8 for n in range(1, 60)]),
    (pa.bool_(), [False, True]),
    (pa.binary(), [b"", *(bytes([n]) for n in range(250))]),
]


@pytest.mark.parametrize("order", ["ascending", "descending", "none"])
@pytest.mark.parametrize("kept", [0, 4000, 1 << 30])
@pytest.mark.parametrize(("type", "values"), TYPES, ids=[str(t) for t, _ in TYPES])
def test_finds_what_is_there(type: pa.DataType, values: list[Any], kept: int, order: str, tmp_path: Path) -> None:
    rng = random.Random(7)
    for nulls in (0, 3):
        column = [rng.choice(values) for _ in range(400)]
        if order != "none":
            column.sort(reverse=order == "descending")
        column = [*([None] * nulls), *column]
        rows = pa.table({"v": pa.array(range(len(column))), "k": pa.array(column, type)})
        path = tmp_path / f"{nulls}.parquet"
        pq.write_table(rows, path, row_group_size=30)
        decoded = DecodedCache(kept)
        found = RowGroups(Location.local(path), decoded)
        for _ in range(30):
            wanted = rng.sample([None, *values], rng.randint(0, min(len(values), 9)))
            answer = found.matching("k", Sought.of(pa.array(wanted, type)))
            expected = [n for n, value in enumerate(column) if value in wanted]
            assert sorted(answer.column("v").to_pylist() if answer is not None else []) == expected
            assert answer is None or all(row["k"] == column[row["v"]] for row in answer.to_pylist())
            assert decoded.bytes <= kept


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("room", [0, 1 << 30])
def test_many_values_are_sought(ordered: bool, nulls: bool, room: int, tmp_path: Path) -> None:
    rng = random.Random(5)
    column: list[int | None] = [rng.randrange(50_000) for _ in range(9_000)]
    if ordered:
        column.sort(key=lambda v: v or 0)
    column[4_500] = None
    rows = pa.table({"v": range(len(column)), "k": pa.array(column, pa.int64()), "w": range(len(column))})
    pq.write_table(rows, tmp_path / "f.parquet", row_group_size=500)
    wanted: list[int | None] = rng.sample(range(20_000, 50_000), MANY + 1)
    found = RowGroups(Location.local(tmp_path / "f.parquet"), DecodedCache(room))
    sought = Sought.of(pa.array([*wanted, *([None] if nulls else [])], pa.int64()))
    assert found.unread("k", sought) == sum(
        max(v or 0 for v in column[at : at + 500]) >= min(v or 0 for v in wanted) or (nulls and at == 4_500)
        for at in range(0, 9_000, 500)
    )
    answer = found.matching("k", sought, ["w", "v"])
    assert answer is not None
    assert answer.column_names == ["v", "w"]
    listed = {*wanted, *([None] if nulls else [])}
    assert answer.column("v").to_pylist() == [n for n, value in enumerate(column) if value in listed]
    assert (found.unread("k", sought) == 0) == (room > 0), "what there is room for is decoded once"
    assert found.matching("k", Sought.of(pa.array(range(60_000, 63_000)))) is None


def test_many_rows_of_one_value(tmp_path: Path) -> None:
    column = [1] * 10 + [2] * (SCATTERED + 500) + [3] * 10
    pq.write_table(pa.table({"k": column}), tmp_path / "f.parquet")
    found = RowGroups(Location.local(tmp_path / "f.parquet"), DecodedCache()).matching("k", Sought.of(pa.array([2, 3])))
    assert found is not None
    assert found.column("k").to_pylist() == column[10:]


def test_a_column_is_not_taken_for_a_field_of_a_structure(tmp_path: Path) -> None:
    rows = pa.table({"a": [{"b": 9}, {"b": 9}], "a.b": [1, 2]})
    pq.write_table(rows, tmp_path / "f.parquet")
    found = RowGroups(Location.local(tmp_path / "f.parquet"), DecodedCache()).matching("a.b", Sought.of(pa.array([2])))
    assert found is not None
    assert found.to_pylist() == [{"a": {"b": 9}, "a.b": 2}]


def test_what_was_decoded_is_not_decoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"k": range(1000), "v": range(1000)}), tmp_path / "f.parquet", row_group_size=100)
    found = RowGroups(Location.local(tmp_path / "f.parquet"), DecodedCache())
    read: list[tuple[int, list[str]]] = []
    original = RowGroups._read

    def counted(self: RowGroups, group: int, names: list[str]) -> Any:
        read.append((group, names))
        return original(self, group, names)

    monkeypatch.setattr(RowGroups, "_read", counted)
    for wanted in ([5, 905, 2000], [7, 903], [905, 5]):
        found.matching("k", Sought.of(pa.array(wanted)))
    assert read == [(0, ["k"]), (0, ["v"]), (9, ["k"]), (9, ["v"])]


def test_the_others_are_read_only_where_something_is_found(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 3], "v": [1, 3]}), tmp_path / "f.parquet")
    decoded = DecodedCache()
    assert RowGroups(Location.local(tmp_path / "f.parquet"), decoded).matching("k", Sought.of(pa.array([2]))) is None
    assert decoded.find(Location.local(tmp_path / "f.parquet"), 0, "k") is not None
    assert decoded.find(Location.local(tmp_path / "f.parquet"), 0, "v") is None


def test_the_longest_unused_goes_first(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": range(300)}), tmp_path / "f.parquet", row_group_size=100)
    decoded = DecodedCache(1700)
    found = RowGroups(Location.local(tmp_path / "f.parquet"), decoded)
    for wanted in (5, 105, 6, 205):
        found.matching("k", Sought.of(pa.array([wanted])))
    assert [decoded.find(found.path, group, "k") is not None for group in range(3)] == [True, False, True]


@pytest.mark.parametrize(("values", "true"), [(4, 12_500.0), (50_000, 1.0), (5_000, 10.0), (500, 100.0)])
@pytest.mark.parametrize("ordered", [True, False])
def test_rows_per_value_are_estimated(values: int, true: float, ordered: bool, tmp_path: Path) -> None:
    """To within a factor of three, from one row group of ten."""
    column = [n % values for n in range(50_000)]
    random.Random(3).shuffle(column)
    if ordered:
        column.sort()
    pq.write_table(pa.table({"k": column}), tmp_path / "f.parquet", row_group_size=5_000)
    found = RowGroups(Location.local(tmp_path / "f.parquet"), DecodedCache()).fanout("k", 50_000)
    assert found is not None
    assert true / 3 <= found <= true * 3


def test_rows_per_value_of_nothing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": pa.array([], pa.int64())}), tmp_path / "f.parquet")
    assert RowGroups(Location.local(tmp_path / "f.parquet"), DecodedCache()).fanout("k", 0) is None
    pq.write_table(pa.table({"k": [1]}), tmp_path / "g.parquet")
    assert RowGroups(Location.local(tmp_path / "g.parquet"), DecodedCache()).fanout("nosuch", 1) is None
