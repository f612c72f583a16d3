"""MERGE of constants by key, read off the statement."""

from __future__ import annotations

import pytest

from tidings.ir.relation import Column
from tidings.lang.sql.rows.constant_merge import ConstantMergeRow, constant_merge
from tidings.lang.sql.rows.target import Target
from tidings.lang.sql.statement import Merge, read

COLUMNS = (Column("item", "bigint"), Column("qty", "int"))
UPSERT = "WHEN MATCHED THEN UPDATE SET qty = n.qty WHEN NOT MATCHED THEN INSERT *"


def merged(
    source: str, clauses: str = UPSERT, on: str = "s.item = n.item", key: tuple[Column, ...] = COLUMNS[:1]
) -> list[ConstantMergeRow] | None:
    (statement,) = read(f"MERGE INTO stock AS s USING {source} ON {on} {clauses}")
    assert isinstance(statement, Merge)
    return constant_merge(Target(statement, "stock", COLUMNS, {"qty": "7"}, 1_000_000), statement, key)


def test_rows_and_what_becomes_of_them() -> None:
    first = ConstantMergeRow((1,), {"qty": 5}, {"item": 1, "qty": 5}, deletes=False)
    second = ConstantMergeRow((-2,), {"qty": None}, {"item": -2, "qty": None}, deletes=False)
    assert merged("(VALUES (1, 5), (-2, NULL)) AS n (item, qty)") == [first, second]
    assert merged("(SELECT 5 AS Qty, 1 AS ITEM) AS n", on="n.item = s.ITEM") == [first]


def test_clauses_of_one_kind() -> None:
    source = "(VALUES (1)) AS n (item)"
    assert merged(source, "WHEN MATCHED THEN DELETE") == [ConstantMergeRow((1,), None, None, deletes=True)]
    inserted = {"item": 1, "qty": 7}
    for values in ("(n.item, DEFAULT)", "(1, 7)"):
        clause = f"WHEN NOT MATCHED THEN INSERT (item, qty) VALUES {values}"
        assert merged(source, clause) == [ConstantMergeRow((1,), None, inserted, deletes=False)]


@pytest.mark.parametrize(
    "source",
    [
        "news AS n",
        "(SELECT item, qty FROM news) AS n",
        "(SELECT 1 AS item, 2 AS qty LIMIT 0) AS n",
        "(SELECT 1 AS item, 2 AS qty WHERE FALSE) AS n",
        "(SELECT 1 AS item, 1 + 1 AS qty) AS n",
        "(SELECT 1 AS item, 'two' AS qty) AS n",
        "(SELECT 1 AS item, 2 AS qty, rand() AS chance) AS n",
        "(VALUES (1, 2), (1, 3)) AS n (item, qty)",
        "(VALUES (1, 2)) AS n (item)",
        "(VALUES (1, 2)) AS n (item, amount)",
        "(VALUES (1.5, 2)) AS n (item, qty)",
    ],
)
def test_sources_that_an_engine_has_to_read(source: str) -> None:
    assert merged(source) is None


@pytest.mark.parametrize(
    ("clauses", "on"),
    [
        ("WHEN MATCHED AND n.qty > 1 THEN DELETE", "s.item = n.item"),
        ("WHEN MATCHED THEN UPDATE SET qty = s.qty + n.qty", "s.item = n.item"),
        ("WHEN MATCHED THEN UPDATE SET qty = s.qty", "s.item = n.item"),
        ("WHEN MATCHED THEN UPDATE SET qty = qty", "s.item = n.item"),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", "s.item = n.item"),
        (UPSERT, "s.item = n.item AND s.qty < 5"),
        (UPSERT, "s.item > n.item"),
        (UPSERT, "s.qty = n.qty"),
        (UPSERT, "s.item = n.item OR s.qty = n.qty"),
    ],
)
def test_statements_that_an_engine_has_to_judge(clauses: str, on: str) -> None:
    assert merged("(VALUES (1, 2)) AS n (item, qty)", clauses, on) is None


def test_a_table_without_a_key() -> None:
    assert merged("(VALUES (1, 2)) AS n (item, qty)", key=()) is None
