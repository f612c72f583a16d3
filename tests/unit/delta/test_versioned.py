"""Instants and weights as expressions over a plan."""

from __future__ import annotations

from tests.unit.schema import names, plan
from tidings.delta.versioned import Versioned, combined, plain, stacked
from tidings.ir.expression import read, show
from tidings.ir.relation import Column, Item, Join, Project, Scan, Version

A = Column("a", "int")
DELTA = Scan("t", "t", (A,), Version.DELTA)
OLD = Scan("u", "u", (A,), Version.OLD)
ITEMS = (Item("x", "int", read("t.a")),)


def test_projection_hands_instant_and_weight_on() -> None:
    found = Versioned(DELTA, read("t.__t"), read("t.__w")).projected("p", ITEMS)
    assert names(found.plan) == ["x", "__t", "__w"]
    assert found.time is not None
    assert found.weight is not None
    assert (show(found.time), show(found.weight)) == ("p.__t", "p.__w")


def test_projection_adds_constants_only_where_they_are_needed() -> None:
    rows = Versioned(Scan("t", "t", (A,)), None, None)
    assert names(rows.projected("p", ITEMS).plan) == ["x"]
    needed = rows.projected("p", ITEMS, (Column("__t", "bigint"), Column("__w", "bigint"))).plan
    assert isinstance(needed, Project)
    assert [show(i.expression) for i in needed.items] == ["t.a", "0", "1"]


def test_joined_rows_multiply_and_take_the_latest_instant() -> None:
    parts = [Versioned(DELTA, read("t.__t"), read("t.__w")), Versioned(OLD, None, read("u.__w"))]
    found = combined(parts, Join((DELTA, OLD), ()))
    assert found.time is not None
    assert found.weight is not None
    assert (show(found.time), show(found.weight)) == ("t.__t", "t.__w * u.__w")
    both = combined([parts[0], Versioned(OLD, read("u.__w"), None)], Join((DELTA, OLD), ()))
    assert both.time is not None
    assert both.weight is not None
    assert (show(both.time), show(both.weight)) == ("GREATEST(t.__t, u.__w)", "t.__w")


def test_joined_constants_stay_constant() -> None:
    found = combined([Versioned(OLD, None, None), Versioned(DELTA, None, None)], Join((OLD, DELTA), ()))
    assert (found.time, found.weight) == (None, None)


def test_stacked_branches_agree_on_their_columns() -> None:
    branches = [Versioned(DELTA, read("t.__t"), read("t.__w")), Versioned(OLD, None, read("u.__w"))]
    found = stacked(branches, [DELTA.fields[:1], OLD.fields[:1]], "n", (A,))
    assert found.plan == plan("""
        union n [a int, __t bigint, __w bigint]
          project n_1 [a int := t.a, __t bigint := t.__t, __w bigint := t.__w]
            scan delta t t [a int]
          project n_2 [a int := u.a, __t bigint := 0, __w bigint := u.__w]
            scan old u u [a int]
        """)


def test_stacked_constants_have_neither() -> None:
    rows = Versioned(Scan("t", "t", (A,)), None, None)
    assert names(stacked([rows], [rows.plan.fields], "n", (A,)).plan) == ["a"]


def test_a_plain_bag_repeats_rows_by_their_weight() -> None:
    """A row that came and went has the weights +1 and -1, and is not there."""
    current = Scan("u", "u", (A,))
    assert plain(current, Versioned(OLD, None, read("u.__w"))) == plan("""
        project u [a int := u_sum.a]
          repeat [u_sum.__w]
            filter [u_sum.__w > 0]
              aggregate u_sum [a int := u.a] [__w bigint := CAST(SUM(u.__w) AS BIGINT)]
                scan old u u [a int]
        """)
    assert plain(current, Versioned(current, None, None)) is current
