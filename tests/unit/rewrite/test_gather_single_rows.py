"""``A ⋈ γ(B) ⋈ γ(C) ⋈ γ(D)`` with the totals in one relation."""

from __future__ import annotations

import pytest

import tidings
from tests.unit.schema import bound
from tidings.ir.relation import Aggregate, Join
from tidings.ir.traverse import walk
from tidings.rewrite.gather_single_rows import gather_single_rows
from tidings.rewrite.merge_blocks import merge_blocks

THREE = "SELECT t.a, x.n, y.s, z.m FROM t, {}, (SELECT sum(a) AS s FROM u) y, (SELECT max(c) AS m FROM u) z"


def joins(query: str) -> list[int]:
    found = gather_single_rows(merge_blocks(bound(query)))
    return [len(n.inputs) for n in walk(found) if isinstance(n, Join)]


def test_three_totals_become_one_input() -> None:
    assert joins(THREE.format("(SELECT count(*) AS n FROM u) x")) == [2]


@pytest.mark.parametrize(
    "other",
    [
        "(SELECT a AS n, count(*) AS c FROM u GROUP BY a) x",
        "(SELECT a AS n FROM u ORDER BY a LIMIT 1) x",
        "(SELECT collect_set(a) AS n FROM u) x",
    ],
)
def test_not_what_may_have_no_row_or_no_greatest_value(other: str) -> None:
    plan = merge_blocks(bound(THREE.format(other)))
    assert gather_single_rows(plan) is plan


def test_a_condition_on_a_total_stays_one_of_the_join() -> None:
    assert joins(THREE.format("(SELECT count(*) AS n FROM u HAVING count(*) > 1) x")) == [2]


def test_totals_alone_and_conditions_between_them() -> None:
    totals = "(SELECT count(*) AS n FROM t) x, (SELECT sum(a) AS s FROM u) y, (SELECT max(c) AS m FROM u) z"
    found = gather_single_rows(merge_blocks(bound(f"SELECT n, s, m FROM {totals} WHERE n > s")))
    assert not [n for n in walk(found) if isinstance(n, Join)]
    assert len([n for n in walk(found) if isinstance(n, Aggregate)]) == 4


def test_many_totals_that_all_change_are_cheap() -> None:
    """The product of their versions would have 3¹⁵ rows per instant."""
    db = tidings.open(engine="duckdb", strategy="differential", clock=tidings.ManualClock(1))
    db.sql("CREATE TABLE s (a INT); CREATE TABLE one (k INT); INSERT INTO one VALUES (1); INSERT INTO s VALUES (7)")
    totals = ", ".join(f"(SELECT sum(a) FROM s WHERE a > {n}) AS c{n}" for n in range(15))
    query, since = f"SELECT k, {totals} FROM one", db.time
    before = db.query(query).rows()
    db.sql("INSERT INTO s VALUES (9)")
    found = {tuple(c.row.values()): c.weight for c in db.changes(query, since).rows()}
    assert found == {tuple(before[0].values()): -1, tuple(db.query(query).rows()[0].values()): 1}
