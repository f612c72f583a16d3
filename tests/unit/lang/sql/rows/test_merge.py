"""MERGE, as queries."""

from __future__ import annotations

import pytest

from tidings.errors import UnknownColumn
from tidings.ir.relation import Column
from tidings.lang.sql.rows.merge import clause_queries, source_keys_query
from tidings.lang.sql.rows.target import Target
from tidings.lang.sql.statement import Merge, read

COLUMNS = (Column("item", "bigint"), Column("qty", "int"))
KEY = COLUMNS[:1]


def merge(clauses: str, on: str = "s.item = n.item") -> tuple[Target, Merge]:
    (statement,) = read(f"MERGE INTO stock AS s USING news AS n ON {on} {clauses}")
    assert isinstance(statement, Merge)
    return Target(statement, "stock", COLUMNS, {"qty": "7"}, 1_000_000), statement


def test_matched_rows_with_the_number_and_values_of_their_clause() -> None:
    (query,) = clause_queries(*merge("WHEN MATCHED AND n.gone THEN DELETE WHEN MATCHED THEN UPDATE SET qty = n.qty"))
    assert query.query.sql() == (
        'SELECT s."item" AS c0, s."qty" AS c1, CASE WHEN n.gone THEN 0 WHEN TRUE THEN 1 END AS c2, '
        "CASE WHEN n.gone THEN NULL WHEN TRUE THEN n.qty END AS c3 "
        'FROM "stock" AS "s" JOIN news AS n ON s.item = n.item'
    )
    assert [c.name for c in query.columns] == ["item", "qty", "number", "qty"]
    assert (query.width, query.assigned) == (2, ((), (COLUMNS[1],)))
    assert query.matched_rows is not None
    assert query.matched_rows.sql() == (
        'SELECT s."item" AS c0, s."qty" AS c1 FROM "stock" AS "s" LEFT SEMI JOIN news AS n ON s.item = n.item'
    )


def test_rows_of_the_source_that_match_none() -> None:
    (query,) = clause_queries(*merge("WHEN NOT MATCHED THEN INSERT (item, qty) VALUES (n.item, DEFAULT)"))
    assert query.query.sql() == (
        "SELECT CASE WHEN TRUE THEN 0 END AS c0, CASE WHEN TRUE THEN n.item END AS c1, CASE WHEN TRUE THEN 7 END AS c2 "
        'FROM news AS n LEFT ANTI JOIN "stock" AS "s" ON s.item = n.item'
    )
    assert (query.width, query.matched_rows) == (0, None)


def test_one_query_per_kind_of_clause() -> None:
    clauses = """
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE THEN DELETE
        WHEN MATCHED THEN UPDATE SET *
    """
    queries = list(clause_queries(*merge(clauses)))
    assert [q.clauses[0].when for q in queries] == ["matched", "unmatched by source", "unmatched"]
    assert 'n."qty"' in queries[0].query.sql()
    assert [c.name for c in queries[2].columns] == ["number", "item", "qty"]


def test_columns_that_the_table_does_not_have() -> None:
    with pytest.raises(UnknownColumn):
        list(clause_queries(*merge("WHEN MATCHED THEN UPDATE SET qtty = 1")))


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("s.item = n.item", "SELECT DISTINCT n.item AS c0 FROM news AS n"),
        ("n.other = S.ITEM AND s.qty > 1", "SELECT DISTINCT n.other AS c0 FROM news AS n"),
        ("s.item = n.item + 1", None),
        ("s.qty = n.item", None),
        ("item = n.item", None),
    ],
)
def test_keys_of_the_source(on: str, expected: str | None) -> None:
    query = source_keys_query(*merge("WHEN MATCHED THEN DELETE", on), KEY)
    assert (None if query is None else query.sql()) == expected


def test_a_table_without_a_key_has_none_to_look_up() -> None:
    assert source_keys_query(*merge("WHEN MATCHED THEN DELETE"), ()) is None
