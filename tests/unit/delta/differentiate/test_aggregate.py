"""Groups are keyed by what they group by; a total has no key and never goes."""

from __future__ import annotations

from tests.unit.schema import plan
from tidings.delta.differentiate.aggregate import lift
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, OuterJoin, Scan
from tidings.ir.traverse import walk

VERSIONED = plan("scan u u [a int, c bigint, __v bigint, __n bigint]")
VERSIONS = plan("scan versions v [__v bigint, __n bigint]")


def aggregate(text: str) -> Aggregate:
    found = plan(f"{text}\n  scan u u [a int, c bigint]")
    assert isinstance(found, Aggregate)
    return found


def test_keys_may_be_expressions() -> None:
    found = lift(aggregate("aggregate g [k int := u.a % 2, c bigint := u.c] [n bigint := COUNT(*)]"))
    (entry,) = found.inputs
    assert [show(e) for e in entry.key] == ["u.a % 2", "u.c"]
    assert found.key_types == ("int", "bigint")


def test_the_version_is_one_more_key() -> None:
    node = aggregate("aggregate g [a int := u.a] [n bigint := COUNT(*)]")
    applied = lift(node).apply([VERSIONED], VERSIONS)
    assert isinstance(applied, Aggregate)
    assert [i.name for i in applied.keys] == ["a", "__v", "__n"]
    assert applied.aggregates == node.aggregates


def test_a_total_has_a_row_at_versions_without_rows() -> None:
    node = aggregate("aggregate g [] [n bigint := COUNT(*), m bigint := MAX(u.c)]")
    found = lift(node)
    assert found.key_types == ()
    applied = found.apply([VERSIONED], VERSIONS)
    assert [f.name for f in applied.fields] == ["n", "m", "__v", "__n"]
    (padded,) = [n for n in walk(applied) if isinstance(n, OuterJoin)]
    assert any(isinstance(n, Scan) and n.relation == "versions" for n in walk(padded.left))
    assert [n for n in walk(applied) if n is VERSIONED] == [VERSIONED], "the input is read once"


def test_groups_with_keys_may_go() -> None:
    applied = lift(aggregate("aggregate g [a int := u.a] []")).apply([VERSIONED], VERSIONS)
    assert not any(isinstance(n, OuterJoin) for n in walk(applied))
