"""Risch and Sköld, "Monitoring Complex Rule Conditions" (AMOS), sections 1.4 and 1.5: the examples with their values.

Each example runs in the calculus of :mod:`tidings.algebra.calculus`.  Where its operators are among those the kernel
maintains, the same states and changes go through the kernel too.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import tidings
from tests.papers.amos import bag, differential, kernel_delta, set_change, store, weighted
from tidings.algebra.calculus import (
    DeltaSet,
    Facts,
    NaturalJoin,
    PhysicalEvent,
    Row,
    RowSet,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    Sign,
    accumulate,
    apply,
    delta,
    delta_union,
    differentials,
    evaluate,
    join,
    logical_rollback,
    old,
    project,
    relation,
    select,
    show,
    strict,
)
from tidings.delta.zset import ZSet

PLUS, MINUS = Sign.PLUS, Sign.MINUS


# Section 1.5.1 and 1.5.2: delta-sets of stored relations


def test_delta_union_keeps_what_only_one_side_says() -> None:
    first = DeltaSet.of(plus={("a",), ("b",)}, minus={("c",), ("d",)})
    second = DeltaSet.of(plus={("b",), ("c",), ("e",)}, minus={("a",), ("d",), ("f",)})
    joined = delta_union(first, second)
    assert joined.plus == (first.plus | second.plus) - (first.minus | second.minus) == {("b",), ("e",)}
    assert joined.minus == (first.minus | second.minus) - (first.plus | second.plus) == {("d",), ("f",)}


MIN_STOCK_LOG = [
    PhysicalEvent(MINUS, "min_stock", (":item1", 100)),
    PhysicalEvent(PLUS, "min_stock", (":item1", 150)),
    PhysicalEvent(MINUS, "min_stock", (":item1", 150)),
    PhysicalEvent(PLUS, "min_stock", (":item1", 100)),
]


def test_min_stock_set_twice_has_no_net_effect() -> None:
    assert [str(e) for e in MIN_STOCK_LOG] == [
        "-⟨min_stock, :item1, 100⟩",
        "+⟨min_stock, :item1, 150⟩",
        "-⟨min_stock, :item1, 150⟩",
        "+⟨min_stock, :item1, 100⟩",
    ]
    assert [str(d) for d in accumulate(MIN_STOCK_LOG, "min_stock")] == [
        "⟨{}, {⟨:item1, 100⟩}⟩",
        "⟨{⟨:item1, 150⟩}, {⟨:item1, 100⟩}⟩",
        "⟨{}, {⟨:item1, 100⟩}⟩",
        "⟨{}, {}⟩",
    ]


def test_only_influents_of_a_condition_need_delta_sets() -> None:
    assert accumulate(MIN_STOCK_LOG, "max_stock") == ()


@pytest.mark.parametrize("transactions", [1, 2, 4])
def test_min_stock_in_the_kernel(duckdb: tidings.Database, transactions: int) -> None:
    """However the four events are spread over transactions, nothing lies between the first state and the last."""
    duckdb.sql("CREATE TABLE min_stock (item STRING, least INT); INSERT INTO min_stock VALUES (':item1', 100)")
    since = duckdb.time
    size = len(MIN_STOCK_LOG) // transactions
    for start in range(0, len(MIN_STOCK_LOG), size):
        with duckdb.transaction() as tx:
            for event in MIN_STOCK_LOG[start : start + size]:
                (tx.insert if event.sign is PLUS else tx.delete)(event.relation, [event.row])
    assert len(duckdb.changes("min_stock", since)) == 0
    assert len(duckdb.changes("min_stock", since, per_commit=True)) == {1: 0, 2: 4, 4: 4}[transactions]


def test_the_old_state_by_logical_rollback() -> None:
    before: RowSet = frozenset({(":item1", 100), (":item2", 200)})
    changed = DeltaSet.of(plus={(":item1", 150), (":item3", 50)}, minus={(":item1", 100)})
    after = apply(before, changed)
    assert after == {(":item1", 150), (":item2", 200), (":item3", 50)}
    assert (after | changed.minus) - changed.plus == logical_rollback(after, changed) == before
    assert DeltaSet.between(before, after) == changed


# Section 1.5.3: the positive differentials of p(X, Z) ← q(X, Y) ∧ r(Y, Z)

P = project(join(relation("q", "X", "Y"), relation("r", "Y", "Z")), "X", "Z")
P_SQL = """
    CREATE TABLE q (x INT, y INT);
    CREATE TABLE r (y INT, z INT);
    CREATE VIEW p AS SELECT q.x, r.z FROM q JOIN r ON q.y = r.y
