"""Events: what stands after ON."""

from __future__ import annotations

import re

import pytest
import sqlglot

from tidings.errors import InvalidSyntax
from tidings.ir.dialect import DIALECT
from tidings.lang.sql.statements.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then, read_event, walk
from tidings.lang.sql.statements.token_reader import TokenReader

MINUTE = 60_000_000


def event(text: str) -> Event:
    reader = TokenReader(text, sqlglot.tokenize(text, read=DIALECT))
    parsed = read_event(reader)
    reader.require_end()
    return parsed


def test_events_of_tables() -> None:
    parsed = [event(t) for t in ("INSERT INTO t", "DELETE FROM t", "UPDATE OF t", "UPDATE OF t (a, b)")]
    assert all(isinstance(e, TableEvent) for e in parsed)
    kinds = [(e.kind, e.table, e.columns) for e in parsed if isinstance(e, TableEvent)]
    assert kinds == [("insert", "t", ()), ("delete", "t", ()), ("update", "t", ()), ("update", "t", ("a", "b"))]


def test_signals_and_instants() -> None:
    signal = event("SIGNAL alarm")
    assert isinstance(signal, SignalEvent)
    assert signal.event == "alarm"
    assert event("EVERY INTERVAL 1 MINUTE") == Every(MINUTE)
    assert event("AT TIMESTAMP '1970-01-01 00:01:00'") == At(MINUTE)


def test_then_binds_closer_than_and_and_and_closer_than_or() -> None:
    parsed = event("SIGNAL a OR SIGNAL b AND SIGNAL c THEN SIGNAL d")
    assert isinstance(parsed, Or)
    _, both = parsed.parts
    assert isinstance(both, And)
    assert isinstance(both.parts[1], Then)


def test_parentheses_and_a_limit_of_time() -> None:
    parsed = event("(SIGNAL a OR SIGNAL b) THEN SIGNAL c WITHIN INTERVAL 1 MINUTE")
    assert isinstance(parsed, Then)
    assert isinstance(parsed.parts[0], Or)
    assert parsed.within == MINUTE


def bare(text: str) -> str:
    """An event without the places of its parts, as text."""
    return re.sub(
        r", place=Place\(text='.*?', start=\d+, end=\d+\)|, name=None|, columns=\(\)|, at_end=False|, within=None",
        "",
        repr(event(text)),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ANY 2 OF (SIGNAL a, SIGNAL b)", "AnyOf(count=2, parts=(SignalEvent(event='a'), SignalEvent(event='b')))"),
        ("5 OF SIGNAL a WITHIN INTERVAL 1 MINUTE", f"Times(count=5, part=SignalEvent(event='a'), within={MINUTE})"),
        (
            "NOT SIGNAL b BETWEEN SIGNAL a AND SIGNAL c",
            "Absent(absent=SignalEvent(event='b'), begin=SignalEvent(event='a'), end=SignalEvent(event='c'))",
        ),
        (
            "EACH SIGNAL b BETWEEN SIGNAL a AND SIGNAL c",
            "Between(part=SignalEvent(event='b'), begin=SignalEvent(event='a'), end=SignalEvent(event='c'))",
        ),
        (
            "ALL EVERY INTERVAL 1 MINUTE AS t BETWEEN SIGNAL a AND SIGNAL c",
            f"Ticks(interval={MINUTE}, begin=SignalEvent(event='a'), end=SignalEvent(event='c'), at_end=True,"
            " name='t')",
        ),
        ("SIGNAL a AS x PLUS INTERVAL 1 MINUTE", f"Plus(part=SignalEvent(event='a', name='x'), interval={MINUTE})"),
        ("EVERY '0 9 * * 1-5'", "Cron(text='0 9 * * 1-5')"),
    ],
)
def test_the_rest_of_the_algebra(text: str, expected: str) -> None:
    assert bare(text) == expected


def test_all_parts_of_an_event() -> None:
    parsed = event(
        "NOT SIGNAL b BETWEEN (SIGNAL a OR 2 OF SIGNAL d WITHIN INTERVAL 1 MINUTE) AND SIGNAL c PLUS INTERVAL 1 DAY"
    )
    assert sorted(part.event for part in walk(parsed) if isinstance(part, SignalEvent)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "TRUNCATE t", "AT TIMESTAMP 'soon'", "(SIGNAL a", "UPDATE OF t ("),
        *("ANY 3 OF (SIGNAL a, SIGNAL b)", "ANY 0 OF (SIGNAL a)", "5 OF SIGNAL a", "EVERY 'often'"),
        *(
            "EVERY INTERVAL 0 SECONDS",
            "SIGNAL a PLUS INTERVAL 0 DAYS",
            "NOT SIGNAL a",
            "EACH SIGNAL a BETWEEN SIGNAL b",
        ),
    ],
)
def test_refusals(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        event(text)
