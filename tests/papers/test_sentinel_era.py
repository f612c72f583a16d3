"""Sentinel's extended relational algebra: Examples 1 to 7, the lemmas and the appendix, with their tables.

Where a printed table has a slip, the test says which.
"""

from __future__ import annotations

import pytest

import tidings
from tidings.algebra import (
    TRANSFORMATIONS,
    Changes,
    DeltaPair,
    DeltaRelation,
    DeltaRow,
    IncrJoin,
    IncrProject,
    IncrSelect,
    IncrUnion,
    Joined,
    RelationInstance,
    StoredDelta,
    SubstitutionList,
    United,
    both_incr_join,
    chain_rule,
    chain_rule_first,
    chain_rule_once,
    delta_of,
    equivalents,
    first_principle,
    hipac_incr_join,
    hipac_incr_project,
    incr_diff,
    incr_join,
    incr_project,
    incr_project_steps,
    incr_select,
    incr_union,
    left_incr_join,
    published_incr_join,
    relation,
    relational_first,
    right_incr_join,
    show,
)
from tidings.errors import InvalidDeltaRelation, NotComposable

R1 = RelationInstance.of(("R1_value",), ("01", 799), ("02", 200), ("03", 179))
D1 = DeltaPair(
    RelationInstance.of(("R1_value",), ("01", 799), ("03", 179)),
    RelationInstance.of(("R1_value",), ("03", 700), ("04", 98)),
)
R2 = RelationInstance.of(("R2_value",), ("10", 799), ("20", 179), ("30", 200), ("40", 700), ("50", 98))
D2 = DeltaPair(
    RelationInstance.of(("R2_value",), ("20", 179), ("30", 200), ("50", 98)),
    RelationInstance.of(("R2_value",), ("30", 645), ("50", 503)),
)
BOTH = SubstitutionList({"R1": R1, "R2": R2}, {"R1": D1, "R2": D2})
R1_LEAF, R2_LEAF = relation("R1", "R1_value"), relation("R2", "R2_value")


def parts(delta: DeltaPair) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """Both parts as sets of tuples that begin with their tids as printed."""
    return tuple({(",".join(map(str, tid)), *row) for tid, row in part} for part in (delta.removed, delta.added))  # type: ignore[return-value]


def one_column(instance: RelationInstance) -> RelationInstance:
    return RelationInstance(("value",), instance.tuples)


def one_column_delta(delta: DeltaPair) -> DeltaPair:
    return DeltaPair(one_column(delta.removed), one_column(delta.added))


EMP = RelationInstance.of(("Name", "Salary"), ("111", "Mike", 40), ("222", "Carol", 35), ("333", "John", 30))
NEW_EMP = RelationInstance.of(("Name", "Salary"), ("111", "Mike", 45), ("222", "Carol", 35), ("444", "Sharon", 30))


def test_figure_4_1_the_delta_of_a_transaction() -> None:
    delta = DeltaPair.between(EMP, NEW_EMP)
    assert parts(delta) == (
        {("111", "Mike", 40), ("333", "John", 30)},
        {("111", "Mike", 45), ("444", "Sharon", 30)},
    )
    assert delta.composed(EMP) == NEW_EMP


def test_figure_a_1_the_same_delta_as_hipac_has_it() -> None:
    delta = DeltaRelation.of_pair(DeltaPair.between(EMP, NEW_EMP))
    assert delta.columns == ("~tid", "~Name", "~Salary", "tid~", "Name~", "Salary~")
    assert delta.rows == {
        DeltaRow(("111",), ("Mike", 40), ("111",), ("Mike", 45)),
        DeltaRow(("333",), ("John", 30), None, None),
        DeltaRow(None, None, ("444",), ("Sharon", 30)),
    }
    assert delta.pair() == DeltaPair.between(EMP, NEW_EMP)


@pytest.mark.parametrize(
    ("delta", "wrong"),
    [
        (DeltaPair(RelationInstance.of(("R1_value",), ("09", 5)), RelationInstance(("R1_value",), {})), (5,)),
        (DeltaPair(RelationInstance(("R1_value",), {}), RelationInstance.of(("R1_value",), ("09", 200))), (200,)),
        (DeltaPair(RelationInstance(("R1_value",), {}), RelationInstance.of(("R1_value",), ("02", 201))), (201,)),
    ],
    ids=["removes what is not there", "adds what is there", "takes a tid that is in use"],
)
def test_the_assumptions_of_a_delta_are_checked(delta: DeltaPair, wrong: tuple[object, ...]) -> None:
    with pytest.raises(NotComposable) as caught:
        SubstitutionList({"R1": R1}, {"R1": delta})
    assert caught.value.parameters["row"] == wrong
    assert caught.value.parameters["relation"] == "R1"


