"""The JSON that is sent of a firing."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

from tests.unit.rules.test_agenda import LOW
from tidings import Database
from tidings.rules.action.payload import as_json, payload


def test_a_payload_has_a_type_an_instant_and_the_rows(db: Database) -> None:
    rule = db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO NOTIFY 'x'")
    message = json.loads(payload(rule, 7, 1_500_000, pa.table({"item": [1]})))
    assert message["type"] == "rule.r"
    assert message["timestamp"].startswith("1970-01-01T00:00:01.5")
    assert message["data"] == {"rule": "r", "when": "begins", "firing": 7, "rows": [{"item": 1}]}
    assert json.loads(payload(rule, 7, 0, pa.table({"item": [1]}), gone=True))["data"]["when"] == "gone"


def test_values_that_json_does_not_have() -> None:
    value = {"d": date(2026, 1, 2), "t": datetime(2026, 1, 2, 3), "m": Decimal("1.50"), "x": (None, True, float("nan"))}
    assert json.loads(as_json(value)) == {
        "d": "2026-01-02",
        "t": "2026-01-02T03:00:00",
        "m": "1.50",
        "x": [None, True, "NaN"],
    }
