"""What a database tells of itself while it works: records of logs, metrics, waves of conditions."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import tidings
from tests.unit.front.mistakes import SETUP
from tidings import Database
from tidings.errors import MissingPackage, UnknownRelation
from tidings.front.metrics import METRICS
from tidings.front.prometheus import name_of

LINE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "shop", engine="duckdb", execution="auto", clock=tidings.ManualClock(10**15)) as db:
        db.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
            CREATE MATERIALIZED VIEW low AS SELECT item FROM stock WHERE qty < 5;
            CREATE RULE short WHEN SELECT item FROM stock WHERE qty < 3 DO NOTIFY 'buyers';
            CREATE RULE secret WHEN SELECT item FROM stock WHERE qty = 1
              DO WEBHOOK 'https://hooks.example/T0KEN?key=T0KEN';
        """)
        yield db


def read(text: str) -> dict[str, float]:
    """The samples of an exposition, by name and labels; every line has to be one of the format."""
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            found = LINE.fullmatch(line)
            assert found is not None, line
            samples[line.rpartition(" ")[0]] = float(found[3])
    return samples


def test_metrics_count_what_happens(db: Database) -> None:
    db.load("stock", [(1, 9), (2, 9)])
    db.sql("UPDATE stock SET qty = 2 WHERE item = 1")
    with pytest.raises(UnknownRelation):
        db.query("stok")
    found = read(db.metrics())
    assert found["tidings_commits_total"] == 2
    assert found["tidings_commit_changes_total"] == 4
    assert found["tidings_last_commit_timestamp_seconds"] == db.time / 1e6
    assert found['tidings_refusals_total{condition="UnknownRelation"}'] == 1
    assert found['tidings_rows{relation="stock"}'] == 2
    assert found['tidings_outbox_messages{state="waiting"}'] == 1
    assert found['tidings_view_lag_seconds{view="low"}'] == 1e-6
    waves = {name: value for name, value in found.items() if name.startswith("tidings_waves_total")}
    assert sum(waves.values()) == len(db.waves()) > 0
    db.advance()
    db.deliveries.step()
    db.fold()
    later = read(db.metrics())
    assert later['tidings_view_lag_seconds{view="low"}'] == 0
    assert later['tidings_outbox_messages{state="delivered"}'] == 1
    assert later["tidings_folds_total"] == 1
    db.sql("UPDATE stock SET qty = 3 WHERE item = 1; UPDATE stock SET qty = 4 WHERE item = 1")
    last = read(db.metrics())
    assert last['tidings_cache_misses_total{cache="lookups"}'] > 0
    assert last['tidings_cache_size_bytes{cache="lookups"}'] > 0


def test_each_metric_is_there_with_help_and_type(db: Database) -> None:
    text = db.metrics()
    for metric in METRICS:
        assert f"# HELP {name_of(metric)} {metric.description}\n# TYPE {name_of(metric)} {metric.kind}\n" in text
    assert len({name_of(metric) for metric in METRICS}) == len(METRICS)


def test_labels_are_escaped(tmp_path: Path) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql('CREATE TABLE `a "b" \\c` (x INT)')
        assert 'tidings_rows{relation="a \\"b\\" \\\\c"} 0\n' in db.metrics()


def test_opentelemetry_has_the_same_numbers(db: Database) -> None:
    reader = InMemoryMetricReader()
    db.export_metrics(MeterProvider([reader]))
    db.sql("INSERT INTO stock VALUES (1, 2)")
    found = _collected(reader)
    assert found.keys() <= {f"tidings.{metric.name}" for metric in METRICS}
    assert found["tidings.commits"] == [({}, 1)]
    assert found["tidings.rows"] == [({"relation": "stock"}, 1), ({"relation": "low"}, 0)]
    db.sql("DELETE FROM stock")
    assert _collected(reader)["tidings.commits"] == [({}, 2)]
    db.close()
    assert "tidings.commits" not in _collected(reader)


def _collected(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], Any]]]:
    data = reader.get_metrics_data()
    scopes = [] if data is None else [s for resource in data.resource_metrics for s in resource.scope_metrics]
    metrics = [metric for scope in scopes for metric in scope.metrics]
    return {
        m.name: [(dict(p.attributes or {}), getattr(p, "value", None)) for p in m.data.data_points] for m in metrics
    }


def test_without_opentelemetry(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingPackage) as refused:
        db.export_metrics()
    assert refused.value.parameters == {"package": "opentelemetry-api"}


def test_conditions_inside_transactions_are_waves(db: Database) -> None:
    db.sql("INSERT INTO stock VALUES (1, 2)")
    judged = {wave.view: wave for wave in db.waves() if wave.in_transaction}
    assert judged.keys() == {"short", "secret"}
    assert (judged["short"].changes, judged["short"].rows, judged["secret"].rows) == (1, 1, 0)
    assert all(sum(wave.seconds.values()) > 0 for wave in judged.values())


def test_logs_have_facts_as_fields(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tidings")
    db.sql("INSERT INTO stock VALUES (:item, 1)", params={"item": 424242})
    db.advance()
    db.deliveries.step()
    db.fold()
    with pytest.raises(UnknownRelation):
        db.query("SELECT *\nFROM stok WHERE item = 'T0KEN'")
    by_event = {vars(record)["event"]: record for record in caplog.records}
    assert by_event.keys() == {"commit", "wave", "delivered", "fold", "refusal"}
    commit, refusal = vars(by_event["commit"]), vars(by_event["refusal"])
    assert (commit["name"], commit["time"], commit["tables"]) == ("tidings.commit", db.time, {"stock": 1})
    assert (refusal["condition"], refusal["line"]) == ("UnknownRelation", 2)
    told = "\n".join(str({**vars(record), "text": record.getMessage()}) for record in caplog.records)
    assert "T0KEN" not in told
    assert "424242" not in told


def test_nothing_is_printed_by_default() -> None:
    code = """
import tidings
from tidings.logs import DELIVERY, ERROR, tell
tell(DELIVERY, ERROR, "a message of %(rule)s", "delivery_given_up", rule="r")
with tidings.open(engine="duckdb") as db:
    db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("execution", ["spark", "auto"])
def test_a_database_without_rules_or_folder_has_metrics(execution: Any) -> None:
    with tidings.open(engine="duckdb", execution=execution) as db:
        db.sql(SETUP)
        assert read(db.metrics())['tidings_rows{relation="customer"}'] == 2
