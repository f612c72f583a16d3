"""Risch and Sköld, "Monitoring Complex Rule Conditions" (AMOS), section 1.4: the inventory, typed in as printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations

import pytest

import tidings

SCHEMA = """
create type item;
create type supplier;
create function quantity(item) -> integer;
create function max_stock(item) -> integer;
create function min_stock(item) -> integer;
create function consume_freq(item) -> integer;
create function supplies(supplier) -> item;
create function delivery_time(item,supplier) -> integer;
create function threshold(item i) -> integer as
  select consume_freq(i) * delivery_time(i, s)
         + min_stock(i)
  for each supplier s where supplies(s) = i;
"""
ORDER = "create function order(item i, integer amount) -> boolean as foreign 'order';"
RULE = """
create rule monitor_items() as
  for each item i
  when quantity(i) < threshold(i)
  do order(i,max_stock(i) - quantity(i));
"""
POPULATION = """
create item instances :item1, :item2;
set max_stock(:item1) = 5000;
set max_stock(:item2) = 7500;
set min_stock(:item1) = 100;
set min_stock(:item2) = 200;
set consume_freq(:item1) = 20;
set consume_freq(:item2) = 30;
create supplier instances :sup1, :sup2;
set supplies(:sup1) = :item1;
set supplies(:sup2) = :item2;
set delivery_time(:item1, :sup1) = 2;
set delivery_time(:item2, :sup2) = 3;
activate monitor_items();
"""
FULL = "set quantity(:item1) = 5000; set quantity(:item2) = 7500; commit;"

Order = tuple[str, int]


@pytest.fixture
def orders(db: tidings.Database) -> Callable[[], list[Order]]:
    """The inventory, in full stock, and what has been ordered since."""
    return stocked(db)


def stocked(db: tidings.Database, rule: str = RULE) -> Callable[[], list[Order]]:
    placed: list[tuple[int, int]] = []
    db.foreign("order")(lambda item, amount: placed.append((item, amount)))
    db.amosql(SCHEMA + ORDER + rule + POPULATION + FULL)
    names = {value(db, f":{name}"): name for name in ("item1", "item2")}
    return lambda: [(names[item], amount) for item, amount in placed]


def value(db: tidings.Database, expression: str) -> int:
    result = db.amosql(f"select {expression}")
    assert result is not None
    ((number,),) = (row.values() for row in result.rows())
    return int(number)


def test_thresholds(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    """Below 140 of item1 and below 290 of item2."""
    assert (value(db, "threshold(:item1)"), value(db, "threshold(:item2)")) == (140, 290)
    db.amosql("set quantity(:item1) = 140; set quantity(:item2) = 290; commit;")
    assert orders() == []
    db.amosql("set quantity(:item1) = 139; commit; set quantity(:item2) = 289; commit;")
    assert orders() == [("item1", 4861), ("item2", 7211)]


def test_each_shortage_is_ordered_once(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    """Strict semantics, the default: an item that gets even lower was low before."""
    db.amosql("set quantity(:item1) = 100; commit; set quantity(:item1) = 50; commit;")
    assert orders() == [("item1", 4900)]
    db.amosql("set quantity(:item1) = 5000; commit; set quantity(:item1) = 20; commit;")
    assert orders() == [("item1", 4900), ("item1", 4980)]


def test_nervous_semantics_may_order_again(duckdb: tidings.Database) -> None:
    orders = stocked(duckdb, RULE.replace("create rule", "create nervous rule"))
    duckdb.amosql("set quantity(:item1) = 100; commit; set quantity(:item1) = 50; commit;")
    assert orders() == [("item1", 4900), ("item1", 4950)]


def test_nothing_happens_before_the_commit(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    db.amosql("set quantity(:item1) = 1; set quantity(:item2) = 1;")
    assert orders() == []
    assert value(db, "quantity(:item1)") == 1
    assert db.query("SELECT value FROM quantity").rows() == [{"value": 5000}, {"value": 7500}]
    db.amosql("rollback;")
    assert value(db, "quantity(:item1)") == 5000
    db.amosql("set quantity(:item1) = 1; set quantity(:item1) = 5000; commit;")
    assert orders() == []


def test_min_stock_updated_twice_has_no_effect(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    """Section 1.5.2: 150 would have triggered the rule, but 100 is what it was."""
    db.amosql("set quantity(:item1) = 160; commit;")
    since = db.time
    db.amosql("set min_stock(:item1) = 150;\nset min_stock(:item1) = 100;\ncommit;")
    assert orders() == []
    assert len(db.changes("min_stock", since)) == 0
    db.amosql("set min_stock(:item1) = 150; commit;")
    assert orders() == [("item1", 4840)]


def test_the_same_database_driven_from_sql(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    """Functions are tables and views; rules fire for whoever changes them."""
    item1 = value(db, ":item1")
    assert {row["value"] for row in db.query("SELECT * FROM threshold").rows()} == {140, 290}
    db.sql(f"UPDATE quantity SET value = 139 WHERE item = {item1}")
    assert orders() == [("item1", 4861)]
    db.sql(f"UPDATE consume_freq SET value = 4000 WHERE item <> {item1}")
    assert orders() == [("item1", 4861), ("item2", 0)]
    assert db.query("SELECT count(*) AS n FROM cnd_monitor_items").rows() == [{"n": 2}]


def test_activation_and_deactivation(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    db.amosql("deactivate monitor_items(); set quantity(:item1) = 1; commit; activate monitor_items();")
    assert orders() == []
    db.amosql("set quantity(:item2) = 1; commit;")
    assert orders() == [("item2", 7499)]


# Section 1.4.2 and 1.5.3: clauses and differentials, up to the names of variables and the order of literals

PRINTED_CLAUSE = """
    quantity_item,integer(I,G1) ∧ threshold_item,integer(I,G2) ∧ G1 < G2
