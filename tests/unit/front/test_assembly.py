"""The composition root: every part is there, shared by those who need it, and known to nobody above."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import DeliverySettings, ManualClock, RetryPolicy
from tidings.continuous.descriptions import CONTINUOUS_QUERIES
from tidings.engine.backends import backend_named
from tidings.engine.location import Location
from tidings.engine.memory import MemoryBudget
from tidings.front.assembly import Parts, Settings, assemble, open_storage
from tidings.front.system_tables import COLUMNS
from tidings.waves.strategy import Strategy


def settings(**given: Any) -> Settings:
    chosen: dict[str, Any] = {
        "clock": ManualClock(5),
        "strategy": None,
        "in_process": False,
        "retention": timedelta(days=1),
        "deliveries": DeliverySettings(),
        "cascade": 64,
        "rounds": 100,
        "memory": MemoryBudget(),
    }
    return Settings(**(chosen | given))


def parts(**given: Any) -> Parts:
    storage = open_storage(backend_named("duckdb"), None, None, MemoryBudget(), read_only=False)
    return assemble(storage, settings(**given))


def test_parts_are_shared() -> None:
    built = parts()
    write = built.transactions.write_parts
    assert write.scheduler is built.scheduler is built.answers.scheduler is built.rules.scheduler
    assert write.timeline is built.timeline is built.answers.timeline is built.maintenance.timeline
    assert write.plans is built.plans is built.subscriptions.plans
    assert built.loader.commits is write.commits
    assert write.mutex is built.signals.mutex
    assert built.registry is built.rules.registry
    assert built.relations is built.storage.relations is write.relations
    assert built.compiled is built.scheduler.planner.compiled


def test_nothing_is_patched_in_afterwards() -> None:
    built = parts()
    for part in fields(built):
        with pytest.raises(FrozenInstanceError):
            setattr(built, part.name, None)


def test_settings_reach_their_parts() -> None:
    policy = RetryPolicy(attempts=2)
    built = parts(
        strategy=Strategy.RECOMPUTE,
        retention=None,
        cascade=3,
        deliveries=DeliverySettings(policy=policy),
        in_process=True,
    )
    assert built.folding.policy.retention is None
    assert (built.rules.limits.cascade, built.rules.limits.retry_policy) == (3, policy)
    assert built.scheduler.engines.in_process is not None
    assert built.clock.now() == 5
    assert parts().folding.policy.retention == 86_400_000_000
    assert parts().scheduler.engines.in_process is None


def test_system_tables_are_known_by_name() -> None:
    assert parts().relations.system_tables == COLUMNS
    assert set(COLUMNS) == {
        "tidings.rules",
        "tidings.firings",
        "tidings.silences",
        "tidings.deliveries",
        CONTINUOUS_QUERIES,
    }


def test_what_a_folder_has_is_restored(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb", clock=ManualClock(7)) as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    storage = open_storage(backend_named("duckdb"), Location.local(tmp_path), None, MemoryBudget(), read_only=True)
    built = assemble(storage, settings())
    assert built.timeline.time == 7
    assert built.relations.table("t").columns[0].name == "a"
    storage.close()


def test_deliveries_are_woken_by_what_rules_send() -> None:
    built = parts()
    assert not built.signals.outbox_filled.is_set()
    built.rules.wake_deliveries()
    assert built.signals.outbox_filled.is_set()
