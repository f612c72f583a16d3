"""The promises about meaning, one test each, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import tidings


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def db(request: pytest.FixtureRequest) -> Iterator[tidings.Database]:
    """An empty database."""
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(
        engine=request.param, spark=session, clock=tidings.ManualClock(), execution="spark", strategy="differential"
    ) as opened:
        yield opened


def changes(db: tidings.Database, view: str, since: int) -> list[tuple[tuple[Any, ...], int]]:
    """A view's changes as plain rows with their weights."""
    return [(tuple(c.row.values()), c.weight) for c in db.changes(view, since, per_commit=True).rows()]


def insert(db: tidings.Database, **rows: list[tuple[Any, ...]]) -> int:
    """Insert rows into tables in one transaction; its time."""
    with db.transaction() as tx:
        for table, given in rows.items():
            tx.insert(table, given)
    return db.time


@pytest.fixture
def shop(db: tidings.Database) -> tidings.Database:
    """Two tables joined by a view."""
    db.sql("CREATE TABLE item (id INT, name STRING); CREATE TABLE sale (id INT, qty INT)")
    db.sql("CREATE VIEW sold AS SELECT i.name, s.qty FROM item i JOIN sale s ON i.id = s.id")
    insert(db, item=[(1, "apple"), (2, "pear"), (None, "ghost")], sale=[(1, 5)])
    return db


def test_delete_then_reinsert_is_no_change(shop: tidings.Database) -> None:
    since = shop.time
    with shop.transaction() as tx:
        tx.delete("sale", [(1, 5)])
        tx.insert("sale", [(1, 5)])
    assert changes(shop, "sold", since) == []


def test_update_to_the_same_value_is_no_change(shop: tidings.Database) -> None:
    since = shop.time
    with shop.transaction() as tx:
        tx.update("item", [(1, "apple")], [(1, "apple")])
    assert changes(shop, "sold", since) == []


def test_update_of_a_column_the_view_does_not_show_is_no_change(shop: tidings.Database) -> None:
    shop.sql("CREATE VIEW names AS SELECT i.name FROM item i JOIN sale s ON i.id = s.id")
    since = shop.time
    with shop.transaction() as tx:
        tx.update("sale", [(1, 5)], [(1, 6)])
    assert changes(shop, "names", since) == []
    assert changes(shop, "sold", since) == [(("apple", 5), -1), (("apple", 6), 1)]


def test_reinsert_in_a_later_transaction_is_two_changes_and_no_net_change(shop: tidings.Database) -> None:
    since = shop.time
    with shop.transaction() as tx:
        tx.delete("sale", [(1, 5)])
    insert(shop, sale=[(1, 5)])
    assert changes(shop, "sold", since) == [(("apple", 5), -1), (("apple", 5), 1)]
    assert shop.changes("sold", since).rows() == []


def test_null_never_matches_by_equality(shop: tidings.Database) -> None:
    since = insert(shop, sale=[(None, 7)]) - 1
    assert changes(shop, "sold", since) == []


def test_null_matches_null_by_null_safe_equality(shop: tidings.Database) -> None:
    shop.sql("CREATE VIEW safe AS SELECT i.name, s.qty FROM item i JOIN sale s ON i.id <=> s.id")
    since = insert(shop, sale=[(None, 7)]) - 1
    assert changes(shop, "safe", since) == [(("ghost", 7), 1)]


def test_a_condition_that_is_null_keeps_no_row(db: tidings.Database) -> None:
    db.sql("CREATE TABLE t (x INT)")
    db.sql("CREATE VIEW a AS SELECT x FROM t WHERE x > 1; CREATE VIEW b AS SELECT x FROM t WHERE NOT x > 1")
    insert(db, t=[(None,), (1,), (2,)])
    assert (changes(db, "a", 0), changes(db, "b", 0)) == ([((2,), 1)], [((1,), 1)])


def test_not_in_a_list_with_null_keeps_no_row(db: tidings.Database) -> None:
    db.sql("CREATE TABLE t (x INT); CREATE VIEW v AS SELECT x FROM t WHERE x NOT IN (1, NULL)")
    insert(db, t=[(1,), (2,), (None,)])
    assert changes(db, "v", 0) == []


