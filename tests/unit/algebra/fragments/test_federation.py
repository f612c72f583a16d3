"""Fragments in databases of their own: changes between sites are those of one database that has everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

import tidings
from tests.laws.seeds import chunks
from tidings import Database
from tidings.algebra import (
    AlgebraExpression,
    Condition,
    DeltaPair,
    Federation,
    Fragment,
    Horizontal,
    RelationInstance,
    Vertical,
    relation,
)
from tidings.errors import InvalidFragmentation, NoFragment, PartlyApplied, SeveralSites, TidingsError

ATTRIBUTES = ("k", "a", "b", "c")
NORTH = Fragment(relation("r11", "k", "a"), "north", Condition.of("k < 4"))
SOUTH = Fragment(relation("r12", "k", "a"), "south", Condition.of("k >= 4"))
REST = Vertical((Fragment(relation("r21", "k", "b"), "south"), Fragment(relation("r22", "k", "c"), "east")), ("k",))
HYBRID = Vertical((Horizontal((NORTH, SOUTH)), REST), ("k",))
TABLES = {
    "north": "CREATE TABLE r11 (k INT PRIMARY KEY, a INT CHECK (a < 100))",
    "south": "CREATE TABLE r12 (k INT PRIMARY KEY, a INT); CREATE TABLE r21 (k INT PRIMARY KEY, b INT)",
    "east": "CREATE TABLE r22 (k INT PRIMARY KEY, c INT)",
}


@pytest.fixture
def federation() -> Iterator[Federation]:
    with ExitStack() as opened:
        databases = {site: opened.enter_context(tidings.open(engine="duckdb")) for site in TABLES}
        for site, text in TABLES.items():
            databases[site].sql(text)
        yield Federation(HYBRID, databases)


def database(federation: Federation, site: str) -> Database:
    found = federation.databases[site]
    assert isinstance(found, Database)
    return found


def state(random: Random, old: RelationInstance) -> RelationInstance:
    tuples = {tid: row for tid, row in old.tuples.items() if random.random() < 0.7}
    for k in random.sample(range(8), random.randint(0, 3)):
        tuples[(f"#{k}",)] = (k, *(random.choice([1, 2, None]) for _ in "abc"))
    return RelationInstance(ATTRIBUTES, tuples)


def conditions(whole: AlgebraExpression) -> list[AlgebraExpression]:
    return [
        whole,
        whole.select("a = 1 AND b > 0").project("k", "c"),
        whole.project("a", "c"),
        whole.select("b = 1").project("k").difference(SOUTH.relation.select("a = 2").project("k")),
        SOUTH.relation.select("a = 1").join(REST.parts[0].relation),  # type: ignore[union-attr]
    ]


@pytest.mark.parametrize("seeds", chunks(6, quick=2, size=2))
def test_changes_between_sites_are_those_of_the_whole(federation: Federation, seeds: range) -> None:
    expressions = conditions(federation.whole)
    old = RelationInstance(ATTRIBUTES, {})
    for seed in seeds:
        random = Random(seed)
        for step in range(3):
            since = federation.position
            values = [federation.read(expression) for expression in expressions]
            new = state(random, old)
            federation.apply(DeltaPair.between(old, new), f"{seed}-{step}")
            assert federation.read(federation.whole).in_order_of(ATTRIBUTES).rows == new.rows
            for expression, before in zip(expressions, values, strict=True):
                delta = federation.changes(expression, since).delta
                after = federation.read(expression)
                assert delta.rows == DeltaPair.between(before, after).rows, (seed, step)
                assert federation.read(expression, since).rows == before.rows
            old = new


def test_only_deltas_and_touched_keys_leave_a_site(federation: Federation) -> None:
    rows = RelationInstance.of(ATTRIBUTES, *((f"#{k}", k, k % 3, k, 0) for k in range(40)))
    federation.apply(DeltaPair(RelationInstance(ATTRIBUTES, {}), rows), "fill")
    since = federation.position
    database(federation, "south").sql("UPDATE r12 SET a = 9 WHERE k = 20")
    between = federation.changes(federation.whole.select("c = 0"), since)
    assert between.delta.in_order_of(ATTRIBUTES).rows == ({(20, 2, 20, 0)}, {(20, 9, 20, 0)})
    assert sum(between.sent.values()) <= 6, "not the forty that are there"
    within = federation.changes(SOUTH.relation.select("a = 9"), since)
    assert within.delta.rows == (set(), {(20, 9)})
    assert within.sent == {"north": 0, "south": 1, "east": 0}
    assert federation.changes(federation.whole.select("a = 100"), federation.position).sent == dict.fromkeys(TABLES, 0)


def test_one_site_is_one_transaction_and_several_need_an_id(federation: Federation) -> None:
    nothing = RelationInstance(ATTRIBUTES, {})
    row = DeltaPair(nothing, RelationInstance.of(ATTRIBUTES, ("#1", 1, 1, 1, 1)))
    with pytest.raises(SeveralSites) as caught:
        federation.apply(row)
    assert caught.value.parameters == {"sites": "east, north, south"}
    assert not federation.read(federation.whole)
    federation.apply(row, "first")
    at = federation.position
    federation.apply(row, "first")
    assert federation.position == at, "it counts once"
    changed = DeltaPair(row.added, RelationInstance.of(ATTRIBUTES, ("#1", 1, 7, 1, 1)))
    assert set(federation.apply(changed)) == {"north"}
    assert federation.read(federation.whole).rows == {(1, 7, 1, 1)}


def test_what_was_stopped_half_way_is_completed_by_the_same_call(federation: Federation) -> None:
    north = database(federation, "north")
    north.sql(
        "CREATE RULE guard WHEN SELECT k FROM r11 DO RAISE 'closed' WITH (condition = 'deferred', action = 'deferred')"
    )
    row = DeltaPair(RelationInstance(ATTRIBUTES, {}), RelationInstance.of(ATTRIBUTES, ("#1", 1, 1, 1, 1)))
    with pytest.raises(PartlyApplied) as caught:
        federation.apply(row, "row 1")
    assert (caught.value.parameters["site"], caught.value.parameters["done"]) == ("north", "east")
    assert len(database(federation, "east").query("r22")) == 1
    assert len(database(federation, "south").query("r21")) == 0
    north.sql("DROP RULE guard")
    federation.apply(row, "row 1")
    assert federation.read(federation.whole).rows == {(1, 1, 1, 1)}


def test_what_one_site_refuses_at_once_changes_none(federation: Federation) -> None:
    nothing = RelationInstance(ATTRIBUTES, {})
    gone = DeltaPair(RelationInstance.of(ATTRIBUTES, ("#1", 1, 1, 1, 1)), nothing)
    with pytest.raises(TidingsError):
        federation.apply(gone, "remove what is not there")
    with pytest.raises(NoFragment):
        federation.apply(DeltaPair(nothing, RelationInstance.of(ATTRIBUTES, ("#", None, 1, 1, 1))), "no home")
    assert not federation.read(federation.whole)


def test_every_site_has_a_database(federation: Federation) -> None:
    with pytest.raises(InvalidFragmentation, match="site east"):
        Federation(HYBRID, {site: federation.databases[site] for site in ("north", "south")})
    with pytest.raises(InvalidFragmentation, match="local"):
        federation.changes(federation.whole.join(relation("elsewhere", "k")), federation.position)


def test_positions_outlive_the_process(tmp_path: Path) -> None:
    for opening in range(2):
        with ExitStack() as opened:
            databases = {site: opened.enter_context(tidings.open(tmp_path / site, engine="duckdb")) for site in TABLES}
            federation = Federation(HYBRID, databases)
            if opening == 0:
                for site, text in TABLES.items():
                    databases[site].sql(text)
                since = federation.position
                row = RelationInstance.of(ATTRIBUTES, ("#5", 5, 1, 1, 1))
                federation.apply(DeltaPair(RelationInstance(ATTRIBUTES, {}), row), "five")
            else:
                assert federation.changes(federation.whole, since).delta.rows == (set(), {(5, 1, 1, 1)})
