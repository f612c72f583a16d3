"""The delta of a kept grouping: what it reads, and its changes at every instant, run on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest

import tidings
from tests.unit.schema import plan
from tidings.delta import merge
from tidings.delta.cost import differential_shape
from tidings.delta.restrict import restrictions
from tidings.ir.relation import Aggregate, Relation, Scan, Version
from tidings.ir.traverse import walk
from tidings.rewrite.accumulate import accumulate
from tidings.waves.strategy import Strategy
from tidings.waves.wave import WaveRequest

Rows = Sequence[tuple[Any, ...]]


def grouping(key: str = "[k int := t.k]") -> Aggregate:
    node = plan(f"""
        aggregate g {key} [n bigint := COUNT(*), s bigint := SUM(t.x), m int := MAX(t.x)]
          scan t t [k int, x int]
        """)
    assert isinstance(node, Aggregate)
    found = accumulate(node)
    assert found is not None
    return found[0]


def scans(node: Relation) -> set[tuple[str, Version]]:
    return {(n.relation, n.version) for n in walk(node) if isinstance(n, Scan)}


def test_no_state_of_the_input_is_read() -> None:
    assert scans(merge.delta("kept", grouping())) == {("t", Version.DELTA), ("kept", Version.OLD)}


def test_kept_rows_are_those_of_the_touched_keys() -> None:
    (found,) = restrictions(merge.delta("kept", grouping()))
    assert found.null_safe
    assert scans(found.keys) == {("t", Version.DELTA)}


def test_a_key_of_two_columns_restricts_by_both() -> None:
    assert len(restrictions(merge.delta("kept", grouping("[k int := t.k, x int := t.x]")))) == 2


def test_without_keys_the_one_row_is_read() -> None:
    assert restrictions(merge.delta("kept", grouping("[]"))) == []


def test_what_is_no_accumulator_is_refused() -> None:
    node = plan("""
        aggregate g [k int := t.k] [s bigint := SUM(t.x)]
          scan t t [k int, x int]
        """)
    assert isinstance(node, Aggregate)
    with pytest.raises(ValueError, match="not an accumulator"):
        merge.delta("kept", node)


class Kept:
    """A table and a stored view over it; every wave must be a merge."""

    def __init__(self, columns: str, query: str) -> None:
        self.db = tidings.open(engine="duckdb", clock=tidings.ManualClock(0), strategy="differential")
        self.db.sql(f"CREATE TABLE t ({columns}); CREATE MATERIALIZED VIEW kept AS {query}")
        self.query = query

    def change(self, added: Rows = (), removed: Rows = ()) -> int:
        with self.db.transaction() as tx:
            tx.delete("t", removed)
            tx.insert("t", added)
        return self.db.time

    def changes(self, since: int = 0) -> list[tuple[tuple[Any, ...], int, int]]:
        """The changes of one wave, which are also those of the query alone."""
        (view,) = self.db._parts.relations.stored()
        wave = self.db._parts.scheduler.plan(
            WaveRequest("kept", view.over, view.until, self.db.time, groupings=view.groupings)
        )
        assert wave.choice.strategy is Strategy.MERGE
        assert not [r for r in differential_shape(wave.program).readings if r.relation == "t"]
        found = self._told("kept", since)
        assert found == self._told(self.query, since)
        assert view.since == 0, "it had to begin anew"
        return found

    def _told(self, text: str, since: int) -> list[tuple[tuple[Any, ...], int, int]]:
        delta = self.db.changes(text, since, per_commit=True)
        told = [(tuple(c.row.values()), c.time, c.weight) for c in delta.rows()]
        return sorted(told, key=lambda c: (c[1], c[2], str(c[0])))


@pytest.fixture
def sums() -> Iterator[Kept]:
    kept = Kept("k INT, x INT", "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k")
    yield kept
    kept.db.close()


def test_every_instant_of_a_batch_is_told(sums: Kept) -> None:
    first = sums.change([(1, 5)])
    second = sums.change([(1, 7), (2, 1)])
    assert sums.changes() == [
        ((1, 1, 5), first, 1),
        ((1, 1, 5), second, -1),
        ((1, 2, 12), second, 1),
        ((2, 1, 1), second, 1),
    ]


def test_null_is_a_key(sums: Kept) -> None:
    sums.change([(None, 1)])
    sums.changes()
    since = sums.db.time
    at = sums.change([(None, 2), (1, 1)])
    assert sums.changes(since) == [((None, 1, 1), at, -1), ((1, 1, 1), at, 1), ((None, 2, 3), at, 1)]


def test_a_group_goes_and_comes_back_in_one_batch(sums: Kept) -> None:
    sums.change([(1, 5)])
    sums.changes()
    since = sums.db.time
    gone = sums.change(removed=[(1, 5)])
    back = sums.change([(1, 6)])
    assert sums.changes(since) == [((1, 1, 5), gone, -1), ((1, 1, 6), back, 1)]


def test_a_group_that_comes_and_goes_in_one_batch(sums: Kept) -> None:
    come = sums.change([(1, 5)])
    gone = sums.change(removed=[(1, 5)])
    assert sums.changes() == [((1, 1, 5), come, 1), ((1, 1, 5), gone, -1)]


def test_what_cancels_is_no_change(sums: Kept) -> None:
    sums.change([(1, 5), (1, 1)])
    sums.changes()
    since = sums.db.time
    sums.change([(1, 4), (1, 2)], [(1, 5), (1, 1)])
    assert sums.changes(since) == []


def test_rows_may_come_and_go_many_times_at_once(sums: Kept) -> None:
    come = sums.change([(1, 5)] * 300)
    gone = sums.change(removed=[(1, 5)] * 298)
    assert sums.changes() == [((1, 300, 1500), come, 1), ((1, 300, 1500), gone, -1), ((1, 2, 10), gone, 1)]


def test_a_sum_of_nulls_is_null_and_its_group_stays(sums: Kept) -> None:
    sums.change([(1, 5), (1, None)])
    sums.changes()
    since = sums.db.time
    at = sums.change(removed=[(1, 5)])
    assert sums.changes(since) == [((1, 2, 5), at, -1), ((1, 1, None), at, 1)]


def test_without_keys_there_is_always_a_row() -> None:
    kept = Kept("k INT, x INT", "SELECT count(*) AS n, sum(x) AS s, max(x) AS m FROM t")
    at = kept.change([(1, 5)])
    assert kept.changes() == [((0, None, None), at, -1), ((1, 5, 5), at, 1)]


def test_a_total_goes_back_to_nothing() -> None:
    kept = Kept("k INT, x INT", "SELECT count(*) AS n, sum(x) AS s FROM t")
    kept.change([(1, 5)])
    kept.changes()
    since = kept.db.time
    at = kept.change(removed=[(1, 5)])
    assert kept.changes(since) == [((1, 5), at, -1), ((0, None), at, 1)]


def test_the_least_smallint_has_no_negative_of_its_type() -> None:
    kept = Kept(
        "k INT, x SMALLINT, y TINYINT, z BIGINT", "SELECT k, sum(x) AS x, sum(y) AS y, sum(z) AS z FROM t GROUP BY k"
    )
    least = (1, -(2**15), -(2**7), -(2**62))
    kept.change([least, least])
    kept.changes()
    since = kept.db.time
    at = kept.change([(1, 1, 1, 1)], [least])
    before, after = tuple(2 * v for v in least[1:]), tuple(v + 1 for v in least[1:])
    assert kept.changes(since) == [((1, *before), at, -1), ((1, *after), at, 1)]


def test_decimals_at_their_limits() -> None:
    kept = Kept("k INT, d DECIMAL(10, 2), w DECIMAL(28, 2)", "SELECT k, sum(d) AS d, sum(w) AS w FROM t GROUP BY k")
    most = (1, Decimal("99999999.99"), Decimal("3" * 26 + ".33"))
    least = (1, -most[1], -most[2])
    kept.change([least] * 3)
    kept.changes()
    since = kept.db.time
    at = kept.change([most] * 3, [least] * 3)
    assert kept.changes(since) == [((1, 3 * least[1], 3 * least[2]), at, -1), ((1, 3 * most[1], 3 * most[2]), at, 1)]


def test_an_average_at_every_instant() -> None:
    kept = Kept("k INT, x INT", "SELECT k, avg(x) AS m FROM t GROUP BY k")
    first = kept.change([(1, 1), (1, 2)])
    second = kept.change([(1, None), (1, 6)])
    assert kept.changes() == [((1, 1.5), first, 1), ((1, 1.5), second, -1), ((1, 3.0), second, 1)]


def test_extremes_while_rows_come() -> None:
    kept = Kept("k INT, s STRING", "SELECT k, min(s) AS a, max(s) AS z FROM t GROUP BY k")
    first = kept.change([(1, "b"), (1, None)])
    second = kept.change([(1, "c")])
    third = kept.change([(1, "a"), (2, None)])
    assert kept.changes() == [
        ((1, "b", "b"), first, 1),
        ((1, "b", "b"), second, -1),
        ((1, "b", "c"), second, 1),
        ((1, "b", "c"), third, -1),
        ((1, "a", "c"), third, 1),
        ((2, None, None), third, 1),
    ]


def test_a_filter_that_holds_for_no_row() -> None:
    kept = Kept("k INT, x INT", "SELECT k, sum(x) FILTER (WHERE x > 5) AS s FROM t GROUP BY k")
    first = kept.change([(1, 5)])
    second = kept.change([(1, 6)])
    assert kept.changes() == [((1, None), first, 1), ((1, None), second, -1), ((1, 6), second, 1)]


@pytest.mark.parametrize("alias", ["kept", "merged", "running", "added", "sign", "kept_before", "groups"])
def test_aliases_of_its_own_do_not_meet_those_of_the_query(alias: str) -> None:
    kept = Kept(
        "rows INT, kept INT", f"SELECT {alias}.rows, sum({alias}.kept) AS count1 FROM t {alias} GROUP BY {alias}.rows"
    )
    first = kept.change([(1, 2)])
    assert kept.changes() == [((1, 2), first, 1)]
    second = kept.change([(1, 2)])
    assert kept.changes(first) == [((1, 2), second, -1), ((1, 4), second, 1)]


def test_a_key_that_is_computed() -> None:
    kept = Kept("k INT, x INT", "SELECT k % 2 AS odd, count(*) AS n FROM t GROUP BY k % 2")
    first = kept.change([(1, 1), (3, 1), (2, 1)])
    assert kept.changes() == [((0, 1), first, 1), ((1, 2), first, 1)]
    second = kept.change(removed=[(3, 1)])
    assert kept.changes(first) == [((1, 2), second, -1), ((1, 1), second, 1)]