def test_duplicates_count(shop: tidings.Database) -> None:
    since = insert(shop, sale=[(2, 3), (2, 3)], item=[(2, "pear"), (2, "pear")]) - 1
    assert changes(shop, "sold", since) == [(("pear", 3), 6)]
    since = shop.time
    with shop.transaction() as tx:
        tx.delete("sale", [(2, 3)])
    assert changes(shop, "sold", since) == [(("pear", 3), -3)]


def test_rows_that_become_equal_are_one_entry(db: tidings.Database) -> None:
    db.sql("CREATE TABLE t (x INT, y INT); CREATE VIEW v AS SELECT x FROM t")
    insert(db, t=[(1, 1), (1, 2), (1, 3)])
    assert changes(db, "v", 0) == [((1,), 3)]


def test_self_join(db: tidings.Database) -> None:
    db.sql("CREATE TABLE edge (a INT, b INT); CREATE VIEW path AS SELECT x.a, y.b FROM edge x JOIN edge y ON x.b = y.a")
    insert(db, edge=[(1, 2)])
    since = insert(db, edge=[(2, 3), (2, 2)]) - 1
    assert sorted(changes(db, "path", since)) == [((1, 2), 1), ((1, 3), 1), ((2, 2), 1), ((2, 3), 1)]
    since = db.time
    with db.transaction() as tx:
        tx.delete("edge", [(2, 2)])
    assert sorted(changes(db, "path", since)) == [((1, 2), -1), ((2, 2), -1), ((2, 3), -1)]


def test_several_tables_changed_in_one_transaction(shop: tidings.Database) -> None:
    since = shop.time
    with shop.transaction() as tx:
        tx.update("item", [(1, "apple")], [(1, "quince")])
        tx.update("sale", [(1, 5)], [(1, 9)])
        tx.insert("sale", [(2, 4)])
        tx.delete("item", [(2, "pear")])
    assert changes(shop, "sold", since) == [(("apple", 5), -1), (("quince", 9), 1)]


def test_a_combination_comes_with_the_later_of_its_rows(shop: tidings.Database) -> None:
    insert(shop, item=[(3, "plum")])
    insert(shop, sale=[(3, 1)])
    with shop.transaction() as tx:
        tx.delete("item", [(3, "plum")])
    found = shop.changes("sold", 0, per_commit=True).rows()
    assert [(c.time, c.weight) for c in found if c.row["name"] == "plum"] == [(3, 1), (4, -1)]


@pytest.mark.parametrize("table", ["narrow", "wide"])
def test_union_has_the_common_types_whichever_branch_changed(db: tidings.Database, table: str) -> None:
    db.sql("CREATE TABLE narrow (x SMALLINT); CREATE TABLE wide (x BIGINT)")
    db.sql("CREATE VIEW v AS SELECT x FROM narrow UNION ALL SELECT x FROM wide")
    insert(db, **{table: [(1,)]})
    assert db.changes("v").to_arrow().schema.field("x").type == pa.int64()
    assert changes(db, "v", 0) == [((1,), 1)]


@pytest.mark.parametrize("table", ["whole", "part"])
def test_expressions_over_a_union_see_the_common_type(db: tidings.Database, table: str) -> None:
    db.sql("CREATE TABLE whole (x INT); CREATE TABLE part (x DECIMAL(10,2))")
    db.sql("CREATE VIEW v AS SELECT CAST(x AS STRING) AS s FROM (SELECT x FROM whole UNION ALL SELECT x FROM part) u")
    insert(db, **{table: [(Decimal(1) if table == "part" else 1,)]})
    assert changes(db, "v", 0) == [(("1.00",), 1)]


def test_rows_of_all_branches_of_a_union_add_up(db: tidings.Database) -> None:
    db.sql("CREATE TABLE t (x INT); CREATE VIEW v AS SELECT x FROM t UNION ALL SELECT x FROM t UNION ALL VALUES (7)")
    insert(db, t=[(7,)])
    assert changes(db, "v", 0) == [((7,), 2)]
    assert [r["x"] for r in db.query("v").rows()] == [7, 7, 7]


