"""From when to when composed events happened."""

from __future__ import annotations

import pytest

from tidings.lang.sql.statements.event import And, Event, Every, Or, SignalEvent, TableEvent, Then
from tidings.rules.event.spans import Moment, SimpleEvent, Spans, reach, spans

A, B, C = SignalEvent("a"), SignalEvent("b"), TableEvent("insert", "c")


def found(event: Event, **happened: list[Moment]) -> Spans:
    """The spans of an event, from the moments at which signals and changes happened."""

    def moments(part: SimpleEvent, by_statement: bool) -> list[Moment]:
        if isinstance(part, SignalEvent):
            return happened.get(part.name, [])
        return happened.get(part.table, []) if isinstance(part, TableEvent) else []

    return spans(event, moments)


def test_or_has_the_spans_of_either() -> None:
    assert found(Or((A, B)), a=[(1, 0)], b=[(1, 0), (2, 0)]) == {(1, 0): (1, 0), (2, 0): (2, 0)}


def test_and_in_one_transaction() -> None:
    event = And((A, B), None)
    assert found(event, a=[(1, 0)], b=[(2, 0)]) == {}
    assert found(event, a=[(5, 1)], b=[(5, 3)]) == {(5, 3): (5, 1)}


def test_and_within_an_interval() -> None:
    event = And((A, B), 10)
    assert found(event, a=[(1, 0), (9, 0)], b=[(5, 0)]) == {(5, 0): (1, 0), (9, 0): (5, 0)}
    assert found(event, a=[(1, 0)], b=[(12, 0)]) == {}


def test_then_needs_the_order() -> None:
    assert found(Then((A, B), None), a=[(5, 1)], b=[(5, 2)]) == {(5, 2): (5, 1)}
    assert found(Then((A, B), None), a=[(5, 2)], b=[(5, 1)]) == {}
    assert found(Then((A, B), None), a=[(5, 2)], b=[(5, 2)]) == {}
    assert found(Then((A, B, C), 10), a=[(1, 0), (2, 0)], b=[(3, 0)], c=[(4, 0), (20, 0)]) == {(4, 0): (2, 0)}


def test_compositions_of_compositions() -> None:
    event = Then((Or((A, B)), C), 100)
    assert found(event, a=[(1, 0)], b=[(7, 0)], c=[(5, 0), (9, 0)]) == {(5, 0): (1, 0), (9, 0): (7, 0)}


@pytest.mark.parametrize(
    ("event", "microseconds"),
    [(A, 0), (Every(5), 0), (And((A, B), None), 0), (Then((A, And((B, C), 30)), 20), 30), (Or((A, And((B, C), 7))), 7)],
)
def test_how_far_back_parts_may_lie(event: Event, microseconds: int) -> None:
    assert reach(event) == microseconds
