"""When rules are judged does not matter: firings and messages are the same however often ``advance()`` is called.

Random histories go through databases that are advanced after every step, now and then, and once in the end.  The rules
have all that is around a rule: they wait, keep alive, tell ends, gather; some of them are silenced for a while.
"""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pytest

import tidings
from tests.laws.seeds import chunks
from tidings.store.rules.outbox import Outbox

RULES = """
    CREATE TABLE stock (item INT PRIMARY KEY, part INT, qty INT);
    CREATE VIEW low AS SELECT item, part, qty FROM stock WHERE qty < 10;
    CREATE RULE plain WHEN SELECT item, part, qty FROM low DO NOTIFY 'x' WITH (condition = 'detached');
    CREATE RULE waits WHEN SELECT item, part, qty FROM low DO NOTIFY 'x' WITH (for = INTERVAL 3 MINUTES, key = item);
    CREATE RULE stays WHEN SELECT item, part, qty FROM low DO NOTIFY 'x'
      WITH (keep_alive = INTERVAL 3 MINUTES, key = item, resolved);
    CREATE RULE both WHEN SELECT item, part FROM low DO NOTIFY 'x'
      WITH (for = INTERVAL 2 MINUTES, keep_alive = INTERVAL 2 MINUTES, resolved, group_by = part,
            group_wait = INTERVAL 1 MINUTE, group_interval = INTERVAL 4 MINUTES);
    CREATE RULE ends WHEN GONE SELECT part FROM low DO NOTIFY 'x' WITH (keep_alive = INTERVAL 2 MINUTES);
    CREATE RULE gathers WHEN SELECT item, part FROM low DO NOTIFY 'x'
      WITH (group_by = part, group_wait = INTERVAL 2 MINUTES, group_interval = INTERVAL 5 MINUTES)
"""


def lived(seed: int, often: float) -> dict[str, list[Any]]:
    """What rules tell of one history, if they are judged after a share of its steps and at the end."""
    history, when = random.Random(seed), random.Random(seed + 1)
    clock = tidings.ManualClock(1_000_000)
    with tidings.open(engine="duckdb", clock=clock, retention=None) as db:
        db.sql(RULES)
        with db.transaction() as tx:
            tx.insert("stock", [(item, item % 2, history.choice((5, 100))) for item in range(6)])
        for step in range(40):
            clock.advance(timedelta(seconds=history.randrange(10, 120)))
            if step in (10, 20):
                rule = history.choice(("waits", "stays", "both", "gathers"))
                db.sql(f"SILENCE RULE {rule} WHERE item < 3 FOR INTERVAL 10 MINUTES")
            elif step == 30:
                db.sql("UNSILENCE 1")
            else:
                with db.transaction() as tx:
                    for item in history.sample(range(6), history.randrange(1, 4)):
                        tx.update("stock", [{"item": item, "qty": history.choice((4, 5, 100))}])
            if when.random() < often:
                db.advance()
        clock.advance(timedelta(hours=1))
        db.advance()
        firings = [(f.rule, f.time, f.state, _sorted(f.rows.to_pylist())) for f in db._parts.registry.store.firings()]
        messages = [json.loads(e.message.payload) for e in Outbox(db._parts.storage.rule_tables).entries()]
    for message in messages:
        message["data"].pop("firings", None)
        message["data"].pop("firing", None)
        message["data"] |= {
            name: _sorted(message["data"][name]) for name in ("rows", "gone") if name in message["data"]
        }
    return {"firings": sorted(firings, key=repr), "messages": sorted(messages, key=repr)}


def _sorted(rows: list[Any]) -> list[Any]:
    """The rows of a firing have no order."""
    return sorted(rows, key=repr)


@pytest.mark.parametrize("seeds", chunks(20, quick=5, size=5))
def test_when_rules_are_judged_does_not_matter(seeds: range) -> None:
    fired = set()
    for seed in seeds:
        always, sometimes, once = (lived(seed, often) for often in (1.0, 0.3, 0.0))
        assert always == sometimes, seed
        assert always == once, seed
        fired |= {rule for rule, *_ in always["firings"]}
    assert fired == {"plain", "waits", "stays", "both", "ends", "gathers"}
