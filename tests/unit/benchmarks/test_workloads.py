"""Every workload runs, at the least size at which it has something to say, and reports.

What it says about time is not looked at here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import commits, continuous, inventory, latency, rules, tapestry, tpch, tpch_report, views
from benchmarks.data.rulebook import SHAPES, rule
from benchmarks.peers import pathway
from benchmarks.peers.peer import LeftOut
from benchmarks.peers.pg_ivm import OVERHEAD
from tidings.waves.strategy import Strategy


def test_inventory() -> None:
    found = inventory.measured(200, "spark", engine="duckdb", batches=(1, 3, 20), runs=1, warm=1, few=1)
    assert set(found.figures) == {"wave of 1", "wave of 3", inventory.DUCKDB}
    assert "wave of 20 *" in inventory.report([found]).text()


def test_inventory_beside_its_peers() -> None:
    """Those that are installed are measured, and the others named."""
    sizes: dict[str, Any] = {"batches": (1, 3, 20), "runs": 1, "warm": 0, "few": 1}
    found = inventory.measured(200, "auto", engine="duckdb", peers=True, **sizes)
    text = inventory.report([found]).text()
    for name, figure in (("pg_ivm", OVERHEAD), ("Pathway", pathway.batch_of(20))):
        measured = any(figure in figures for figures in found.peers.values())
        assert measured != any(name in note for note in found.left_out)
        assert (figure if measured else f"{name} is") in text


def test_a_peer_that_is_not_installed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pathway, "PYTHON", tmp_path / "python")
    with pytest.raises(LeftOut, match="make peers"), pathway.pathway({}):
        raise AssertionError("it was started")


@pytest.mark.spark
def test_inventory_on_spark(spark: Any) -> None:
    found = inventory.measured(500, "spark", batches=(1, 3, 20), runs=1, warm=0, few=1)
    assert found.figures.keys() > {inventory.TRIVIAL, inventory.SPARK}
    bars = inventory.report([found]).bars
    assert len(bars) == 5
    assert all(bar.value > 0 for bar in bars)


def test_tapestry() -> None:
    found = tapestry.measured(600, engine="duckdb", fixed=60, runs=1)
    for figures in found.figures.values():
        assert set(figures) == {"Q", tapestry.WHOLE, tapestry.TENTH, tapestry.HUNDREDTH, tapestry.ON_SPARK}
    assert 600 in found.by_length["Q1"]
    report = tapestry.report([found, found])
    assert len(report.bars) == 6
    assert "Figure 8" in report.text()


def test_continuous() -> None:
    found = [continuous.measured(600, engine="duckdb", fixed=60, facts=facts, runs=1) for facts in (False, True)]
    for one in found:
        assert one.delivered.keys() == one.figures.keys()
        for query in one.plain:
            assert one.delivered[query, "changes"] == one.delivered[query, "rewriting"]
    assert "Figures 5, 6, 8 and 9" in continuous.report(found).text()


def test_tpch() -> None:
    found = tpch.measured(0.01, {0.001: 1, 0.01: 1}, engine="duckdb", only=(6, 11, 16), warm=False)
    assert not found.refused
    assert found.changes[0.01] > found.changes[0.001]
    assert found.seen[0.001][6].chosen is Strategy.MERGE
    assert found.seen[0.001][11].chosen is Strategy.NOTHING
    report = tpch_report.report(found)
    assert len(report.bars) == 4
    assert all(len(view.in_duckdb) == 1 for view in found.seen[0.01].values())
    assert "break-even" in report.text()


@pytest.mark.spark
def test_tpch_on_spark_alone(spark: Any) -> None:
    found = tpch.measured(0.01, {0.001: 1}, only=(6, 11), warm=False)
    assert all(len(view.plain) == 2 for view in found.seen[0.001].values())
    bars = tpch_report.report(found).bars
    assert [bar.limit for bar in bars if "Spark alone" in bar.claim] == [1.5, 1.3]


def test_break_even_is_between_what_was_measured() -> None:
    found = tpch_report.Found(1.0)
    for share, took in ((0.001, 1.0), (0.1, 100.0)):
        found.seen[share] = {1: tpch_report.Seen(Strategy.DIFFERENTIAL, 0, [took], [50.0], [10.0])}
    assert found.break_even(1) == pytest.approx(0.01)
    assert (found.right(0.001), found.right(0.1)) == (1, 0)


def test_views() -> None:
    found = views.measured(300, "spark", (1, 8), engine="duckdb", transactions=3, runs=1)
    (bar,) = views.report([found]).bars
    assert bar.claim == "spark, 8 views / one view"


def test_rules() -> None:
    sizes: dict[str, Any] = {"idle": (0, 3), "activations": (1, 50), "rules": (20, 40), "many": (20, 30), "firings": 30}
    found = rules.measured(100, "duckdb", runs=1, **sizes)
    assert set(found.told) == {"file", "in-process"}
    report = rules.report([found])
    assert [bar.limit for bar in report.bars] == [1.05, 3.0, 10.0, 10.0]
    assert all(bar.value > 0 for bar in report.bars)
    assert "duckdb, commit with 40 rules / 20" in report.text()


def test_rules_are_of_twenty_shapes() -> None:
    assert len({rule(n) for n in range(1000)}) == len({rule(n, 10) for n in range(1000)}) == 1000
    assert len(set(SHAPES)) == 20


def test_latency() -> None:
    (found,) = latency.measured(100, "spark", (40,), engine="duckdb", seconds=0.5, warm=1)
    assert 2 <= len(found.committed) <= 20
    assert found.lost == 0
    assert "told p99" in latency.report([found]).text()


def test_commits() -> None:
    one = commits.one_commit(100, engine="duckdb", runs=2, warm=1)
    busy = commits.busy_database(100, 40, engine="duckdb", views=3, rules=3, seconds=0.5, warm=1)
    assert 2 <= len(busy.told) == len(busy.late) <= 20
    assert not busy.committed
    report = commits.report(one, busy)
    assert [bar.limit for bar in report.bars] == [10.0, 0.98, 100.0]
    assert "3 stored views and 3 rules" in report.text()
