"""Explanations: clauses, networks and differentials that mean what the database computes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings.algebra.calculus import DeltaSet, Facts, Sign, evaluate, partial
from tidings.front.amosql.differentials import as_algebra, differentials
from tidings.front.amosql.network import network
from tidings.lang.amosql import syntax
from tidings.lang.amosql.build import build
from tidings.lang.amosql.expand import expanded
from tidings.lang.amosql.objectlog import numbered, show_clause
from tidings.lang.amosql.parse import read
from tidings.lang.amosql.schema import Schema

SCHEMA = """
create type item; create type part under item; create type shop;
create function quantity(item) -> integer;
create function price(item) -> integer;
create function sells(shop) -> set of item;
create function worth(item i) -> integer as select quantity(i) * price(i);
create function price(part p) -> integer as select quantity(p) + 1;
create function offers(shop s) -> integer as select distinct worth(sells(s));
"""


def schema(rule: str) -> Schema:
    return build([s for s in read(SCHEMA + rule) if isinstance(s, syntax.Definition)])


def condition(rule: str) -> str:
    made = schema(f"create rule r() as {rule} do set quantity(i) = 0;")
    return show_clause(numbered(expanded(made.rules["r"].condition, made), frozenset({"i", "s"})))


def test_late_bound_functions_are_not_expanded() -> None:
    assert (
        condition("for each item i when worth(i) > 5")
        == """\
cnd_r_item(I) ←
    quantity_item,integer(I,G1) ∧
    price_item,integer(I,G2) ∧
    G3 = G1 * G2 ∧
    G3 > 5"""
    )


def test_early_bound_functions_are() -> None:
    assert (
        condition("for each part i when price(i) = 7")
        == """\
cnd_r_part(I) ←
    part(I) ∧
    quantity_item,integer(I,G1) ∧
    7 = G1 + 1"""
    )


def test_negation_alternatives_and_aggregates() -> None:
    text = condition(
        "for each item i when not (quantity(i) > 3) and (quantity(i) = 1 or quantity(i) = 2) "
        "and count(select o for each item o where quantity(o) > quantity(i)) > 9"
    )
    assert (
        text
        == """\
cnd_r_item(I) ←
    item(I) ∧
    ¬(quantity_item,integer(I,G1) ∧ G1 > 3) ∧
    (quantity_item,integer(I,1) ∨ quantity_item,integer(I,2)) ∧
    G5 = count(G2 | quantity_item,integer(G2,G3) ∧ quantity_item,integer(I,G4) ∧ G3 > G4) ∧
    G5 > 9"""
    )


def test_nodes_of_a_network() -> None:
    made = schema("""
        create rule r() as for each shop s, item i when offers(s) > 3 and not (sells(s) = i)
          and (quantity(i) = 1 or worth(i) = 2) and sum(select quantity(o) for each item o) > 1 do set quantity(i) = 0;
    """)
    nodes = network(made, made.rules["r"].condition)
    assert (
        nodes.draw("cnd_r", {})
        == """\
cnd_r
├── item
├── offers
│   ├── sells
│   ├── quantity
│   └── price
│       ├── price_item
│       ├── part
│       └── price_part
│           ├── part
│           └── quantity
├── sells
├── cnd_r.or1
│   ├── quantity
│   └── price (above)
└── cnd_r.sum1
    └── quantity"""
    )
    levels = nodes.levels()
    assert [levels[n] for n in ("quantity", "price_part", "price", "cnd_r.sum1", "offers", "cnd_r")] == [
        0,
        1,
        2,
        1,
        3,
        4,
    ]


def test_signs_of_what_is_negated() -> None:
    """Losses of what is negated are gains, in the new state; its gains are losses, in the old one."""
    made = schema(
        "create rule r() as for each shop s, item i when quantity(i) > 3 and not (sells(s) = i) do set quantity(i) = 0;"
    )
    (clause,) = network(made, made.rules["r"].condition).nodes["cnd_r"].clauses
    found = {(d.influent, d.sign): d for d in differentials(numbered(clause, frozenset({"i", "s"})))}
    gain, loss = found["sells", Sign.MINUS], found["sells", Sign.PLUS]
    assert (
        gain.text
        == """\