"""
PRINTED_EXPANDED = """
    quantity_item,integer(I,G1) ∧ consume_freq_item,integer(I,G2) ∧ delivery_time_item,supplier,integer(I,G3,G4) ∧
    supplies_supplier,item(G3,I) ∧ G5 = G2 * G4 ∧ min_stock_item,integer(I,G6) ∧ G7 = G5 + G6 ∧ G1 < G7
"""
INFLUENTS = ["quantity", "consume_freq", "delivery_time", "supplies", "min_stock"]


def explained(db: tidings.Database) -> str:
    result = db.amosql("explain rule monitor_items;")
    assert result is not None
    return str(result.rows()[0]["explanation"])


def body(explanation: str, head: str) -> set[str]:
    """The literals of a clause, found by its head."""
    after = explanation.split(f"{head} ←\n", 1)[1]
    lines = after.split("\n")
    last = next(n for n, line in enumerate(lines) if not line.endswith("∧"))
    return {line.strip().removesuffix("∧").strip() for line in lines[: last + 1]}


def literals(printed: str) -> set[str]:
    return {literal.strip() for literal in printed.split("∧")}


def same_up_to_names(found: set[str], expected: set[str]) -> bool:
    """Whether some renaming of the variables G1, G2, … makes one set of literals the other."""
    used = [sorted(set(re.findall(r"G\d+", " ".join(side)))) for side in (found, expected)]
    if len(used[0]) != len(used[1]):
        return False
    for names in permutations(used[1]):
        renamed = " ∧ ".join(found)
        for old, new in zip(used[0], names, strict=True):
            renamed = re.sub(rf"\b{old}\b", f"={new}", renamed)
        if set(renamed.replace("=G", "G").split(" ∧ ")) == expected:
            return True
    return False


@pytest.fixture(scope="module")
def explanation() -> str:
    with tidings.open(engine="duckdb") as database:
        stocked(database)
        return explained(database)


def test_condition_function_and_action_procedure(explanation: str) -> None:
    assert (
        """\
  create function cnd_monitor_items() -> item as
    select i for each item i
    where quantity(i) < threshold(i);
