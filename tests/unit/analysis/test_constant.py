"""Constants that are values of a type as they stand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tidings.analysis.constant import NO_VALUE, constant
from tidings.lang.sql.parse import parsed


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("1", "int", 1),
        ("(-1)", "bigint", -1),
        ("'x'", "string", "x"),
        ("NULL", "date", None),
        ("TRUE", "boolean", True),
        ("1", "decimal(4,2)", Decimal(1)),
        ("-1.25", "decimal(4,2)", Decimal("-1.25")),
        ("DATE '2026-01-02'", "date", date(2026, 1, 2)),
        ("TIMESTAMP '2026-01-02 03:04:05'", "timestamp", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("TIMESTAMP_NTZ '2026-01-02 03:04:05'", "timestamp_ntz", datetime(2026, 1, 2, 3, 4, 5)),
        ("1.255", "decimal(4,2)", NO_VALUE),
        ("100", "decimal(4,2)", NO_VALUE),
        ("1.0", "int", NO_VALUE),
        ("1", "string", NO_VALUE),
        ("1", "double", NO_VALUE),
        ("'1'", "int", NO_VALUE),
        ("1 + 1", "int", NO_VALUE),
        ("i", "int", NO_VALUE),
        ("'2026-01-02'", "date", NO_VALUE),
        ("DATE '2026-01-02'", "timestamp", NO_VALUE),
    ],
)
def test_constants(text: str, type: str, value: Any) -> None:
    assert constant(parsed(text), type) == value
