"""Programs: which steps, in which order, and what each reads."""

from __future__ import annotations

from tests.unit.schema import program, view_plans
from tidings.delta.plan import Program, fused
from tidings.ir.relation import Consolidate, Scan, Union, Version
from tidings.ir.traverse import walk

CHAIN = view_plans(
    v1="SELECT a AS k, a AS x FROM t",
    v2="SELECT p.k, q.x FROM v1 p JOIN v1 q ON p.k = q.k",
    v3="SELECT p.k, q.x FROM v2 p JOIN v2 q ON p.k = q.k",
)
QUERY = "SELECT p.k FROM v3 p JOIN v3 q ON p.k = q.k"


def shape(found: Program) -> list[tuple[str, int, int]]:
    return [(s.name, s.level, len(s.terms)) for s in found.steps]


def test_nothing_changed_nothing_to_do() -> None:
    found = program("SELECT a FROM t", "u")
    assert found.steps == ()
    assert found.changed == frozenset()
    assert [c.name for c in found.columns] == ["a"]


def test_one_step_without_sharing() -> None:
    assert shape(program("SELECT a FROM t", "t")) == [("result", 1, 1)]
    assert shape(program("SELECT k FROM v2", "t", views=CHAIN)) == [("result", 1, 2)]


def test_terms_double_with_every_self_join_without_sharing() -> None:
    assert shape(program(QUERY, "t", views=CHAIN)) == [("result", 1, 8)]


def test_a_shared_view_is_a_step_of_its_own() -> None:
    found = program(QUERY, "t", views=CHAIN, share=("v2", "v3"))
    assert shape(found) == [("v2", 1, 2), ("v3", 2, 2), ("result", 3, 2)]


def test_shared_steps_are_scanned_as_deltas() -> None:
    found = program(QUERY, "t", views=CHAIN, share=("v3",))
    deltas = [s.relation for s in found.steps[-1].scans if s.version is Version.DELTA]
    assert deltas.count("v3") == 1
    assert {s.relation for s in found.steps[-1].scans if s.version is not Version.DELTA} == {"t"}


def test_a_shared_view_that_did_not_change_has_no_step() -> None:
    views = view_plans(v="SELECT a AS k FROM t")
    found = program("SELECT v.k FROM v JOIN u ON v.k = u.a", "u", views=views, share=("v",))
    assert shape(found) == [("result", 1, 1)]


def test_the_sum_of_the_terms_is_consolidated() -> None:
    (step,) = program("SELECT t.b FROM t JOIN u ON t.a = u.a", "t", "u").steps
    assert isinstance(step.plan, Consolidate)
    assert isinstance(step.plan.input, Union)
    assert [f.name for f in step.plan.fields] == ["b", "__t", "__w"]
    (single,) = program("SELECT t.b FROM t JOIN u ON t.a = u.a", "t").steps
    assert isinstance(single.plan, Consolidate)
    assert not isinstance(single.plan.input, Union)


def test_only_changed_influents_count() -> None:
    assert program("SELECT a FROM t", "t", "u", "w").changed == {"t"}


def test_a_program_is_a_value() -> None:
    one, other = (program(QUERY, "t", views=CHAIN, share=("v2",)) for _ in range(2))
    assert one == other


def test_a_scan_is_read_once_per_version() -> None:
    (step,) = program("SELECT x.b FROM t x JOIN t y ON x.a = y.a", "t").steps
    read = [(s.relation, s.version) for s in step.scans]
    assert len(read) == len(set(read)) == 3


GROUPS = "SELECT a, max(c) AS m FROM u WHERE c > 1 GROUP BY a"


def test_a_part_read_several_times_is_a_step_of_its_own() -> None:
    """A keyed operator needs its input's delta for the touched keys and for the rows at each version."""
    found = program(GROUPS, "u")
    assert shape(found) == [("result#1", 1, 1), ("result", 2, 1)]
    assert [t.influent for t in found.steps[-1].terms] == ["result#1"]


def test_a_keyed_operator_over_a_table_is_one_step() -> None:
    assert shape(program("SELECT a, max(c) AS m FROM u GROUP BY a", "u")) == [("result", 1, 1)]


def test_a_part_read_once_is_fused_into_the_step_above() -> None:
    found = program("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c WHERE w.e IS NULL", "w")
    assert shape(found) == [("result", 1, 1)]
    assert sum(isinstance(n, Consolidate) for n in walk(found.steps[0].plan)) == 2


def test_terms_are_fused_like_the_plan() -> None:
    (step,) = program("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c WHERE w.e IS NULL", "w").steps
    assert not any(isinstance(n, Scan) and "#" in n.relation for t in step.terms for n in walk(t.plan))


def test_nothing_fused_scans_a_step_that_is_gone() -> None:
    for query in (GROUPS, "SELECT m, count(*) AS n FROM (SELECT a, max(c) AS m FROM u GROUP BY a) AS q GROUP BY m"):
        found = program(query, "u")
        known = {s.name for s in found.steps}
        used = {n.relation for s in found.steps for n in walk(s.plan) if isinstance(n, Scan) and "#" in n.relation}
        assert used <= known


def test_fusing_leaves_shared_steps() -> None:
    steps = program(QUERY, "t", views=CHAIN, share=("v2", "v3")).steps
    assert fused(steps) == steps


def test_levels_count_the_steps_below() -> None:
    found = program("SELECT m, count(*) AS n FROM (SELECT a, max(c) AS m FROM u GROUP BY a) AS q GROUP BY m", "u")
    assert [s.level for s in found.steps] == sorted(s.level for s in found.steps)
    assert found.steps[-1].name == "result"


def test_a_keyed_part_that_did_not_change_is_read_as_a_state() -> None:
    query = "SELECT t.b, q.m FROM t JOIN (SELECT a, max(c) AS m FROM u GROUP BY a) AS q ON t.a = q.a"
    (step,) = program(query, "t").steps
    assert {(s.relation, s.version) for s in step.scans} == {("t", Version.DELTA), ("u", Version.OLD)}


def test_the_new_state_of_a_part_is_its_old_one_and_its_delta() -> None:
    query = "SELECT t.b, q.m FROM t JOIN (SELECT a, max(c) AS m FROM u GROUP BY a) AS q ON t.a = q.a"
    found = program(query, "t", "u")
    assert Version.NEW not in {s.version for step in found.steps for s in step.scans if s.relation == "u"}


def test_shared_views_may_be_keyed() -> None:
    views = view_plans(v="SELECT a, max(c) AS m FROM u GROUP BY a")
    found = program("SELECT p.a FROM v p JOIN v q ON p.m = q.m", "u", views=views, share=("v",))
    assert shape(found) == [("v", 1, 1), ("result", 2, 2)]
