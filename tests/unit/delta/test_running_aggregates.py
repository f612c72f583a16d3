"""Groupings that are carried on from instant to instant."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, plan
from tidings.delta.cost import Sizes, cost, differential_shape
from tidings.delta.plan import Program, compile_program
from tidings.delta.running_aggregates import running_aggregates
from tidings.ir.relation import Scan, Version, Window
from tidings.ir.traverse import walk


def program(query: str) -> Program:
    return compile_program("v", bound(query), frozenset({"u"}), {})


def is_running(query: str) -> bool:
    """Whether the old rows of a group are summed up once, and not per version."""
    nodes = (n for step in program(query).steps for n in walk(step.plan))
    return any(isinstance(n, Window) and n.alias == "running" for n in nodes)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, COUNT(*) AS n, SUM(d) AS s FROM u GROUP BY a",
        "SELECT COUNT(c) AS n FROM u",
        "SELECT a, SUM(d) FILTER (WHERE c > 1) AS s FROM u GROUP BY a HAVING COUNT(*) > 1",
    ],
)
def test_counts_and_sums_run(query: str) -> None:
    assert is_running(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, MAX(c) AS m FROM u GROUP BY a",
        "SELECT a, SUM(c) AS s FROM u GROUP BY a",
        "SELECT a, COUNT(DISTINCT c) AS n FROM u GROUP BY a",
        "SELECT a, SUM(CAST(c AS DOUBLE)) AS s FROM u GROUP BY a",
        "SELECT DISTINCT a FROM u",
    ],
)
def test_what_cannot_be_added_to_does_not(query: str) -> None:
    assert not is_running(query)


def test_the_old_state_is_read_once_whatever_the_number_of_instants() -> None:
    sizes = [Sizes(lambda _: 1_000, lambda _: 50, instants) for instants in (1, 50)]
    counted, greatest = program("SELECT COUNT(*) AS n FROM u"), program("SELECT MAX(c) AS m FROM u")
    once, often = ([cost(differential_shape(p), s).rows for p in (counted, greatest)] for s in sizes)
    assert once[0] == often[0] == 1_000
    assert once[1] < often[1]
    old = [n for s in counted.steps for n in walk(s.plan) if isinstance(n, Scan) and n.version is Version.OLD]
    assert len(old) == 1


def test_sums_without_room_do_not_run() -> None:
    """The negative of the least bigint is none."""
    groups = plan("""
        aggregate g [a int := u.a] [s bigint := SUM(u.c)]
          scan u u [a int, c bigint]
        """)
    assert running_aggregates("v", groups) == (groups, {})
    narrow = plan("""
        aggregate g [a int := u.a] [s bigint := SUM(u.a)]
          scan u u [a int]
        """)
    assert running_aggregates("v", narrow)[1]