"""
P_FACTS = Facts.after(
    {"q": {(1, 1)}, "r": {(1, 2), (2, 3)}},
    {"q": DeltaSet.of(plus={(1, 2)}), "r": DeltaSet.of(plus={(1, 4)})},
)


def test_p_states() -> None:
    assert evaluate(old(P), P_FACTS) == {(1, 2)}
    assert P_FACTS.new("q") == {(1, 1), (1, 2)}
    assert P_FACTS.new("r") == {(1, 2), (1, 4), (2, 3)}
    assert evaluate(P, P_FACTS) == {(1, 2), (1, 3), (1, 4)}
    assert str(P_FACTS.delta("q")) == "⟨{⟨1, 2⟩}, {}⟩"
    assert str(P_FACTS.delta("r")) == "⟨{⟨1, 4⟩}, {}⟩"


@pytest.mark.parametrize(
    ("influent", "text", "value"),
    [("q", "π[X, Z] (Δ+q ⋈ r)", {(1, 3)}), ("r", "π[X, Z] (q ⋈ Δ+r)", {(1, 4)})],
)
def test_p_by_influent(influent: str, text: str, value: set[Row]) -> None:
    positive = differential(P, influent, PLUS)
    assert show(positive) == text
    assert evaluate(positive, P_FACTS) == value
    assert evaluate(differential(P, influent, MINUS), P_FACTS) == set()


def test_p_whole() -> None:
    assert str(delta(P, P_FACTS)) == "⟨{⟨1, 3⟩, ⟨1, 4⟩}, {}⟩"
    assert delta(P, P_FACTS, strict=False) == delta(P, P_FACTS)


def test_p_in_the_kernel(db: tidings.Database) -> None:
    db.sql(P_SQL)
    since = store(db, P_FACTS)
    assert bag(db, "p", since) == ZSet.of([(1, 2)])
    assert bag(db, "p", db.time) == ZSet.of([(1, 2), (1, 3), (1, 4)])
    changed = kernel_delta(db, "p", since)
    assert changed.positive() == ZSet.of([(1, 3), (1, 4)])
    assert not changed.negative()


def test_losses_are_found_in_the_old_state(db: tidings.Database) -> None:
    """q(1, 1) and its partner r(1, 2) go together: in the new state neither finds the other."""
    facts = Facts.after(
        {"q": {(1, 1)}, "r": {(1, 2), (2, 3)}},
        {"q": DeltaSet.of(minus={(1, 1)}), "r": DeltaSet.of(minus={(1, 2)})},
    )
    q, r = relation("q", "X", "Y"), relation("r", "Y", "Z")
    by_q, by_r = differential(P, "q", MINUS), differential(P, "r", MINUS)
    assert show(by_q) == "π[X, Z] (Δ-q ⋈ r_old)"
    assert show(by_r) == "π[X, Z] (q_old ⋈ Δ-r)"
    assert evaluate(by_q, facts) == evaluate(by_r, facts) == {(1, 2)}

    lost_q, lost_r = differential(q, "q", MINUS), differential(r, "r", MINUS)
    in_new_state = [project(join(lost_q, r), "X", "Z"), project(join(q, lost_r), "X", "Z")]
    assert [evaluate(e, facts) for e in in_new_state] == [set(), set()]

    assert str(delta(P, facts)) == "⟨{}, {⟨1, 2⟩}⟩"
    db.sql(P_SQL)
    assert kernel_delta(db, "p", store(db, facts)) == weighted({(1, 2): -1})


# Table 1


@dataclass(frozen=True)
class Case:
    """A row of Table 1: its four cells as text and as values, and the delta-set they give."""

    node: SetExpression
    facts: Facts
    cells: dict[tuple[str, Sign], tuple[str, set[Row]]]
    whole: DeltaSet


SETS = Facts.after(
    {"Q": {(1, 1), (2, 1), (3, 0), (7, 1)}, "R": {(1, 1), (2, 1), (5, 0)}},
    {
        "Q": DeltaSet.of(plus={(4, 1), (5, 0)}, minus={(2, 1), (3, 0)}),
        "R": DeltaSet.of(plus={(3, 0), (6, 1), (7, 1)}, minus={(1, 1), (2, 1)}),
    },
)
UNARY = Facts.after(
    {"Q": {(1,), (2,)}, "R": {(7,)}},
    {"Q": DeltaSet.of(plus={(3,)}, minus={(2,)}), "R": DeltaSet.of(plus={(8,)}, minus={(7,)})},
)
PAIRS = Facts.after(
    {"Q": {(1, 1), (2, 1), (3, 2)}, "R": {(1, 7), (2, 8)}},
    {"Q": DeltaSet.of(plus={(4, 2)}, minus={(2, 1)}), "R": DeltaSet.of(plus={(2, 9)}, minus={(1, 7)})},
)
Q, R = relation("Q", "attr", "cond"), relation("R", "attr", "cond")

TABLE_1 = {
    "select": Case(
        select(Q, "cond"),
        SETS,
        {("Q", PLUS): ("σ[cond] Δ+Q", {(4, 1)}), ("Q", MINUS): ("σ[cond] Δ-Q", {(2, 1)})},
        DeltaSet.of(plus={(4, 1)}, minus={(2, 1)}),
    ),
    "project": Case(
        project(Q, "attr"),
        SETS,
        {("Q", PLUS): ("π[attr] Δ+Q", {(4,), (5,)}), ("Q", MINUS): ("π[attr] Δ-Q", {(2,), (3,)})},
        DeltaSet.of(plus={(4,), (5,)}, minus={(2,), (3,)}),
    ),
    "union": Case(
        SetUnion(Q, R),
        SETS,
        {
            ("Q", PLUS): ("Δ+Q − R_old", {(4, 1)}),
            ("R", PLUS): ("Δ+R − Q_old", {(6, 1)}),
            ("Q", MINUS): ("Δ-Q − R", {(2, 1)}),
            ("R", MINUS): ("Δ-R − Q", {(2, 1)}),
        },
        DeltaSet.of(plus={(4, 1), (6, 1)}, minus={(2, 1)}),
    ),
    "difference": Case(
        SetDifference(Q, R),
        SETS,
        {
            ("Q", PLUS): ("Δ+Q − R", {(4, 1)}),
            ("R", PLUS): ("Q ∩ Δ-R", {(1, 1)}),
            ("Q", MINUS): ("Δ-Q − R_old", {(3, 0)}),
            ("R", MINUS): ("Q_old ∩ Δ+R", {(3, 0), (7, 1)}),
        },
        DeltaSet.of(plus={(1, 1), (4, 1)}, minus={(3, 0), (7, 1)}),
    ),
    "product": Case(
        SetProduct(relation("Q", "x"), relation("R", "y")),
        UNARY,
        {
            ("Q", PLUS): ("Δ+Q × R", {(3, 8)}),
            ("R", PLUS): ("Q × Δ+R", {(1, 8), (3, 8)}),
            ("Q", MINUS): ("Δ-Q × R_old", {(2, 7)}),
            ("R", MINUS): ("Q_old × Δ-R", {(1, 7), (2, 7)}),
        },
        DeltaSet.of(plus={(1, 8), (3, 8)}, minus={(1, 7), (2, 7)}),
    ),
    "join": Case(
        NaturalJoin(relation("Q", "x", "y"), relation("R", "y", "z")),
        PAIRS,
        {
            ("Q", PLUS): ("Δ+Q ⋈ R", {(4, 2, 8), (4, 2, 9)}),
            ("R", PLUS): ("Q ⋈ Δ+R", {(3, 2, 9), (4, 2, 9)}),
            ("Q", MINUS): ("Δ-Q ⋈ R_old", {(2, 1, 7)}),
            ("R", MINUS): ("Q_old ⋈ Δ-R", {(1, 1, 7), (2, 1, 7)}),
        },
        DeltaSet.of(plus={(3, 2, 9), (4, 2, 8), (4, 2, 9)}, minus={(1, 1, 7), (2, 1, 7)}),
    ),
    "intersect": Case(
        SetIntersection(Q, R),
        SETS,
        {
            ("Q", PLUS): ("Δ+Q ∩ R", {(5, 0)}),
            ("R", PLUS): ("Q ∩ Δ+R", {(7, 1)}),
            ("Q", MINUS): ("Δ-Q ∩ R_old", {(2, 1)}),
            ("R", MINUS): ("Q_old ∩ Δ-R", {(1, 1), (2, 1)}),
        },
        DeltaSet.of(plus={(5, 0), (7, 1)}, minus={(1, 1), (2, 1)}),
    ),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_as_text(name: str) -> None:
    case = TABLE_1[name]
    assert {at: show(e) for at, e in differentials(case.node).items()} == {
        at: text for at, (text, _) in case.cells.items()
    }


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_as_values(name: str) -> None:
    case = TABLE_1[name]
    assert {at: evaluate(e, case.facts) for at, e in differentials(case.node).items()} == {
        at: value for at, (_, value) in case.cells.items()
    }


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_joined(name: str) -> None:
    """The delta-union of a row's cells is the change of the operator, found the long way too."""
    case = TABLE_1[name]
    recomputed = DeltaSet.between(evaluate(old(case.node), case.facts), evaluate(case.node, case.facts))
    gains = [DeltaSet.of(plus=value) for (_, sign), (_, value) in case.cells.items() if sign is PLUS]
    losses = [DeltaSet.of(minus=value) for (_, sign), (_, value) in case.cells.items() if sign is MINUS]
    assert delta_union(*gains, *losses) == case.whole == recomputed
    assert delta(case.node, case.facts) == delta(case.node, case.facts, strict=False) == case.whole


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("product", ({(2, 7)}, {(2, 8), (3, 7)})),
        ("join", ({(2, 1, 7)}, set())),
        ("intersect", ({(2, 1)}, {(3, 0)})),
    ],
)
def test_losses_taken_from_the_new_state_are_wrong(name: str, wrong: tuple[set[Row], set[Row]]) -> None:
    """The negative cells with the new state in the place of the old one, against what was lost."""
    case = TABLE_1[name]
    assert isinstance(case.node, SetProduct | NaturalJoin | SetIntersection)
    operator, left, right = type(case.node), case.node.left, case.node.right
    in_new_state = [operator(differential(left, "Q", MINUS), right), operator(left, differential(right, "R", MINUS))]
    claimed = frozenset[Row]().union(*(evaluate(e, case.facts) for e in in_new_state))
    missed, invented = case.whole.minus - claimed, claimed - case.whole.minus
    assert (set(missed), set(invented)) == wrong


