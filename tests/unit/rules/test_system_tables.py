"""``tidings.rules``, ``tidings.firings`` and ``tidings.silences`` show the catalog as it is now."""

from __future__ import annotations

import json

from tests.unit.rules.test_agenda import LOW, NOW
from tidings import Database, ManualClock
from tidings.rules.system_tables import FIRINGS, RULES, SILENCES, TABLES


def test_rules_with_their_options(db: Database) -> None:
    db.sql(f"CREATE RULE a {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition {NOW}")
    db.sql(f"CREATE RULE b (i INT) {LOW} DO CALL act() WITH (priority = 3, semantics = 'nervous', group = night)")
    db.sql("ACTIVATE RULE b(1); DISABLE RULE a")
    names = "name, enabled, priority, semantics, condition, action, does, groups, activations"
    assert [tuple(r.values()) for r in db.query(f"SELECT {names} FROM tidings.rules ORDER BY name").rows()] == [
        ("a", False, 0, "strict", "deferred", "deferred", "insert orders", None, None),
        ("b", True, 3, "nervous", "deferred", "detached", "call act", "night", 1),
    ]


def test_firings_with_their_rows(db: Database) -> None:
    db.sql(f"CREATE RULE a {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition {NOW}")
    db.sql("UPDATE stock SET qty = 5")
    (firing,) = db.query("SELECT * FROM tidings.firings").rows()
    assert (firing["rule"], firing["action"], firing["state"], firing["instances"]) == ("a", "deferred", "done", 2)
    assert sorted(row["item"] for row in json.loads(firing["rows"])) == [1, 2]
    assert firing["time"] == firing["finished"]


def test_silences_are_active_for_a_while(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE a {LOW} DO NOTIFY 'x'; SILENCE RULE a FOR INTERVAL '1' MINUTE")
    assert db.query("SELECT rule, active FROM tidings.silences").rows() == [{"rule": "a", "active": True}]
    clock.set(62_000_000)
    assert db.query("SELECT rule, active FROM tidings.silences").rows() == [{"rule": "a", "active": False}]


def test_without_rules_they_are_empty(db: Database) -> None:
    for name in (RULES, FIRINGS, SILENCES):
        table = db.query(f"SELECT * FROM {name}").to_arrow()
        assert (table.num_rows, table.column_names) == (0, [c.name for c in TABLES[name]])