def test_example_1_incr_select() -> None:
    expected = ({("01", 799)}, {("03", 700)})
    assert parts(incr_select(D1, "R1_value >= 200")) == expected
    assert D1.composed(R1) == RelationInstance.of(("R1_value",), ("02", 200), ("03", 700), ("04", 98))
    assert parts(first_principle(R1_LEAF.select("R1_value >= 200"), BOTH)) == expected


R = RelationInstance.of(("val1", "val2"), ("01", 388, 201), ("02", 388, 537), ("03", 400, 739), ("04", 999, 200))
D = DeltaPair(
    RelationInstance.of(("val1", "val2"), ("01", 388, 201), ("02", 388, 537), ("04", 999, 200)),
    RelationInstance.of(("val1", "val2"), ("01", 400, 235), ("02", 700, 321), ("05", 388, 526), ("06", 400, 593)),
)


def test_example_2_the_steps_of_incr_project() -> None:
    """The tables of Π+(R), of d1 and i1, of d2 and i2, and of the result."""
    steps = incr_project_steps(R, D, ("val1",))
    bags = (steps.old, steps.lost, steps.gained, steps.net_lost, steps.net_gained)
    assert [sorted((value for (value,) in bag.elements()), key=str) for bag in bags] == [
        [388, 388, 400, 999],
        [388, 388, 999],
        [388, 400, 400, 700],
        [388, 999],
        [400, 400, 700],
    ]
    assert steps.change.rows == ({(999,)}, {(700,)})


def test_example_2_incr_project() -> None:
    change = incr_project(R, D, ("val1",))
    assert change.rows == ({(999,)}, {(700,)})
    leaf = relation("R", "val1", "val2")
    assert first_principle(leaf.project("val1"), SubstitutionList({"R": R}, {"R": D})) == change


CROSS_REMOVED = {
    ("02,20", 200, 179), ("02,30", 200, 200), ("02,50", 200, 98),
    ("01,10", 799, 799), ("01,20", 799, 179), ("01,30", 799, 200), ("01,40", 799, 700), ("01,50", 799, 98),
    ("03,10", 179, 799), ("03,20", 179, 179), ("03,30", 179, 200), ("03,40", 179, 700), ("03,50", 179, 98),
}  # fmt: skip
CROSS_ADDED = {
    ("02,30", 200, 645), ("02,50", 200, 503),
    ("03,10", 700, 799), ("03,30", 700, 645), ("03,40", 700, 700), ("03,50", 700, 503),
    ("04,10", 98, 799), ("04,30", 98, 645), ("04,40", 98, 700), ("04,50", 98, 503),
}  # fmt: skip


def test_example_3_incr_join() -> None:
    assert parts(incr_join(R1, R2, D1, D2)) == (CROSS_REMOVED, CROSS_ADDED)
    assert parts(first_principle(R1_LEAF.join(R2_LEAF), BOTH)) == (CROSS_REMOVED, CROSS_ADDED)


def like_relations() -> tuple[RelationInstance, RelationInstance, DeltaPair, DeltaPair]:
    """R1 and R2 with their one attribute under the same name, for unions and differences."""
    return one_column(R1), one_column(R2), one_column_delta(D1), one_column_delta(D2)


LIKE = SubstitutionList(
    {"R1": one_column(R1), "R2": one_column(R2)}, {"R1": one_column_delta(D1), "R2": one_column_delta(D2)}
)


def test_example_4_incr_union() -> None:
    expected = ({("03,20", 179)}, {("30", 645), ("50", 503)})
    assert parts(incr_union(*like_relations())) == expected
    union = relation("R1", "value").union(relation("R2", "value"))
    assert parts(first_principle(union, LIKE)) == expected


def test_example_5_incr_diff() -> None:
    expected: tuple[set[object], set[object]] = (set(), {("02", 200), ("04", 98)})
    assert parts(incr_diff(*like_relations())) == expected
    difference = relation("R1", "value").difference(relation("R2", "value"))
    assert parts(first_principle(difference, LIKE)) == expected


def test_example_6_the_generic_chain_rule() -> None:
    r, s = relation("R", "A", "x"), relation("S", "A", "y")
    expression = r.select("x > 1").project("A").union(s.project("A"))
    changes = Changes(expression)
    step = chain_rule_once(changes)
    assert step == IncrUnion(expression.left, expression.right, Changes(expression.left), Changes(expression.right))
    opened = chain_rule(relation("R", "A").select("A > 1").union(s.project("A")))
    plain = relation("R", "A")
    assert opened == IncrUnion(
        plain.select("A > 1"),
        s.project("A"),
        IncrSelect(StoredDelta(plain), plain.select("A > 1").condition),
        IncrProject(s, StoredDelta(s), ("A",)),
    )
    assert show(opened) == "IncrUnion(σ[A > 1](R), Π[A](S), IncrSelect[A > 1](ΔR), IncrProject[A](S, ΔS))"