def test_the_complement_swaps_gains_and_losses() -> None:
    """Δ(~R) = ⟨Δ-R, Δ+R⟩, and the row of Q − R is that of Q ∩ (~R)."""
    universe: RowSet = frozenset().union(*(f(n) for f in (SETS.old, SETS.new) for n in "QR"))
    complement = Facts.between(
        {"Q": SETS.old("Q"), "R": universe - SETS.old("R")}, {"Q": SETS.new("Q"), "R": universe - SETS.new("R")}
    )
    assert complement.delta("R") == ~SETS.delta("R")
    for (influent, sign), (_, value) in TABLE_1["difference"].cells.items():
        assert evaluate(differential(SetIntersection(Q, R), influent, sign), complement) == value


def test_insertions_only() -> None:
    """Without losses the change of an intersection is Δ+Q ∩ R ∪ Q ∩ Δ+R."""
    grown = Facts.after(
        {"Q": {(1, 1), (2, 1)}, "R": {(1, 1), (3, 0)}},
        {"Q": DeltaSet.of(plus={(3, 0), (4, 1)}), "R": DeltaSet.of(plus={(2, 1), (4, 1)})},
    )
    gains = SetUnion(differential(SetIntersection(Q, R), "Q", PLUS), differential(SetIntersection(Q, R), "R", PLUS))
    assert show(gains) == "(Δ+Q ∩ R) ∪ (Q ∩ Δ+R)"
    assert delta(SetIntersection(Q, R), grown) == DeltaSet(plus=evaluate(gains, grown))
    assert evaluate(gains, grown) == {(2, 1), (3, 0), (4, 1)}


