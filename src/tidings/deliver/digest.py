"""A payload as text that people read: what happened, how many rows, and a block of ``column: value`` per row.

A mail has it as its body; the payload itself is attached for programs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MOST_ROWS = 200
"""More rows than these are counted, and left to the attached payload."""


def digest(payload: dict[str, Any]) -> str:
    """The text of a payload.

    >>> data = {"rule": "low", "when": "begins", "rows": [{"item": 7, "note": None}]}
    >>> print(digest({"type": "rule.low", "timestamp": "2026-03-01T08:00:00+00:00", "data": data}), end="")
    low, 2026-03-01T08:00:00+00:00: 1 row
    <BLANKLINE>
    item: 7
    note: NULL
    """
    data = payload["data"]
    parts = [f"{data['rule']}, {payload['timestamp']}: {_told(data)}", *_group(data)]
    parts += _rows(data.get("rows", []))
    if gone := data.get("gone"):
        parts += [f"No longer ({len(gone)}):", *_rows(gone)]
    return "\n\n".join(parts) + "\n"


def _told(data: dict[str, Any]) -> str:
    rows = len(data.get("rows", []))
    count = f"{rows:,} row{'' if rows == 1 else 's'}"
    return f"{count} no longer there" if data.get("when") == "gone" else count


def _group(data: dict[str, Any]) -> Iterator[str]:
    if group := data.get("group"):
        yield ", ".join(f"{column} = {_text(value)}" for column, value in group.items())


def _rows(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows[:MOST_ROWS]:
        width = max(map(len, row), default=0) + 1
        yield "\n".join(f"{column + ':':<{width}} {_text(value)}" for column, value in row.items())
    if len(rows) > MOST_ROWS:
        yield f"… and {len(rows) - MOST_ROWS:,} more: see the attached file."


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return " ".join(value.split()) or "''"
    return json.dumps(value, ensure_ascii=False)
