"""Events: what stands after ON."""

from __future__ import annotations

import pytest
import sqlglot

from tidings.errors import InvalidSyntax
from tidings.ir.dialect import DIALECT
from tidings.lang.sql.statements.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then, read_event
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
    assert signal.name == "alarm"
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


@pytest.mark.parametrize("text", ["", "TRUNCATE t", "AT TIMESTAMP 'soon'", "(SIGNAL a", "UPDATE OF t ("])
def test_refusals(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        event(text)
