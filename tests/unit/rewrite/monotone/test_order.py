"""What is known about the order of instants."""

from __future__ import annotations

import pytest

from tidings.ir.column import Column
from tidings.ir.expression import read, show
from tidings.ir.standard_form import After, GrowingTable, Instant, TableUse
from tidings.rewrite.monotone.order import Order, latest, not_after

NOTHING = Order({})


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("m.ts", "m.ts", True),
        ("m.ts", "m.ts + INTERVAL 1 DAY", True),
        ("m.ts + INTERVAL 1 DAY", "m.ts", False),
        ("m.ts + INTERVAL 7 DAYS", "INTERVAL 1 WEEK + m.ts", True),
        ("m.ts + INTERVAL 27 DAYS", "m.ts + INTERVAL 1 MONTH", True),
        ("m.ts + INTERVAL 30 DAYS", "m.ts + INTERVAL 1 MONTH", None),
        ("m.ts + INTERVAL 32 DAYS", "m.ts + INTERVAL 1 MONTH", False),
        ("m.ts - INTERVAL 1 YEAR", "m.ts - INTERVAL 12 MONTHS", None),
        ("m.ts + (INTERVAL 1 DAY + INTERVAL 1 HOUR)", "m.ts + INTERVAL 25 HOURS", True),
        ("m.ts", "n.ts", None),
        ("m.ts", "m.due", None),
        ("m.ts + m.wait", "m.ts", None),
        ("CAST(m.d AS TIMESTAMP)", "CAST(DATE_ADD(m.d, 1) AS TIMESTAMP)", True),
    ],
)
def test_order_of_sums(first: str, second: str, verdict: bool | None) -> None:
    assert NOTHING.is_not_after(Instant(read(first)), Instant(read(second))) is verdict


def test_microseconds_count() -> None:
    at = Instant(read("m.ts"))
    assert NOTHING.is_not_after(at.later(), at) is False
    assert NOTHING.is_not_after(at.later(-1), at) is True


def use(alias: str, *facts: After) -> TableUse:
    table = GrowingTable(
        "msgs", (Column("id", "string"), Column("re", "string"), Column("ts", "timestamp")), "ts", ("id",), facts
    )
    return TableUse(table, alias, read(f"{alias}.ts"))


def test_facts_hold_along_chains_of_equal_columns() -> None:
    fact = After("later", ("re",), "MSGS", ("id",))
    uses = [use(alias, fact) for alias in "abc"]
    order = Order.of(uses, [read("a.re = b.id"), read("c.id = b.re"), read("a.id > c.id")])
    a, b, c = (Instant(u.time) for u in uses)
    assert order.is_not_after(c, a) is True
    assert order.is_not_after(b, a) is True
    assert order.is_not_after(a, c) is None
    assert order.is_not_after(a.later(), c) is False
    assert order.is_not_after(Instant(read("a.ts + INTERVAL 1 DAY")), c) is False
    assert order.last_ones((c, b, a)) == (a,)


def test_a_fact_needs_all_its_columns() -> None:
    fact = After("later", ("re", "id"), "msgs", ("id", "re"))
    uses = [use(alias, fact) for alias in "ab"]
    assert Order.of(uses, [read("a.re = b.id")]).successors == {}
    assert Order.of(uses, [read("a.re = b.id"), read("b.re = a.id")]).successors != {}


def test_of_equal_instants_one_is_the_last() -> None:
    at = Instant(read("m.ts"))
    assert NOTHING.last_ones((at, Instant(read("m.due")), at)) == (Instant(read("m.due")), at)


@pytest.mark.parametrize(
    ("first", "second", "condition"),
    [
        (0, 0, "a.x <= b.y"),
        (1, 0, "a.x < b.y"),
        (2, 0, "a.x + INTERVAL '1' MICROSECOND < b.y"),
        (0, 1, "a.x <= b.y + INTERVAL '1' MICROSECOND"),
        (-1, 1, "a.x <= b.y + INTERVAL '2' MICROSECONDS"),
    ],
)
def test_not_after(first: int, second: int, condition: str) -> None:
    assert show(not_after(Instant(read("a.x"), first), Instant(read("b.y"), second))) == condition


def test_the_latest_of_instants_with_different_shifts() -> None:
    assert latest((Instant(read("a.x"), 1), Instant(read("b.y")))) == Instant(
        read("GREATEST(a.x + INTERVAL 1 MICROSECOND, b.y)"), 0
    )
