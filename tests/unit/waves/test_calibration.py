"""The speeds of engines: usual ones until a wave is long, then measured once and kept in the catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidings
from tests.unit.inside import scheduler_of
from tidings import Database
from tidings.engine.speeds import DUCKDB, Trial
from tidings.waves import calibration as calibrating
from tidings.waves.calibration import WORTH, Calibration
from tidings.waves.strategy import Estimate

LONG = [Estimate(2 * WORTH, "duckdb", 0), Estimate(3 * WORTH, "duckdb", 0)]
SHORT = [Estimate(WORTH / 2, "duckdb", 0), LONG[0]]
SLOW = Trial(DUCKDB.trial.nothing * 2, DUCKDB.trial.grouped * 3)


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The trials that were made; each finds the machine slow."""
    made: list[object] = []

    def tried(run: object) -> Trial:
        made.append(run)
        return SLOW

    monkeypatch.setattr(calibrating, "tried", tried)
    return made


def calibration_of(db: Database) -> Calibration:
    return scheduler_of(db).planner.estimator.calibration


def test_usual_speeds_until_a_wave_is_long(trials: list[object]) -> None:
    with tidings.open(engine="duckdb") as db:
        calibration = calibration_of(db)
        assert not calibration.measure(SHORT)
        assert calibration.speeds("duckdb") == DUCKDB.speeds
        assert calibration.measure(LONG)
        assert calibration.speeds("duckdb").whole == pytest.approx(3 * DUCKDB.speeds.whole)
        assert calibration.speeds("duckdb").statement == pytest.approx(2 * DUCKDB.speeds.statement)
        assert not calibration.measure(LONG)
        assert len(trials) == 1


def test_a_trial_is_kept_with_the_database(trials: list[object], tmp_path: Path) -> None:
    for _ in range(2):
        with tidings.open(tmp_path / "db", engine="duckdb") as db:
            assert calibration_of(db).measure(LONG)
            assert calibration_of(db).speeds("duckdb") == DUCKDB.here(SLOW)
    assert len(trials) == 1


def test_a_reader_keeps_nothing(trials: list[object], tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb"):
        pass
    for _ in range(2):
        with tidings.open(tmp_path / "db", engine="duckdb", read_only=True) as db:
            assert calibration_of(db).measure(LONG)
    assert len(trials) == 2


def test_speeds_may_be_fixed(trials: list[object]) -> None:
    with tidings.open(engine="duckdb") as db:
        calibration = calibration_of(db)
        calibration.is_fixed = True
        assert not calibration.measure(LONG)
        assert trials == []


def test_each_engine_has_its_own(trials: list[object]) -> None:
    with tidings.open(engine="duckdb", execution="auto") as db:
        assert calibration_of(db).measure([LONG[0], Estimate(WORTH, "in-process", 0)])
        assert calibration_of(db).measured.keys() == {"duckdb", "in-process"}
