"""The life of an instance: for how long it holds before it counts, and how long it may be away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidings
from tests.unit.rules.test_agenda import LOW, rows
from tidings import Database, ManualClock
from tidings.errors import InvalidRule, InvalidSyntax
from tidings.rules.instance.lifecycle import InstanceChange, LifecycleIntervals, run_lifecycles
from tidings.store.rules.instances import Instance
from tidings.store.rules.outbox import Outbox

ROW = pa.table({"x": [1]})
MINUTE = 60_000_000


def low(db: Database, item: int, qty: int = 5) -> None:
    db.sql(f"UPDATE stock SET qty = {qty} WHERE item = {item}")


def pass_minutes(db: Database, clock: ManualClock, minutes: float) -> None:
    clock.advance(timedelta(minutes=minutes))
    db.advance()


def payloads(db: Database) -> list[dict[str, Any]]:
    return [json.loads(e.message.payload)["data"] for e in Outbox(db._parts.storage.rule_tables).entries()]


def notices(db: Database) -> list[tuple[str, list[int]]]:
    """What was sent, in order: whether instances begin or are gone, and the items."""
    return [(data["when"], [row["item"] for row in data["rows"]]) for data in payloads(db)]


# the machine alone


def outcome(
    changes: Sequence[tuple[int, int]], intervals: LifecycleIntervals, until: int, *cuts: int
) -> tuple[list[tuple[int, bool]], dict[str, Instance]]:
    """When an instance is told to begin and to be gone, judged in one batch or several; what is left of it."""
    known: dict[str, Instance] = {}
    told, since = [], -1
    for end in (*sorted(cuts), until):
        some = [InstanceChange("k", at, count, ROW) for at, count in changes if since < at <= end]
        news, became = run_lifecycles(list(known.values()), some, end, intervals, lambda _: True, lambda _: True)
        told += [(t.at, t.gone) for t in news]
        known = {k: one for k, one in (known | dict(became)).items() if one is not None}
        since = end
    return told, known


def test_an_instance_begins_after_a_while_and_is_gone_after_another() -> None:
    told, left = outcome([(10, 1), (30, -1)], LifecycleIntervals(hold=5, keep_alive=7), 100)
    assert (told, left) == ([(15, False), (37, True)], {})


def test_what_happens_when_it_is_due_counts_first() -> None:
    assert outcome([(10, 1), (15, -1)], LifecycleIntervals(hold=5), 100)[0] == []
    assert outcome([(10, 1), (20, -1), (27, 1)], LifecycleIntervals(keep_alive=7), 100)[0] == [(10, False)]
    assert outcome([(10, 1), (20, -1), (28, 1)], LifecycleIntervals(keep_alive=7), 100)[0] == [
        (10, False),
        (27, True),
        (28, False),
    ]


def test_it_holds_while_one_row_of_it_is_there() -> None:
    assert outcome([(10, 2), (20, -1), (30, -1)], LifecycleIntervals(), 100)[0] == [(10, False), (30, True)]


@given(
    st.lists(st.integers(0, 60), unique=True, max_size=12).map(sorted),
    st.integers(0, 9),
    st.integers(0, 9),
    st.lists(st.integers(0, 80), max_size=6, unique=True),
)
def test_when_it_is_judged_does_not_matter(times: list[int], hold: int, keep: int, cuts: list[int]) -> None:
    changes = [(at, 1 if n % 2 == 0 else -1) for n, at in enumerate(times)]
    span = LifecycleIntervals(hold, keep)
    whole = outcome(changes, span, 80)
    assert outcome(changes, span, 80, *cuts) == whole
    told = whole[0]
    assert [gone for _, gone in told] == [bool(n % 2) for n in range(len(told))]
    intervals = [(a, b) for a, b in zip(times[::2], [*times[1::2], 10**9], strict=False)]
    assert len([1 for _, gone in told if not gone]) == _expected(intervals, hold, keep)


def _expected(intervals: list[tuple[int, int]], hold: int, keep: int) -> int:
    """How often it begins, from the intervals in which it holds: long enough, and not soon after one that counted."""
    begun, gone_at = 0, -1
    for start, end in intervals:
        if begun and start <= gone_at:
            gone_at = end + keep
        elif end > start + hold:
            begun, gone_at = begun + 1, end + keep
    return begun


# in a database


def test_flapping_is_one_instance(db: Database, clock: ManualClock) -> None:
    db.sql(f"""
        CREATE RULE flaps {LOW} DO INSERT INTO log SELECT 'low', item FROM condition
          WITH (keep_alive = INTERVAL 5 MINUTES);
        CREATE RULE over WHEN GONE SELECT item FROM low DO INSERT INTO log SELECT 'over', item FROM condition
          WITH (keep_alive = INTERVAL 5 MINUTES)
    """)
    low(db, 1)
    db.advance()
    assert rows(db, "log") == [("low", 1)]
    for qty in (100, 5, 100, 5, 100):
        low(db, 1, qty)
        pass_minutes(db, clock, 2)
    assert rows(db, "log") == [("low", 1)]
    pass_minutes(db, clock, 3.1)
    assert rows(db, "log") == [("low", 1), ("over", 1)]
    low(db, 1)
    db.advance()
    assert rows(db, "log") == [("low", 1), ("low", 1), ("over", 1)]


def test_gone_is_told_when_the_interval_has_passed_and_not_before(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (keep_alive = INTERVAL 5 MINUTES, resolved)")
    low(db, 1)
    db.advance()
    began = db.time
    clock.advance(timedelta(minutes=10))
    low(db, 1, 100)
    ended = db.time
    pass_minutes(db, clock, 4.9)
    assert notices(db) == [("begins", [1])]
    pass_minutes(db, clock, 0.2)
    assert notices(db) == [("begins", [1]), ("gone", [1])]
    (row,) = payloads(db)[1]["rows"]
    assert row["seconds"] == (ended - began) / 1_000_000
    last = db._parts.registry.store.firings()[-1]
    assert (last.time, last.state) == (ended + 5 * MINUTE, "sent")


def test_a_pending_instance_is_not_kept_alive(db: Database, clock: ManualClock) -> None:
    options = "for = INTERVAL 5 MINUTES, keep_alive = INTERVAL 5 MINUTES, resolved"
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH ({options})")
    low(db, 1)
    pass_minutes(db, clock, 3)
    low(db, 1, 100)
    pass_minutes(db, clock, 1)
    low(db, 1)
    pass_minutes(db, clock, 4)
    assert notices(db) == []
    pass_minutes(db, clock, 1.1)
    assert notices(db) == [("begins", [1])]
    low(db, 1, 100)
    pass_minutes(db, clock, 4)
    low(db, 1)
    pass_minutes(db, clock, 60)
    assert notices(db) == [("begins", [1])]


def test_what_is_gone_says_since_when_it_was_there(db: Database, clock: ManualClock) -> None:
    """Also to SQL; of what was there before the rule nobody knows since when."""
    low(db, 2)
    db.sql("""
        CREATE TABLE outages (item INT, seconds DOUBLE);
        CREATE RULE over WHEN GONE SELECT item FROM low DO INSERT INTO outages SELECT item, seconds FROM condition
          WITH (keep_alive = INTERVAL 1 MINUTE)
    """)
    low(db, 1)
    db.advance()
    clock.advance(timedelta(minutes=2))
    db.sql("UPDATE stock SET qty = 100")
    pass_minutes(db, clock, 2)
    found = {r["item"]: r["seconds"] for r in db.query("outages").rows()}
    assert found.keys() == {1, 2}
    assert found[1] == pytest.approx(120, abs=0.001)
    assert found[2] is None


def test_instances_survive(tmp_path: Path) -> None:
    clock = ManualClock(1_000_000)

    def opened() -> Database:
        return tidings.open(tmp_path / "d", engine="duckdb", clock=clock)

    with opened() as db:
        db.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
            CREATE VIEW low AS SELECT item FROM stock WHERE qty < 10;
            INSERT INTO stock VALUES (1, 100), (2, 100), (3, 1);
            CREATE RULE tell WHEN SELECT item FROM low DO NOTIFY 'x'
              WITH (for = INTERVAL 5 MINUTES, keep_alive = INTERVAL 5 MINUTES, resolved)
        """)
        low(db, 1)
        pass_minutes(db, clock, 3)
    with opened() as db:
        low(db, 2)
        pass_minutes(db, clock, 2.1)
        assert notices(db) == [("begins", [1])]
        low(db, 1, 100)
        low(db, 2, 100)
        db.advance()
    with opened() as db:
        low(db, 3, 100)
        pass_minutes(db, clock, 4)
        assert notices(db) == [("begins", [1])]
    with opened() as db:
        pass_minutes(db, clock, 1.1)
        pass_minutes(db, clock, 60)
        assert notices(db) == [("begins", [1]), ("gone", [1])]


