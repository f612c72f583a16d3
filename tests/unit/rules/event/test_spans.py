"""From when to when composed events happened."""

from __future__ import annotations

from tidings.lang.sql.statements.event import And, AnyOf, Event, Or, SignalEvent, TableEvent, Then
from tidings.rules.event.spans import Moment, Spans, spans

A, B, C = SignalEvent("a"), SignalEvent("b"), TableEvent("insert", "c")


def found(event: Event, **happened: list[Moment]) -> Spans:
    """The spans of an event, from the moments at which signals and changes happened."""

    def moments(part: TableEvent | SignalEvent, by_statement: bool) -> list[Moment]:
        return happened.get(part.event if isinstance(part, SignalEvent) else part.table, [])

    return spans(event, moments)


def test_or_has_the_spans_of_either() -> None:
    assert found(Or((A, B)), a=[(1, 0)], b=[(1, 0), (2, 0)]) == {(1, 0): (1, 0), (2, 0): (2, 0)}


def test_and_in_one_transaction() -> None:
    event = And((A, B), None)
    assert found(event, a=[(1, 0)], b=[(2, 0)]) == {}
    assert found(event, a=[(5, 1)], b=[(5, 3)]) == {(5, 3): (5, 1)}


def test_some_of_several() -> None:
    event = AnyOf(2, (A, B, C))
    assert found(event, a=[(5, 1)], b=[(6, 1)], c=[(5, 3)]) == {(5, 3): (5, 1)}


def test_then_needs_the_order() -> None:
    assert found(Then((A, B), None), a=[(5, 1)], b=[(5, 2)]) == {(5, 2): (5, 1)}
    assert found(Then((A, B), None), a=[(5, 2)], b=[(5, 1)]) == {}
    assert found(Then((A, B), None), a=[(5, 2)], b=[(5, 2)]) == {}
    assert found(Then((A, B, C)), a=[(5, 1), (5, 2)], b=[(5, 3)], c=[(5, 4)]) == {(5, 4): (5, 2)}


def test_compositions_of_compositions() -> None:
    event = Then((Or((A, B)), C))
    assert found(event, a=[(5, 1)], b=[(5, 7)], c=[(5, 5), (5, 9)]) == {(5, 5): (5, 1), (5, 9): (5, 7)}
