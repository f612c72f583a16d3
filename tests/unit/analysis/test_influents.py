"""What a query reads, itself and through views."""

from __future__ import annotations

from tests.unit.schema import bound, view_plans
from tidings.analysis.influents import influents, reads

VIEWS = view_plans(v="SELECT a FROM t", x="SELECT v.a, u.c FROM v JOIN u ON v.a = u.a")


def test_reads_stops_at_views() -> None:
    plan = bound("SELECT x.a FROM x JOIN w ON x.c = w.c", VIEWS)
    assert reads(plan) == {"x", "w"}


def test_influents_are_tables() -> None:
    plan = bound("SELECT x.a FROM x JOIN w ON x.c = w.c", VIEWS)
    assert influents(plan, VIEWS) == {"t", "u", "w"}
    assert influents(bound("SELECT 1 AS one"), VIEWS) == frozenset()