"""
        in explanation
    )
    assert (
        """\
  create function act_monitor_items(item i) -> boolean as
    order(i,max_stock(i) - quantity(i));
"""
        in explanation
    )


def test_clauses(explanation: str) -> None:
    plain, expanded = explanation.split("Expanded clause")
    head = "cnd_monitor_items_item(I)"
    assert same_up_to_names(body(plain, head), literals(PRINTED_CLAUSE))
    assert same_up_to_names(body(expanded, head), literals(PRINTED_EXPANDED))
    assert not same_up_to_names(body(plain, head), literals(PRINTED_EXPANDED))


@pytest.mark.parametrize("influent", INFLUENTS)
def test_positive_differentials(explanation: str, influent: str) -> None:
    """One influent is replaced by what it gained."""
    found = body(explanation, f"Δcnd_monitor_items_item(I)/Δ+{influent}")
    expected = {f"Δ+{one}" if one.startswith(f"{influent}_") else one for one in literals(PRINTED_EXPANDED)}
    assert same_up_to_names(found, expected)


@pytest.mark.parametrize("influent", INFLUENTS)
def test_negative_differentials(explanation: str, influent: str) -> None:
    """One influent is replaced by what it lost, in the old state of the others."""
    found = body(explanation, f"Δcnd_monitor_items_item(I)/Δ-{influent}")
    expected = set()
    for one in literals(PRINTED_EXPANDED):
        reads = next((name for name in INFLUENTS if one.startswith(f"{name}_")), None)
        changed = one if reads is None else one.replace(reads, f"{reads}_old", 1)
        expected.add(f"Δ-{one}" if reads == influent else changed)
    assert same_up_to_names(found, expected)


def test_flat_network(explanation: str) -> None:
    """Figure 1.1 after expansion: all influents are stored functions."""
    drawn = explanation.split("Dependency network\n")[1].split("\n\n")[0]
    assert set(re.findall(r"─ (\w+)", drawn)) == set(INFLUENTS)
    assert "0: consume_freq, delivery_time, min_stock, quantity, supplies\n  1: cnd_monitor_items" in explanation


def test_bushy_network_with_shared_nodes(duckdb: tidings.Database) -> None:
    """A function that is bound late is not expanded: it stays a node, and conditions share it."""
    stocked(duckdb)
    duckdb.amosql("""
        create type spare_part under item;
        create function reserve(spare_part) -> integer;
        create function threshold(spare_part p) -> integer as select reserve(p) * 2;
        create rule very_low() as for each item i when quantity(i) * 2 < threshold(i) do order(i, 1);
    """)
    drawn = explained(duckdb).split("Dependency network\n")[1].split("\n\n")[0]
    assert (
        drawn
        == """\
  cnd_monitor_items
  ├── quantity
  └── threshold (shared with very_low)
      ├── threshold_item (shared with very_low)
      │   ├── consume_freq
      │   ├── delivery_time
      │   ├── min_stock
      │   └── supplies
      ├── spare_part
      └── threshold_spare_part (shared with very_low)
          └── reserve"""
    )
    assert "Δ+threshold_item,integer" in explained(duckdb)


def test_late_binding_in_a_condition(db: tidings.Database, orders: Callable[[], list[Order]]) -> None:
    """A spare part has a threshold of its own kind; the rule that was there before looks at that one."""
    db.amosql("""
        create type spare_part under item;
        create function reserve(spare_part) -> integer;
        create function threshold(spare_part p) -> integer as select reserve(p) * 2;
        create spare_part instances :part;
        set max_stock(:part) = 30; set reserve(:part) = 10; set quantity(:part) = 25; commit;
    """)
    part = value(db, ":part")
    assert value(db, "threshold(:part)") == 20
    assert value(db, "threshold(:item1)") == 140
    db.sql(f"UPDATE quantity SET value = 19 WHERE item = {part}")
    db.foreign("order")(lambda item, amount: None)
    assert db.query("SELECT count(*) AS n FROM cnd_monitor_items").rows() == [{"n": 1}]
