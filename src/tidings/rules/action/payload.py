"""What is sent of a firing: JSON with a type, an instant and the rows."""

from __future__ import annotations

import json
from datetime import date, datetime

import pyarrow as pa

from tidings.clock import instant
from tidings.rules.rule import Rule


def payload(rule: Rule, firing: int, time: int, rows: pa.Table, gone: bool = False) -> str:
    """The payload of one firing; ``gone`` if it tells that instances are gone."""
    when = "gone" if gone else rule.when
    return envelope(rule, time, {"rule": rule.name, "when": when, "firing": firing, "rows": rows.to_pylist()})


def envelope(rule: Rule, time: int, data: dict[str, object]) -> str:
    """The JSON of a message of a rule: its type, an instant and the data."""
    return as_json({"type": f"rule.{rule.name}", "timestamp": instant(time).isoformat(), "data": data})


def as_json(value: object) -> str:
    """A value as JSON; a value that JSON does not have is a string.

    >>> as_json([1.5, float("nan"), float("-inf"), b"\\x01"])
    '[1.5, "NaN", "-Infinity", "01"]'
    """
    return json.dumps(_json_value(value), allow_nan=False)


def _json_value(value: object) -> object:
    match value:
        case float() if value != value:
            return "NaN"
        case float() if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(k): _json_value(v) for k, v in value.items()}
        case list() | tuple():
            return [_json_value(v) for v in value]
        case bytes():
            return value.hex()
        case datetime() | date():
            return value.isoformat()
        case _:
            return str(value)
