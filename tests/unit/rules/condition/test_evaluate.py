"""Which rows a rule fires for, from the changes of its condition."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidings import Database
from tidings.ir.expression import TIME, WEIGHT
from tidings.read.side_by_side import changes_entry
from tidings.rules.condition.evaluate import firing_rows


def delta(*rows: tuple[int, int, int]) -> pa.Table:
    """Changes at one instant: item, quantity and weight."""
    columns = [pa.array([r[n] for r in rows], pa.int32()) for n in (0, 1)]
    weights = pa.array([r[2] for r in rows], pa.int64())
    return pa.table([*columns, pa.array([1] * len(rows), pa.int64()), weights], names=["item", "qty", TIME, WEIGHT])


CHANGES = delta((1, 5, 1), (1, 9, -1), (2, 7, 1), (3, 8, -1))


@pytest.mark.parametrize(
    ("when", "key", "expected"),
    [
        ("", "", [(1, 5), (2, 7)]),
        ("", "WITH (key = item)", [(2, 7)]),
        ("GONE", "", [(1, 9), (3, 8)]),
        ("GONE", "WITH (key = item)", [(3, 8)]),
        ("CHANGED", "", [(1, 9, "went"), (3, 8, "went"), (1, 5, "came"), (2, 7, "came")]),
        ("CHANGED", "WITH (key = item)", [(1, 5, "changed", 9), (2, 7, "came", None), (3, 8, "went", None)]),
    ],
)
def test_by_the_when_clause(db: Database, when: str, key: str, expected: list[tuple[Any, ...]]) -> None:
    text = f"CREATE RULE r WHEN {when} SELECT item, qty FROM stock DO NOTIFY 'x' {key}"
    rule = db._parts.registry.find_or_propose(text)
    rows = firing_rows(rule, CHANGES)
    assert rows.column_names == [c.name for c in rule.columns]
    assert sorted(map(str, (tuple(r.values()) for r in rows.to_pylist()))) == sorted(map(str, expected))


def test_the_rows_of_changes(db: Database) -> None:
    rule = db._parts.registry.find_or_propose("CREATE RULE r WHEN SELECT new.qty FROM CHANGES(stock) DO NOTIFY 'x'")
    (of,) = rule.condition.changes
    entry = changes_entry(of, CHANGES, 4)
    assert set(entry.column(TIME).to_pylist()) == {4}
    values = [(r["old_item"], r["old_qty"], r["new_item"], r["new_qty"]) for r in entry.to_pylist()]
    assert sorted(values, key=str) == sorted([(1, 9, 1, 5), (None, None, 2, 7), (3, 8, None, None)], key=str)
