"""What people read in a mail."""

from __future__ import annotations

from typing import Any

from tidings.deliver.digest import MOST_ROWS, digest


def told(**data: Any) -> str:
    return digest({"type": "rule.r", "timestamp": "2026-03-01T08:00:00+00:00", "data": {"rule": "r", **data}})


def test_rows_are_blocks() -> None:
    text = told(when="begins", rows=[{"a": 1, "name": "x"}, {"a": None, "name": ""}])
    assert text.splitlines()[0].endswith("2 rows")
    assert "a:    1\nname: x" in text
    assert "a:    NULL\nname: ''" in text


def test_a_value_stays_on_its_line() -> None:
    assert "note: first second" in told(when="begins", rows=[{"note": "first\nsecond"}])


def test_a_group_and_what_is_gone_are_named() -> None:
    text = told(when="begins", group={"city": "Ulm"}, rows=[], gone=[{"a": 1}])
    assert "city = Ulm" in text
    assert "No longer (1):\n\na: 1" in text
    assert "1 row no longer" not in text
    assert "no longer" in told(when="gone", rows=[{"a": 1}]).splitlines()[0]


def test_many_rows_are_cut_and_counted() -> None:
    text = told(when="begins", rows=[{"a": n} for n in range(MOST_ROWS + 3)])
    assert "3 more" in text
    assert text.count("a: ") == MOST_ROWS