def test_a_projection_claims_too_much() -> None:
    """π[cond]: 1 was there and stays, 0 moved from one tuple to another.  Strict filtering sees no change."""
    node = project(Q, "cond")
    assert evaluate(differential(node, "Q", PLUS), SETS) == {(0,), (1,)}
    assert evaluate(differential(node, "Q", MINUS), SETS) == {(0,), (1,)}
    exact = {sign: strict(node, "Q", sign) for sign in Sign}
    assert {sign: evaluate(e, SETS) for sign, e in exact.items() if e is not None} == {PLUS: set(), MINUS: set()}
    assert not delta(node, SETS)


KERNEL = {
    "select": "SELECT * FROM Q WHERE cond <> 0",
    "project": "SELECT attr FROM Q",
    "product": "SELECT Q.x, R.y FROM Q CROSS JOIN R",
    "join": "SELECT Q.x, Q.y, R.z FROM Q JOIN R ON Q.y = R.y",
    "union": "SELECT * FROM Q UNION ALL SELECT * FROM R",
}
KERNEL_COLUMNS = {
    "product": ("x INT", "y INT"),
    "join": ("x INT, y INT", "y INT, z INT"),
}


def filled(db: tidings.Database, name: str) -> int:
    for table, columns in zip("QR", KERNEL_COLUMNS.get(name, ("attr INT, cond INT",) * 2), strict=True):
        db.sql(f"CREATE TABLE {table} ({columns})")
    return store(db, TABLE_1[name].facts)


