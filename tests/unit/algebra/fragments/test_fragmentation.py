"""Fragments: what is done to the whole and to its fragments is the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tests.laws.seeds import chunks
from tidings.algebra import (
    Condition,
    DeltaPair,
    Fragment,
    Fragmentation,
    Horizontal,
    RelationInstance,
    Sites,
    SubstitutionList,
    Vertical,
    chain_rule,
    delta_of,
    delta_of_whole,
    evaluate,
    fragments,
    relation,
    routed,
    show,
    whole,
)
from tidings.errors import InvalidExpression, InvalidFragmentation, NoFragment, UnknownColumn

ATTRIBUTES = ("k", "a", "b", "c")


def fragment(name: str, *attributes: str, site: str = "local", condition: str | None = None) -> Fragment:
    return Fragment(relation(name, *attributes), site, None if condition is None else Condition.of(condition))


def _halves(name: str, *attributes: str) -> Horizontal:
    low = fragment(f"{name}1", *attributes, site="north", condition="k < 4")
    return Horizontal((low, fragment(f"{name}2", *attributes, site="south", condition="k >= 4")))


FRAGMENTATIONS: dict[str, Fragmentation] = {
    "horizontal": _halves("r", *ATTRIBUTES),
    "vertical": Vertical((fragment("r1", "k", "a"), fragment("r2", "k", "b", "c")), ("k",)),
    "hybrid": Vertical(
        (_halves("r1", "k", "a"), Vertical((fragment("r21", "k", "b"), fragment("r22", "k", "c")), ("k",))), ("k",)
    ),
    "three levels": Horizontal(
        (
            Vertical((fragment("p1", "k", "a", condition="k < 2"), fragment("p2", "k", "b", "c")), ("k",)),
            Horizontal(
                (
                    fragment("q1", "c", "b", "a", "k", condition="k >= 2 AND a = 1"),
                    Horizontal(
                        (
                            fragment("q2", *ATTRIBUTES, condition="k >= 2 AND a <> 1"),
                            fragment("q3", *ATTRIBUTES, condition="k >= 2 AND a IS NULL"),
                        )
                    ),
                )
            ),
        )
    ),
}


def state(random: Random, old: RelationInstance | None = None) -> RelationInstance:
    """Tuples with different k, by which they are known."""
    tuples = {tid: row for tid, row in (old.tuples if old else {}).items() if random.random() < 0.7}
    for k in random.sample(range(8), random.randint(0, 5)):
        tuples[(f"#{k}",)] = (k, *(random.choice([1, 2, None]) for _ in "abc"))
    return RelationInstance(ATTRIBUTES, tuples)


def stored(fragmentation: Fragmentation, tuples: RelationInstance) -> dict[str, RelationInstance]:
    """The fragments of a relation."""
    shares = routed(fragmentation, DeltaPair(RelationInstance(ATTRIBUTES, {}), tuples))
    return {name: share.added for name, share in shares.items()}


@pytest.mark.parametrize("kind", FRAGMENTATIONS)
@pytest.mark.parametrize("seeds", chunks(400, quick=100, size=100))
def test_fragments_are_the_whole(kind: str, seeds: range) -> None:
    fragmentation = FRAGMENTATIONS[kind]
    for seed in seeds:
        random = Random(seed)
        old = state(random)
        new = state(random, old)
        delta = DeltaPair.between(old, new)
        list_ = SubstitutionList(stored(fragmentation, old), dict(routed(fragmentation, delta)))
        assert evaluate(whole(fragmentation), list_.old).in_order_of(ATTRIBUTES).rows == old.rows, seed
        assert evaluate(whole(fragmentation), list_.new).in_order_of(ATTRIBUTES).rows == new.rows, seed
        assert delta_of_whole(fragmentation, list_).in_order_of(ATTRIBUTES).rows == delta.rows, seed
        condition = whole(fragmentation).select("a = 1 OR b > 1").project("k", "b")
        plain = relation("r", *ATTRIBUTES).select("a = 1 OR b > 1").project("k", "b")
        expected = delta_of(chain_rule(plain), SubstitutionList({"r": old}, {"r": delta}))
        assert delta_of(chain_rule(condition), list_).rows == expected.rows, seed


def test_an_update_reaches_the_vertical_fragment_whose_attributes_it_changes() -> None:
    old = RelationInstance.of(ATTRIBUTES, ("#1", 1, 1, 1, 1))
    new = RelationInstance.of(ATTRIBUTES, ("#1", 1, 1, 1, 2))
    shares = routed(FRAGMENTATIONS["hybrid"], DeltaPair.between(old, new))
    assert {name for name, share in shares.items() if share} == {"r22"}


def test_an_update_may_move_a_tuple_between_horizontal_fragments() -> None:
    old = RelationInstance.of(ATTRIBUTES, ("#1", 1, 1, 1, 1))
    new = RelationInstance.of(ATTRIBUTES, ("#1", 7, 1, 1, 1))
    shares = routed(FRAGMENTATIONS["horizontal"], DeltaPair.between(old, new))
    assert shares["r1"].rows == ({(1, 1, 1, 1)}, set())
    assert shares["r2"].rows == (set(), {(7, 1, 1, 1)})


@pytest.mark.parametrize("k", [None, 9])
def test_a_tuple_without_one_home_is_refused(k: int | None) -> None:
    twice = Horizontal((fragment("x", *ATTRIBUTES, condition="k > 5"), fragment("y", *ATTRIBUTES, condition="k > 8")))
    added = RelationInstance.of(ATTRIBUTES, ("#", k, 1, 1, 1))
    with pytest.raises(NoFragment) as caught:
        routed(twice, DeltaPair(RelationInstance(ATTRIBUTES, {}), added))
    assert caught.value.parameters["row"] == {"k": k, "a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize(
    ("build", "condition"),
    [
        (lambda: Horizontal((fragment("x", "k"),)), InvalidFragmentation),
        (lambda: Horizontal((fragment("x", "k"), fragment("x", "k"))), InvalidFragmentation),
        (lambda: Horizontal((fragment("x", "k"), fragment("y", "j"))), InvalidExpression),
        (lambda: Vertical((fragment("x", "k", "a"), fragment("y", "k", "a")), ("k",)), InvalidFragmentation),
        (lambda: Vertical((fragment("x", "k", "a"), fragment("y", "b")), ("k",)), UnknownColumn),
        (lambda: fragment("x", "k", condition="a > 1"), UnknownColumn),
    ],
)
def test_what_is_no_fragmentation_is_refused(build: Callable[[], object], condition: type[Exception]) -> None:
    with pytest.raises(condition):
        build()


def test_conditions_within_a_site_and_between_sites() -> None:
    halves = FRAGMENTATIONS["horizontal"]
    sites = Sites.of(halves)
    north, south = (f.relation for f in fragments(halves))
    within = north.select("a = 1").project("k")
    assert sites.is_intra_site(within)
    assert sites.explain(within) == "intra-site: Π[k](σ[a = 1](r1)) at north"
    between = within.difference(south.select("b = 1").project("k"))
    assert not sites.is_intra_site(between)
    assert [(site, show(part)) for site, part in sites.local_parts(between)] == [
        ("north", "Π[k](σ[a = 1](r1))"),
        ("south", "Π[k](σ[b = 1](r2))"),
    ]
    assert sites.explain(between).splitlines()[1:] == [
        "  at north: Π[k](σ[a = 1](r1))",
        "  at south: Π[k](σ[b = 1](r2))",
    ]
    assert sites.sites(relation("elsewhere", "k")) == {"local"}
