"""Advancing, refreshing, reloading, folding and vacuuming, as one part of a database."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import ReadOnly, WrongKind
from tidings.front.maintenance import Maintenance


@pytest.fixture
def maintenance(db: Database) -> Maintenance:
    db.sql("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM quantity")
    db.sql("CREATE MATERIALIZED VIEW slow WITH (refresh = 'manual') AS SELECT count(*) AS n FROM quantity")
    db.sql("INSERT INTO quantity VALUES (1, 2)")
    return db._parts.maintenance


def positions(maintenance: Maintenance) -> dict[str, int | None]:
    return {view.name: view.position for view in maintenance.status().views}


def test_advance_leaves_manual_views_where_they_are(maintenance: Maintenance) -> None:
    assert maintenance.advance() == 1000
    assert positions(maintenance) == {"n": 1000, "slow": 0}


def test_refresh_moves_one_view(maintenance: Maintenance) -> None:
    assert maintenance.refresh("SLOW") == 1000
    assert positions(maintenance)["slow"] == 1000
    with pytest.raises(WrongKind):
        maintenance.refresh("low")


def test_a_writer_has_nothing_to_reload(maintenance: Maintenance) -> None:
    assert maintenance.reload() == maintenance.timeline.time == 1000


def test_fold_counts_logs(maintenance: Maintenance) -> None:
    maintenance.advance()
    assert maintenance.fold() > 0
    assert maintenance.fold() == 0


def test_a_reader_reloads_and_does_not_fold(tmp_path: Path) -> None:
    clock = ManualClock(10)
    with tidings.open(tmp_path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (a INT)")
        with tidings.open(tmp_path, engine="duckdb", clock=clock, read_only=True) as reader:
            maintenance = reader._parts.maintenance
            db.sql("INSERT INTO t VALUES (1)")
            assert maintenance.timeline.time == 0
            assert maintenance.reload() == 10
            with pytest.raises(ReadOnly):
                maintenance.fold()
        assert db._parts.maintenance.vacuum(timedelta(0)).waiting == 0