def test_example_7_two_ways_to_one_expression() -> None:
    r, s = relation("R", "k", "a"), relation("S", "k", "b")
    expression = r.join(s).select("a > 1 AND b > 2")
    corner_b = chain_rule(expression)
    assert isinstance(corner_b, IncrSelect)
    assert isinstance(corner_b.delta, IncrJoin)
    optimised = chain_rule_first(expression)
    a, b = r.select("a > 1"), s.select("b > 2")
    assert optimised == IncrJoin(a, b, IncrSelect(StoredDelta(r), a.condition), IncrSelect(StoredDelta(s), b.condition))
    assert relational_first(expression) == optimised
    corner_c = a.join(b)
    assert corner_c in equivalents(expression)
    assert chain_rule(corner_c) == optimised
    assert TRANSFORMATIONS[6 - 1].down(corner_b) == optimised
    list_ = SubstitutionList(
        {
            "R": RelationInstance.of(("k", "a"), (1, 1, 5), (2, 2, 0), (3, 3, 7)),
            "S": RelationInstance.of(("k", "b"), (4, 1, 5), (5, 3, 1)),
        },
        {
            "R": DeltaPair(RelationInstance.of(("k", "a"), (1, 1, 5)), RelationInstance.of(("k", "a"), (1, 1, 6))),
            "S": DeltaPair(RelationInstance.of(("k", "b"), (5, 3, 1)), RelationInstance.of(("k", "b"), (5, 3, 9))),
        },
    )
    assert delta_of(optimised, list_) == first_principle(expression, list_)
    assert delta_of(optimised, list_).rows == ({(1, 5, 5)}, {(1, 6, 5), (3, 7, 9)})


def test_lemma_1_a_horizontally_fragmented_relation() -> None:
    first, second, d1, d2 = like_relations()
    whole = United(relation("R1", "value"), relation("R2", "value"))
    assert first_principle(whole, LIKE) == incr_union(first, second, d1, d2)


KEYED = SubstitutionList(
    {
        "R11": RelationInstance.of(("k", "a"), ("r11", 1, 10), ("r12", 2, 20)),
        "R12": RelationInstance.of(("k", "a"), ("r13", 3, 30)),
        "R21": RelationInstance.of(("k", "b"), ("r21", 1, "x"), ("r22", 2, "y"), ("r23", 3, "z")),
        "R22": RelationInstance.of(("k", "c"), ("r24", 1, True), ("r25", 2, False), ("r26", 3, True)),
    },
    {
        "R11": DeltaPair(
            RelationInstance.of(("k", "a"), ("r12", 2, 20)), RelationInstance.of(("k", "a"), ("r12", 2, 25))
        ),
        "R12": DeltaPair(RelationInstance.of(("k", "a"), ("r13", 3, 30)), RelationInstance(("k", "a"), {})),
        "R21": DeltaPair(
            RelationInstance.of(("k", "b"), ("r21", 1, "x")), RelationInstance.of(("k", "b"), ("r21", 1, "xx"))
        ),
    },
)


def test_lemma_2_a_vertically_fragmented_relation() -> None:
    whole = Joined(relation("R21", "k", "b"), relation("R22", "k", "c"))
    delta = delta_of(chain_rule(whole), KEYED)
    assert delta == first_principle(whole, KEYED)
    assert delta.rows == ({(1, "x", True)}, {(1, "xx", True)})


def test_hybrid_fragmentation() -> None:
    r11, r12 = relation("R11", "k", "a"), relation("R12", "k", "a")
    r21, r22 = relation("R21", "k", "b"), relation("R22", "k", "c")
    whole = r11.union(r12).join(r21.join(r22))
    expected = "IncrJoin((R11 ∪ R12), (R21 ⋈ R22), IncrUnion(R11, R12, ΔR11, ΔR12), IncrJoin(R21, R22, ΔR21, ΔR22))"
    assert show(chain_rule(whole)) == expected
    delta = delta_of(chain_rule(whole), KEYED)
    assert delta.rows == first_principle(whole, KEYED).rows
    assert delta.rows == (
        {(2, 20, "y", False), (3, 30, "z", True), (1, 10, "x", True)},
        {(2, 25, "y", False), (1, 10, "xx", True)},
    )


