"""Views with keyed operators that are read twice are shared; linear ones are not."""

from __future__ import annotations

from tests.unit.schema import plan
from tidings.delta.plan import compile_program
from tidings.delta.shared_views import shared_views
from tidings.ir.relation import Relation

LINEAR = "project v [a int := u.a]\n  filter [u.a > 1]\n    scan u u [a int]"
KEYED = "aggregate v [a int := u.a] []\n  scan u u [a int]"
ABOVE = "project w [a int := v.a]\n  scan v v [a int]"


def twice(view: str) -> Relation:
    return plan(f"project r [a int := x.a]\n  join [x.a = y.a]\n    scan {view} x [a int]\n    scan {view} y [a int]")


def test_a_keyed_view_read_twice() -> None:
    assert shared_views(twice("v"), {"v": plan(KEYED)}) == {"v"}


def test_a_keyed_view_read_once() -> None:
    assert shared_views(plan("scan v x [a int]"), {"v": plan(KEYED)}) == frozenset()


def test_a_linear_view_read_twice() -> None:
    assert shared_views(twice("v"), {"v": plan(LINEAR)}) == frozenset()
    assert shared_views(twice("u"), {}) == frozenset()


def test_a_view_over_a_keyed_one() -> None:
    """The view above is read twice and so shared; the one below is then read once."""
    assert shared_views(twice("w"), {"w": plan(ABOVE), "v": plan(KEYED)}) == {"w"}


def test_the_program_has_one_step_for_it() -> None:
    program = compile_program("r", twice("v"), frozenset({"u"}), {"v": plan(KEYED)})
    assert [s.name for s in program.steps] == ["v", "r"]
