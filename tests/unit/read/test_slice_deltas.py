"""What a slice of a transaction changes in several answers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.unit.inside import plan_of, scheduler_of
from tests.unit.read.test_in_transaction import entry
from tests.unit.read.test_in_transaction import filled as filled  # a fixture
from tidings import Database
from tidings.ir.relation import Version
from tidings.read.slice_deltas import SliceDeltas


def weights(delta: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((*list(row.values())[:-2], row["__w"]) for row in delta.to_pylist())


@pytest.fixture
def deltas(filled: Database) -> SliceDeltas:
    changes = entry(filled, "quantity", filled.time + 1, (1, 3), (3, 1))
    before = entry(filled, "threshold", 0, (3, 10))
    return SliceDeltas(scheduler_of(filled), filled.time, before, changes)


def test_of_several_plans(filled: Database, deltas: SliceDeltas) -> None:
    items = plan_of(filled, "SELECT item FROM low")
    assert weights(deltas.delta("items", items)) == [(1, 1), (3, 1)]
    together = deltas.deltas({"items": items, "sum": plan_of(filled, "SELECT sum(qty) AS s FROM quantity")})
    assert {name: weights(delta) for name, delta in together.items()} == {
        "items": [(1, 1), (3, 1)],
        "sum": [(55, -1), (59, 1)],
    }


def test_a_version_of_a_table_is_made_once_for_all_plans(
    filled: Database, deltas: SliceDeltas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, Version]] = []
    make = SliceDeltas._in_slice

    def noted(self: SliceDeltas, committed: Any, relation: str, version: Version, before: Any) -> Any:
        made.append((relation, version))
        return make(self, committed, relation, version, before)

    monkeypatch.setattr(SliceDeltas, "_in_slice", noted)
    for text in ("SELECT item FROM low", "SELECT item FROM low WHERE qty < 2", "SELECT qty FROM quantity"):
        deltas.delta(text, plan_of(filled, text))
    assert ("quantity", Version.DELTA) in made
    assert len(made) == len(set(made))


def test_precomputed_changes_of_a_view_stand_for_it(filled: Database, deltas: SliceDeltas) -> None:
    low = deltas.delta("low", plan_of(filled, "SELECT * FROM low"))
    plan = plan_of(filled, "SELECT qty FROM low WHERE qty > 1")
    assert weights(deltas.delta("few", plan, {"low": low})) == [(3, 1)]
    assert weights(deltas.delta("few", plan, {"low": low.slice(0, 0)})) == []
