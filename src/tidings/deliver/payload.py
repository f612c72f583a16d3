"""What a message says, as JSON: which rule, when, and the rows, with values that every reader of JSON can take.

Numbers that JSON's readers would round, or that it has no word for, are texts: decimals, large integers, NaN.  Times
are ISO 8601; bytes are base64.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from tidings.clock import instant

_EXACT = 2**53
"""Integers up to here are exact as floating numbers, which is what many readers make of them."""


def payload(kind: str, rule: str, at: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """The payload of a message, in the form that Standard Webhooks asks for.

    >>> made = json.loads(payload("rule.began", "low", 0, [{"item": 1, "price": Decimal("2.50")}]))
    >>> made["type"], made["timestamp"]
    ('rule.began', '1970-01-01T00:00:00+00:00')
    >>> made["data"]
    {'rule': 'low', 'rows': [{'item': 1, 'price': '2.50'}]}
    """
    data = {"rule": rule, "rows": [plain(row) for row in rows]}
    return json.dumps({"type": kind, "timestamp": instant(at).isoformat(), "data": data}, ensure_ascii=False)


def plain(value: Any) -> Any:
    """A value as JSON has it.

    >>> plain({"day": date(2026, 1, 2), "seen": [float("nan"), 2**60], "raw": b"x"})
    {'day': '2026-01-02', 'seen': ['NaN', '1152921504606846976'], 'raw': 'eA=='}
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_EXACT <= value <= _EXACT else str(value)
        case float():
            return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        case Decimal():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            return {str(name): plain(inner) for name, inner in value.items()}
        case Sequence():
            return [plain(inner) for inner in value]
        case _:
            return str(value)