@pytest.mark.parametrize("name", ["select", "project", "product", "join"])
def test_table_1_in_the_kernel(duckdb: tidings.Database, name: str) -> None:
    """Where no two rows become equal, the positive and negative parts of the kernel's delta are Δ+P and Δ-P."""
    since = filled(duckdb, name)
    changed = kernel_delta(duckdb, KERNEL[name], since)
    assert changed.positive() == ZSet.of(TABLE_1[name].whole.plus)
    assert changed.negative() == ZSet.of(TABLE_1[name].whole.minus)


def test_union_in_the_kernel(duckdb: tidings.Database) -> None:
    """UNION ALL counts: (5, 0) comes again, (2, 1) goes twice, (3, 0) goes and comes.  As sets it is Table 1."""
    since = filled(duckdb, "union")
    before, changed = bag(duckdb, KERNEL["union"], since), kernel_delta(duckdb, KERNEL["union"], since)
    assert changed == weighted({(4, 1): 1, (5, 0): 1, (6, 1): 1, (7, 1): 1, (1, 1): -1, (2, 1): -2})
    assert set_change(before, changed) == TABLE_1["union"].whole


def test_projection_in_the_kernel(duckdb: tidings.Database) -> None:
    """A bag tells from its weights what the set calculus must look up in the old and new states."""
    since = filled(duckdb, "project")
    query = "SELECT cond FROM Q"
    before, changed = bag(duckdb, query, since), kernel_delta(duckdb, query, since)
    assert before == weighted({(1,): 3, (0,): 1})
    assert not changed
    assert set_change(before, changed) == delta(project(Q, "cond"), SETS)
