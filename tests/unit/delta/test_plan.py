"""Programs: which steps, in which order, and what each reads."""

from __future__ import annotations

from tests.unit.schema import program, view_plans
from tidings.delta.plan import Program
from tidings.ir.relation import Consolidate, Union, Version

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