Δ+cnd_r_shop,item(S,I)/Δ-sells ←
    shop(S) ∧
    quantity_item,integer(I,G1) ∧
    G1 > 3 ∧
    Δ-sells_shop,item(S,I)"""
    )
    assert "quantity_old_item,integer(I,G1)" in loss.text
    assert "Δ+sells_shop,item(S,I)" in loss.text
    assert gain.algebra is None


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as database:
        yield database


@pytest.mark.parametrize(
    "rule",
    [
        "for each item i when quantity(i) > 2",
        "for each item i, item j when quantity(i) = quantity(j) and next_to(i) = j",
        "for each item i, box b when holds(b) = i and quantity(i) * size(b) - 1 > quantity(next_to(i))",
        "for each item i, box b when holds(b) = i and size(b) = 3",
    ],
)
def test_differentials_in_the_algebra_are_the_changes_of_the_condition(db: tidings.Database, rule: str) -> None:
    """What is printed, evaluated over the tables, claims all that the view gained and lost."""
    text = f"""
        create type item; create type box;
        create function quantity(item) -> integer; create function next_to(item) -> item;
        create function size(box) -> integer; create function holds(box) -> set of item;
        create rule r() as {rule} do set quantity(i) = 0;
    """
    db.amosql(
        text
        + """
        create item instances :a, :b, :c; create box instances :x, :y;
        set quantity(:a) = 3; set quantity(:b) = 3; set next_to(:a) = :b; set next_to(:b) = :a; set next_to(:c) = :c;
        set size(:x) = 3; set size(:y) = 2; add holds(:x) = :a; add holds(:y) = :b; commit;
    """
    )
    tables = ["item", "box", "quantity", "next_to", "size", "holds"]
    since = db.time

    def state(at: int) -> dict[str, set[tuple[object, ...]]]:
        return {t: {tuple(row.values()) for row in db.query(t, as_of=at).rows()} for t in tables}

    db.amosql("set quantity(:c) = 3; set quantity(:b) = 1; set size(:y) = 3;")
    db.amosql("add holds(:x) = :c; remove holds(:x) = :a; commit;")
    before, after = state(since), state(db.time)
    made = build([s for s in read(text) if isinstance(s, syntax.Definition)])
    expression = as_algebra(numbered(expanded(made.rules["r"].condition, made), frozenset("ijb")))
    assert expression is not None
    facts = Facts.after(before, {t: DeltaSet.between(before[t], after[t]) for t in tables})
    rows = {tuple(row.values()) for row in db.query("cnd_r").rows()}
    assert evaluate(expression, facts) == rows
    net = db.changes("cnd_r", since)
    gained = {tuple(c.row.values()) for c in net.rows() if c.weight > 0}
    lost = {tuple(c.row.values()) for c in net.rows() if c.weight < 0}
    claims = {
        sign: set().union(*(evaluate(d, facts) for t in tables if (d := partial(expression, t, sign)) is not None))
        for sign in Sign
    }
    assert gained <= claims[Sign.PLUS]
    assert lost <= claims[Sign.MINUS]
    assert gained or lost


def test_a_function_is_explained(db: tidings.Database) -> None:
    db.amosql(SCHEMA + "create procedure p(item i) as set quantity(i) = 0;")
    result = db.amosql("explain price")
    assert result is not None
    assert (
        result.rows()[0]["explanation"]
        == """\
price(item) -> integer
  stored, price_item

price(part) -> integer
  price_part_part,integer(P,G1) ←
      part(P) ∧
      quantity_item,integer(P,G2) ∧
      G1 = G2 + 1

Expanded clause
  price_part_part,integer(P,G1) ←
      part(P) ∧
      quantity_item,integer(P,G2) ∧
      G1 = G2 + 1"""
    )
    shown = db.amosql("explain p")
    assert shown is not None
    assert "a procedure" in shown.rows()[0]["explanation"]
