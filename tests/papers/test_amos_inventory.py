"""Risch and Sköld, "Monitoring Complex Rule Conditions" (AMOS): the factory inventory of section 1.4.

The rule monitor_items orders an item when its quantity falls below a threshold computed from four other functions.
The paper gives no quantities; here both items begin with a full stock.
"""

from __future__ import annotations

import pytest

import tidings
from tests.papers.amos import bag, differential, kernel_delta, store, weighted
from tidings.algebra.calculus import (
    DeltaSet,
    Facts,
    Row,
    Sign,
    delta_union,
    evaluate,
    join,
    levels,
    project,
    propagate,
    relation,
    select,
    show,
    strict,
)

PLUS = Sign.PLUS

ITEMS = relation("quantity", "I", "G1")
THRESHOLD = project(
    join(
        relation("consume_freq", "I", "G1"),
        relation("delivery_time", "I", "G2", "G3"),
        relation("supplies", "I", "G2"),
        relation("min_stock", "I", "G5"),
    ),
    "I",
    "T = G1 * G3 + G5",
)
BUSHY = {
    "threshold": THRESHOLD,
    "cnd_monitor_items": project(select(join(ITEMS, relation("threshold", "I", "G2")), "G1 < G2"), "I"),
}
FLAT = {
    "cnd_monitor_items": project(
        select(
            join(
                ITEMS,
                relation("consume_freq", "I", "G2"),
                relation("delivery_time", "I", "G3", "G4"),
                relation("supplies", "I", "G3"),
                relation("min_stock", "I", "G6"),
            ),
            "G1 < G2 * G4 + G6",
        ),
        "I",
    )
}
INVENTORY: dict[str, set[Row]] = {
    "quantity": {("item1", 5000), ("item2", 7500)},
    "max_stock": {("item1", 5000), ("item2", 7500)},
    "min_stock": {("item1", 100), ("item2", 200)},
    "consume_freq": {("item1", 20), ("item2", 30)},
    "supplies": {("item1", "sup1"), ("item2", "sup2")},
    "delivery_time": {("item1", "sup1", 2), ("item2", "sup2", 3)},
}
INVENTORY_SQL = """
    CREATE TABLE quantity (item STRING, value INT);
    CREATE TABLE max_stock (item STRING, value INT);
    CREATE TABLE min_stock (item STRING, value INT);
    CREATE TABLE consume_freq (item STRING, value INT);
    CREATE TABLE supplies (item STRING, supplier STRING);
    CREATE TABLE delivery_time (item STRING, supplier STRING, value INT);
    CREATE VIEW threshold AS
        SELECT c.item, c.value * d.value + m.value AS value
        FROM consume_freq c
        JOIN delivery_time d ON d.item = c.item
        JOIN supplies s ON s.item = d.item AND s.supplier = d.supplier
        JOIN min_stock m ON m.item = c.item;
    CREATE VIEW cnd_monitor_items AS
        SELECT q.item FROM quantity q JOIN threshold t ON t.item = q.item WHERE q.value < t.value
"""


def inventory(**changes: DeltaSet) -> Facts:
    return Facts.after(INVENTORY, changes)


def moved(item: str, before: int, after: int) -> DeltaSet:
    return DeltaSet.of(plus={(item, after)}, minus={(item, before)})


def test_thresholds() -> None:
    assert evaluate(THRESHOLD, inventory()) == {("item1", 140), ("item2", 290)}


@pytest.mark.parametrize(
    ("changes", "triggered"),
    [
        ({"quantity": moved("item1", 5000, 140)}, set()),
        ({"quantity": moved("item1", 5000, 139)}, {("item1",)}),
        ({"quantity": moved("item2", 7500, 290)}, set()),
        ({"quantity": moved("item2", 7500, 289)}, {("item2",)}),
        ({"consume_freq": moved("item1", 20, 3000)}, {("item1",)}),
        ({"min_stock": moved("item2", 200, 8000)}, {("item2",)}),
        ({"quantity": moved("item1", 5000, 150), "min_stock": moved("item1", 100, 120)}, {("item1",)}),
        ({"supplies": DeltaSet.of(minus={("item1", "sup1")}), "quantity": moved("item1", 5000, 1)}, set()),
        ({"max_stock": moved("item1", 5000, 1)}, set()),
    ],
)
def test_monitor_items(changes: dict[str, DeltaSet], triggered: set[Row]) -> None:
    """Only a quantity below the threshold triggers, from whichever influent it comes; both networks agree."""
    facts = inventory(**changes)
    flat = propagate(FLAT, facts).deltas["cnd_monitor_items"]
    bushy = propagate(BUSHY, facts).deltas["cnd_monitor_items"]
    assert flat == bushy == DeltaSet.of(plus=triggered)


