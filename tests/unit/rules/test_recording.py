"""What is recorded of a firing: its state, and what it sends."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tests.unit.rules.test_agenda import LOW, NOW
from tidings import Database
from tidings.rules.fired import Fired
from tidings.rules.recording import FiringBatch
from tidings.store.rules.outbox import Outbox

ROWS = pa.table({"item": pa.array([1, 2], pa.int32())})


@pytest.mark.parametrize(
    ("action", "ran", "silenced", "state", "messages"),
    [
        (f"INSERT INTO orders SELECT item, 1 FROM condition {NOW}", True, False, "done", 0),
        ("INSERT INTO orders SELECT item, 1 FROM condition", False, False, "waiting", 0),
        ("NOTIFY 'x'", False, False, "sent", 1),
        ("NOTIFY 'x'", False, True, "silenced", 0),
        ("NOTIFY 'x' WITH (group_wait = INTERVAL '1' HOUR)", False, False, "gathered", 0),
    ],
)
def test_states(db: Database, action: str, ran: bool, silenced: bool, state: str, messages: int) -> None:
    db.sql(f"CREATE RULE r {LOW} DO {action}")
    (rule,) = db._parts.registry.rules()
    batch = FiringBatch(db._parts.registry.store)
    batch.add([Fired(rule, ROWS, ran=ran, silenced=silenced)], time=5, depth=2, now=9)
    with db._parts.storage.rule_tables.writing() as connection:
        batch.write(connection)
    (firing,) = db._parts.registry.store.firings()
    assert (firing.id, firing.rule, firing.time, firing.state, firing.depth) == (1, "r", 5, state, 2)
    assert firing.rows.to_pylist() == ROWS.to_pylist()
    assert firing.finished == (None if state in ("waiting", "gathered") else 5)
    entries = Outbox(db._parts.storage.rule_tables).entries()
    assert [(e.message.firing, e.message.created) for e in entries] == [(1, 9)] * messages
    assert [json.loads(e.message.payload)["data"]["rows"] for e in entries] == [ROWS.to_pylist()] * messages
