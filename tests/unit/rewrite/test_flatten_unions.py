"""``(A ⊎ B) ⊎ C = A ⊎ B ⊎ C``."""

from __future__ import annotations

from tests.unit.schema import bound, types
from tidings.ir.relation import Union
from tidings.ir.traverse import walk
from tidings.rewrite.flatten_unions import flatten_unions


def test_nested_unions_become_one() -> None:
    query = bound("SELECT a FROM t UNION ALL (SELECT a FROM u UNION ALL (SELECT a FROM u UNION ALL SELECT 1))")
    found = flatten_unions(query)
    assert isinstance(found, Union)
    assert len(found.inputs) == 4
    assert sum(isinstance(n, Union) for n in walk(found)) == 1
    assert [f.ref for f in found.fields] == [f.ref for f in query.fields]


def test_a_union_below_a_cast_stays() -> None:
    """The inner union is of ints, the outer one of bigints: between them stands a projection."""
    found = flatten_unions(bound("SELECT a FROM t UNION ALL SELECT a FROM u UNION ALL SELECT c FROM u"))
    assert sum(isinstance(n, Union) for n in walk(found)) == 2
    assert types(found) == ["bigint"]


def test_same_object_when_flat() -> None:
    for query in ("SELECT a FROM t UNION ALL SELECT a FROM u", "SELECT a FROM t"):
        plan = bound(query)
        assert flatten_unions(plan) is plan