EVERY_TYPE: dict[str, list[Any]] = {
    "tinyint": [-128, 127],
    "smallint": [-32768, 32767],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1],
    "float": [1.5, float("inf")],
    "double": [0.1, -1e300],
    "decimal(38,10)": [Decimal("1234567890123456789012345678.0123456789"), Decimal("-0.0000000001")],
    "string": ["", 'it\'s \\ "quoted" `é` 漢\n'],
    "binary": [b"", b"\x00\xff"],
    "boolean": [True, False],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "timestamp": [datetime(1900, 1, 1, 1, 2, 3, 4, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12)],
    "array<int>": [[], [1, None, 3]],
    "array<struct<a:int,b:array<string>>>": [[{"a": 1, "b": ["x", None]}, None], []],
    "struct<a:int,b:string>": [{"a": None, "b": None}, {"a": 1, "b": "x"}],
}


@pytest.mark.parametrize("type", EVERY_TYPE)
def test_values_pass_through_unchanged(db: tidings.Database, type: str) -> None:
    values = [*EVERY_TYPE[type], None]
    db.sql(f"CREATE TABLE t (id INT, x {type}); CREATE TABLE k (id INT)")
    db.sql("CREATE VIEW v AS SELECT t.id, t.x FROM t JOIN k ON t.id = k.id")
    insert(db, t=list(enumerate(values)))
    insert(db, k=[(n,) for n in range(len(values))])
    found = {c.row["id"]: c.row["x"] for c in db.changes("v").rows()}
    assert found == dict(enumerate(values))
    assert {r["id"]: r["x"] for r in db.query("v").rows()} == found


@pytest.mark.parametrize("type", EVERY_TYPE)
def test_values_of_every_type_join(db: tidings.Database, type: str) -> None:
    values = EVERY_TYPE[type]
    db.sql(f"CREATE TABLE a (x {type}); CREATE TABLE b (x {type}, id INT)")
    db.sql("CREATE VIEW v AS SELECT b.id FROM a JOIN b ON a.x = b.x")
    insert(db, b=[*((x, n) for n, x in enumerate(values)), (None, -1)])
    insert(db, a=[*((x,) for x in values), (None,)])
    assert changes(db, "v", 0) == [((n,), 1) for n in range(len(values))]
    with db.transaction() as tx:
        tx.delete("a", [(x,) for x in values])
    assert sorted(changes(db, "v", db.time - 1)) == [((n,), -1) for n in range(len(values))]


@pytest.mark.parametrize(("one", "other"), [("int", "decimal(10,2)"), ("int", "double"), ("decimal(10,2)", "double")])
def test_unlike_types_join_by_value(db: tidings.Database, one: str, other: str) -> None:
    db.sql(f"CREATE TABLE a (x {one}); CREATE TABLE b (x {other})")
    db.sql("CREATE VIEW v AS SELECT CAST(a.x AS INT) AS n FROM a JOIN b ON a.x = b.x")
    insert(db, a=[(1,), (2,)])
    insert(db, b=[(2,), (3,)])
    assert changes(db, "v", 0) == [((2,), 1)]
    insert(db, a=[(3,)])
    assert changes(db, "v", db.time - 1) == [((3,), 1)]


def test_nan_equals_itself(db: tidings.Database) -> None:
    nan = float("nan")
    db.sql("CREATE TABLE a (x DOUBLE); CREATE TABLE b (x DOUBLE)")
    db.sql("CREATE VIEW v AS SELECT 1 AS one FROM a JOIN b ON a.x = b.x")
    insert(db, a=[(nan,)], b=[(1.0,)])
    insert(db, b=[(nan,)])
    assert changes(db, "v", 0) == [((1,), 1)]
    with db.transaction() as tx:
        tx.delete("a", [(nan,)])
    assert changes(db, "v", db.time - 1) == [((1,), -1)]


def test_base_rows_join_and_go(db: tidings.Database) -> None:
    db.sql("CREATE TABLE a (x INT); CREATE TABLE b (x INT, s STRING)")
    db.sql("CREATE VIEW v AS SELECT b.s FROM a JOIN b ON a.x = b.x")
    schema = pa.schema([("x", pa.int32()), ("s", pa.string())])
    db.load("b", pa.table({"x": [1, 1, 2, None], "s": ["p", "p", "q", "r"]}, schema))
    insert(db, a=[(1,), (None,)])
    assert changes(db, "v", 0) == [(("p",), 2)]
    with db.transaction() as tx:
        tx.delete("b", [(1, "p")])
    assert changes(db, "v", db.time - 1) == [(("p",), -1)]
