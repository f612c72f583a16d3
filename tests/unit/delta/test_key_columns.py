"""Where the keys of a restriction come from."""

from __future__ import annotations

from tests.unit.schema import only_term, plan
from tidings.delta.key_columns import key_columns
from tidings.ir.relation import Restrict
from tidings.ir.traverse import walk


def test_keys_come_from_columns_of_deltas() -> None:
    term = only_term("SELECT t.b FROM t JOIN u ON t.a = u.a", "t")
    (restriction,) = (n for n in walk(term.plan) if isinstance(n, Restrict))
    assert key_columns(restriction) == (("t", "a"),)


def test_keys_of_a_union_come_from_all_its_branches() -> None:
    restriction = plan("""
        restrict [w.c]
          scan old w w [c bigint, e string]
          union k [c bigint]
            project p [c bigint := u.c]
              scan delta u u [c bigint]
            project q [c bigint := v.c]
              scan delta v v [c bigint]
        """)
    assert isinstance(restriction, Restrict)
    assert key_columns(restriction) == (("u", "c"), ("v", "c"))


def test_computed_keys_and_inexact_types_have_no_columns() -> None:
    for type, item in (("bigint", "u.c + 1"), ("double", "u.c")):
        restriction = plan(f"""
            restrict [w.c]
              scan old w w [c {type}]
              project p [c {type} := {item}]
                scan delta u u [c {type}]
            """)
        assert isinstance(restriction, Restrict)
        assert key_columns(restriction) is None
