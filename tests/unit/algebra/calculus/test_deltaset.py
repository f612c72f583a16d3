"""Delta-sets: what holds for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.algebra.calculus import (
    DeltaSet,
    PhysicalEvent,
    Row,
    Sign,
    accumulate,
    apply,
    delta_union,
    logical_rollback,
    net,
)

ROWS = st.frozensets(st.tuples(st.integers(0, 4)))
T: frozenset[Row] = frozenset({("t",)})


def test_the_parts_are_disjoint() -> None:
    with pytest.raises(ValueError, match="gained and as lost"):
        DeltaSet(plus=T, minus=T)


@given(ROWS, ROWS)
def test_rollback_undoes_what_apply_did(old: frozenset[Row], new: frozenset[Row]) -> None:
    change = DeltaSet.between(old, new)
    assert apply(old, change) == new
    assert logical_rollback(new, change) == old
    assert apply(new, ~change) == old
    assert bool(change) == (old != new)


@given(ROWS, ROWS, ROWS)
def test_delta_union_of_successive_changes_is_their_net_change(
    first: frozenset[Row], second: frozenset[Row], third: frozenset[Row]
) -> None:
    joined = delta_union(DeltaSet.between(first, second), DeltaSet.between(second, third))
    assert joined == DeltaSet.between(first, third)


def test_delta_union_is_not_associative() -> None:
    gain, loss = DeltaSet(plus=T), DeltaSet(minus=T)
    assert delta_union(delta_union(gain, loss), gain) == gain
    assert delta_union(gain, delta_union(loss, gain)) == gain
    assert delta_union(delta_union(gain, gain), loss) == DeltaSet()
    assert delta_union(gain, loss, gain) == DeltaSet()


def test_a_delta_set_that_claims_too_much_spoils_the_rollback() -> None:
    assert logical_rollback(T, DeltaSet(plus=T)) == set()
    assert logical_rollback(T, net(plus=T, minus=(), old=T, new=T)) == T


@given(ROWS, st.lists(st.tuples(st.integers(0, 4))))
def test_accumulated_events_are_the_net_change(start: frozenset[Row], touched: list[Row]) -> None:
    """Each event puts a tuple in or takes it out, whichever is possible."""
    state, log = set(start), []
    for row in touched:
        log.append(PhysicalEvent(Sign.MINUS if row in state else Sign.PLUS, "r", row))
        state ^= {row}
    for place, found in enumerate(accumulate(log, "r"), 1):
        so_far = apply(start, found)
        assert logical_rollback(so_far, found) == start
        assert place < len(log) or so_far == state


@given(ROWS, ROWS, ROWS, ROWS)
def test_net_is_exact_for_claims_that_are_large_enough(
    old: frozenset[Row], new: frozenset[Row], extra: frozenset[Row], more: frozenset[Row]
) -> None:
    exact = DeltaSet.between(old, new)
    assert net(exact.plus | extra, exact.minus | more, old=old, new=new) == exact