def test_hybrid_fragmentation_in_sql() -> None:
    """The same relation, declared in SQL: its delta follows from those of the fragments."""
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1_000_000)) as db:
        db.sql("""
            CREATE TABLE R (k INT, a INT, b STRING, c BOOLEAN) FRAGMENTED BY JOIN (
                UNION (R11 (a) AT north WHERE k < 2, R12 (a) AT south WHERE k >= 2),
                JOIN (R21 (b) AT south, R22 (c) AT south) ON k
            ) ON k;
            INSERT INTO R VALUES (1, 10, 'x', true), (2, 20, 'y', false), (3, 30, 'z', true)
        """)
        before = db.time
        with db.transaction() as tx:
            tx.sql("UPDATE R SET a = 25 WHERE k = 2; DELETE FROM R WHERE k = 3; UPDATE R SET b = 'xx' WHERE k = 1")
        delta = db.changes("R", since=before)
        assert {tuple(row.values()) for row in delta.removals()} == {
            (2, 20, "y", False),
            (3, 30, "z", True),
            (1, 10, "x", True),
        }
        assert {tuple(row.values()) for row in delta.additions()} == {(2, 25, "y", False), (1, 10, "xx", True)}
        assert db.changes("R11", since=before).rows() == []
        assert "R = (R11 at north [k < 2] ⊎ R12 at south [k >= 2]) ⋈ (R21 at south ⋈ R22 at south)" in db.explain("R")


# the appendix


def test_appendix_hipac_s_project_does_not_see_duplicates() -> None:
    """The table prints 799 as the old value of 01; Example 2 has 388 there."""
    delta = hipac_incr_project(DeltaRelation.of_pair(D), ("val1",))
    assert delta.rows == {
        DeltaRow(("01",), (388,), ("01",), (400,)),
        DeltaRow(("02",), (388,), ("02",), (700,)),
        DeltaRow(("04",), (999,), None, None),
        DeltaRow(None, None, ("05",), (388,)),
        DeltaRow(None, None, ("06",), (400,)),
    }
    values = {row.old for row in delta.rows} - {None}, {row.new for row in delta.rows} - {None}
    assert values != incr_project(R, D, ("val1",)).rows


def test_appendix_hipac_s_join_is_wrong_where_both_sides_change() -> None:
    """All six rows of the table; it prints 03,20 as the new tid of the two that have no new tuple."""
    left, right = DeltaRelation.of_pair(D1), DeltaRelation.of_pair(D2)
    published = published_incr_join(R1, R2, left, right)
    tid = ("03", "30")
    assert {(row.old, row.new) for row in published if row.tid == tid} == {
        ((179, 200), (700, 200)),
        ((179, 200), (179, 645)),
        ((179, 200), (700, 645)),
    }
    three = (*left_incr_join(left, R2), *right_incr_join(R1, right), *both_incr_join(left, right))
    assert [(row.old, row.new) for row in three if row.tid == ("03", "20")] == [
        ((179, 179), (700, 179)),
        ((179, 179), None),
        ((179, 179), None),
    ]
    with pytest.raises(InvalidDeltaRelation):
        DeltaRelation(("R1_value", "R2_value"), frozenset(published))
    ours = hipac_incr_join(R1, R2, left, right)
    assert parts(ours.pair()) == (CROSS_REMOVED, CROSS_ADDED)
    assert [(row.old, row.new) for row in ours.rows if row.tid == ("03", "30")] == [((179, 200), (700, 645))]


def test_appendix_hipac_s_join_is_right_where_one_side_changes() -> None:
    delta, nothing = DeltaRelation.of_pair(D1), DeltaRelation(("R2_value",), frozenset())
    assert frozenset(left_incr_join(delta, R2)) == hipac_incr_join(R1, R2, delta, nothing).rows
    delta, nothing = DeltaRelation.of_pair(D2), DeltaRelation(("R1_value",), frozenset())
    assert frozenset(right_incr_join(R1, delta)) == hipac_incr_join(R1, R2, nothing, delta).rows


def test_appendix_hipac_s_join_is_right_without_deletions() -> None:
    left = DeltaRelation.of_pair(
        DeltaPair(RelationInstance(("R1_value",), {}), RelationInstance.of(("R1_value",), ("04", 98)))
    )
    right = DeltaRelation.of_pair(
        DeltaPair(RelationInstance(("R2_value",), {}), RelationInstance.of(("R2_value",), ("60", 5)))
    )
    assert frozenset(published_incr_join(R1, R2, left, right)) == hipac_incr_join(R1, R2, left, right).rows