def test_a_rule_that_is_enabled_again_tells_what_is_gone(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (resolved)")
    low(db, 1)
    low(db, 2)
    db.advance()
    db.sql("DISABLE RULE tell")
    low(db, 1, 100)
    pass_minutes(db, clock, 1)
    assert len(notices(db)) == 2
    db.sql("ENABLE RULE tell")
    pass_minutes(db, clock, 1)
    assert notices(db)[2:] == [("gone", [1])]
    low(db, 2, 100)
    low(db, 1)
    db.advance()
    assert notices(db)[3:] == [("gone", [2]), ("begins", [1])]


def test_initial_takes_what_holds_once_it_has_held(db: Database, clock: ManualClock) -> None:
    low(db, 1)
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (for = INTERVAL 5 MINUTES, initial)")
    pass_minutes(db, clock, 4)
    assert notices(db) == []
    pass_minutes(db, clock, 1.1)
    assert notices(db) == [("begins", [1])]


def test_by_key_other_values_are_the_same_instance(db: Database, clock: ManualClock) -> None:
    query = "WHEN SELECT item, qty FROM low"
    db.sql(f"CREATE RULE tell {query} DO NOTIFY 'x' WITH (for = INTERVAL 5 MINUTES, key = item)")
    low(db, 1, 5)
    pass_minutes(db, clock, 3)
    low(db, 1, 4)
    pass_minutes(db, clock, 3)
    assert [data["rows"] for data in payloads(db)] == [[{"item": 1, "qty": 4}]]


def test_activations_that_come_and_go_are_not_told(db: Database, clock: ManualClock) -> None:
    db.sql("""
        CREATE RULE watch (i INT) WHEN SELECT item FROM low WHERE item = i DO NOTIFY 'x' WITH (resolved);
        ACTIVATE RULE watch(1)
    """)
    low(db, 1)
    low(db, 2)
    db.advance()
    assert notices(db) == [("begins", [1])]
    db.sql("ACTIVATE RULE watch(2); DEACTIVATE RULE watch(1)")
    pass_minutes(db, clock, 1)
    assert notices(db) == [("begins", [1])]


def test_a_backtest_lives_through_the_past(db: Database, clock: ManualClock) -> None:
    since = db.time
    for qty in (5, 100, 5, 100, 5):
        low(db, 1, qty)
        clock.advance(timedelta(minutes=4))
    low(db, 1, 100)
    clock.advance(timedelta(minutes=4))
    text = f"CREATE RULE proposed {LOW} DO NOTIFY 'x' WITH"
    assert len(db.backtest(f"{text} (keep_alive = INTERVAL 5 MINUTES)", since)) == 1
    assert len(db.backtest(f"{text} (keep_alive = INTERVAL 3 MINUTES)", since)) == 3
    assert len(db.backtest(f"{text} (for = INTERVAL 5 MINUTES)", since)) == 0


@pytest.mark.parametrize(
    "rule",
    [
        f"{LOW} DO CALL f(item) WITH (resolved)",
        "WHEN GONE SELECT item FROM low DO NOTIFY 'x' WITH (resolved)",
        "WHEN CHANGED SELECT item FROM low DO NOTIFY 'x' WITH (keep_alive = INTERVAL 5 MINUTES)",
        f"ON EVERY INTERVAL 1 DAY {LOW} DO NOTIFY 'x' WITH (for = INTERVAL 5 MINUTES)",
        "WHEN SELECT item, 1 AS ended FROM low DO NOTIFY 'x' WITH (resolved)",
    ],
)
def test_lives_that_cannot_be(db: Database, rule: str) -> None:
    with pytest.raises(InvalidRule):
        db.sql(f"CREATE RULE a {rule}")


@pytest.mark.parametrize("options", ["keep_alive = 5", "for = 'long'", "keep_alife = INTERVAL 5 MINUTES"])
def test_options_that_are_none(db: Database, options: str) -> None:
    with pytest.raises(InvalidSyntax):
        db.sql(f"CREATE RULE a {LOW} DO NOTIFY 'x' WITH ({options})")


def test_instances_of_a_view_that_was_replaced_are_forgotten(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE RULE tell WHEN SELECT * FROM low DO NOTIFY 'x' WITH (keep_alive = INTERVAL 5 MINUTES, resolved)")
    low(db, 1)
    db.advance()
    low(db, 1, 100)
    db.advance()
    db.sql("CREATE OR REPLACE VIEW low AS SELECT item, qty, 'low' AS how FROM stock WHERE qty < 10")
    low(db, 2)
    pass_minutes(db, clock, 60)
    assert notices(db) == [("begins", [1]), ("begins", [2])]
    assert db.query("SELECT error FROM tidings.rules").rows() == [{"error": None}]


def test_what_began_before_the_rule_is_effective_is_not_told(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (effective = '1970-01-01 01:00:00', resolved)")
    low(db, 1)
    pass_minutes(db, clock, 30)
    low(db, 1, 100)
    db.advance()
    low(db, 1)
    pass_minutes(db, clock, 40)
    low(db, 1, 100)
    low(db, 2)
    db.advance()
    low(db, 2, 100)
    db.advance()
    assert notices(db) == [("begins", [2]), ("gone", [2])]