def test_dependency_network(duckdb: tidings.Database) -> None:
    """Figure 1.1, and the flat network that remains once threshold is expanded."""
    assert levels(BUSHY) == {
        "consume_freq": 0,
        "delivery_time": 0,
        "min_stock": 0,
        "supplies": 0,
        "threshold": 1,
        "quantity": 0,
        "cnd_monitor_items": 2,
    }
    assert set(levels(FLAT).values()) == {0, 1}
    duckdb.sql(INVENTORY_SQL)
    assert duckdb.explain("cnd_monitor_items").startswith("""\
Dependency network
  cnd_monitor_items
  ├── quantity
  └── threshold
      ├── consume_freq
      ├── delivery_time
      ├── min_stock
      └── supplies
""")


@pytest.mark.parametrize("influent", ["quantity", "consume_freq", "delivery_time", "supplies", "min_stock"])
def test_differentials_of_the_expanded_condition(influent: str) -> None:
    """One influent is replaced by what it gained; the rest of the clause stays."""
    body = "quantity ⋈ consume_freq ⋈ delivery_time ⋈ supplies ⋈ min_stock"
    expected = f"π[I] σ[G1 < G2 * G4 + G6] ({body.replace(influent, 'Δ+' + influent)})"
    assert show(differential(FLAT["cnd_monitor_items"], influent, PLUS)) == expected


def test_strict_and_nervous() -> None:
    """A quantity that sinks from 139 to 138 was low before.  A rule that looks at gains alone would order again."""
    low: dict[str, set[Row]] = {**INVENTORY, "quantity": {("item1", 139), ("item2", 7500)}}
    facts = Facts.after(low, {"quantity": moved("item1", 139, 138)})
    condition = FLAT["cnd_monitor_items"]
    assert evaluate(differential(condition, "quantity", PLUS), facts) == {("item1",)}
    exact = strict(condition, "quantity", PLUS)
    assert exact is not None
    assert evaluate(exact, facts) == set()
    assert not propagate(FLAT, facts).deltas["cnd_monitor_items"]


def test_nervous_propagation_triggers_again() -> None:
    """A second supplier that is as slow keeps the condition true: no loss cancels the claim, only the filter does."""
    low: dict[str, set[Row]] = {**INVENTORY, "quantity": {("item1", 139)}, "supplies": {("item1", "sup1")}}
    low["delivery_time"] = {("item1", "sup1", 2), ("item1", "sup2", 2)}
    facts = Facts.after(low, {"supplies": DeltaSet.of(plus={("item1", "sup2")})})
    assert str(propagate(FLAT, facts, strict=False).deltas["cnd_monitor_items"]) == "⟨{⟨item1⟩}, {}⟩"
    assert str(propagate(FLAT, facts).deltas["cnd_monitor_items"]) == "⟨{}, {}⟩"


def test_the_wave_front_is_all_that_is_held() -> None:
    """Figure 1.2: delta-sets go as soon as the nodes that read them are done."""
    facts = inventory(quantity=moved("item1", 5000, 150), min_stock=moved("item1", 100, 120))
    first, second = propagate(BUSHY, facts).steps
    assert (first.node, first.level, first.edges) == ("threshold", 1, ("min_stock",))
    assert first.unreleased == {"quantity", "threshold"}
    assert (second.node, second.level, second.edges) == ("cnd_monitor_items", 2, ("quantity", "threshold"))
    assert second.unreleased == set()


def test_inventory_in_the_kernel(db: tidings.Database) -> None:
    """Thresholds, a fall below both of them, and a way back that ends where it began."""
    db.sql(INVENTORY_SQL)
    facts = inventory(
        quantity=delta_union(moved("item1", 5000, 139), moved("item2", 7500, 290)),
        min_stock=moved("item2", 200, 201),
    )
    since = store(db, facts)
    assert bag(db, "threshold", since) == weighted({("item1", 140): 1, ("item2", 290): 1})
    assert kernel_delta(db, "threshold", since) == weighted({("item2", 290): -1, ("item2", 291): 1})
    expected = propagate(BUSHY, facts).deltas["cnd_monitor_items"]
    assert expected == DeltaSet.of(plus={("item1",), ("item2",)})
    changed = kernel_delta(db, "cnd_monitor_items", since)
    assert changed.positive() == weighted({("item1",): 1, ("item2",): 1})
    assert not changed.negative()

    with db.transaction() as tx:
        tx.update("min_stock", [("item1", 100)], [("item1", 150)])
        tx.update("min_stock", [("item1", 150)], [("item1", 100)])
        tx.update("quantity", [("item1", 139)], [("item1", 138)])
    assert len(db.changes("cnd_monitor_items", db.time - 1)) == 0
    with db.transaction() as tx:
        tx.update("quantity", [("item1", 138)], [("item1", 5000)])
    assert len(db.changes("cnd_monitor_items", since)) == 1
