"""Statements that change rows."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax, UnsupportedStatement
from tidings.lang.sql import statement
from tidings.lang.sql.statements.dml import Delete, Insert, Merge, RowStatement, Update, trees


def only(text: str) -> RowStatement:
    (parsed,) = statement.read(text)
    assert isinstance(parsed, Insert | Update | Delete | Merge)
    return parsed


def test_insert() -> None:
    insert = only("INSERT INTO stock (item, n) SELECT a, b FROM t")
    assert isinstance(insert, Insert)
    assert (insert.table, insert.columns, insert.query.sql()) == ("stock", ("item", "n"), "SELECT a, b FROM t")


def test_update() -> None:
    update = only("UPDATE stock AS s SET n = s.n + 1, m = 2 WHERE s.item = 3")
    assert isinstance(update, Update)
    assert (update.table, update.alias) == ("stock", "s")
    assert [(c.name, v.sql()) for c, v in update.settings] == [("n", "s.n + 1"), ("m", "2")]
    assert update.where is not None
    assert update.where.sql() == "s.item = 3"


def test_delete() -> None:
    delete = only("DELETE FROM stock")
    assert isinstance(delete, Delete)
    assert (delete.table, delete.alias, delete.where) == ("stock", "stock", None)


def test_merge() -> None:
    merge = only("""
        MERGE INTO stock AS s USING news AS n ON s.item = n.item
        WHEN MATCHED AND n.gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET n = n.n
        WHEN NOT MATCHED THEN INSERT (item, n) VALUES (n.item, n.n)
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 0
    """)
    assert isinstance(merge, Merge)
    assert (merge.table, merge.alias, merge.source.alias) == ("stock", "s", "n")
    kinds = [(c.when, c.action, c.condition is not None, len(c.settings)) for c in merge.clauses]
    assert kinds == [
        ("matched", "delete", True, 0),
        ("matched", "update", False, 1),
        ("unmatched", "insert", False, 2),
        ("unmatched by source", "update", False, 1),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("INSERT INTO s SELECT a FROM t", ["SELECT a FROM t"]),
        ("UPDATE s SET a = 1, b = c WHERE d", ["1", "c", "d"]),
        ("DELETE FROM s", []),
        ("DELETE FROM s WHERE d", ["d"]),
        (
            "MERGE INTO s USING n ON s.a = n.a WHEN MATCHED AND b THEN UPDATE SET c = d WHEN NOT MATCHED THEN INSERT *",
            ["n", "s.a = n.a", "b", "d"],
        ),
    ],
)
def test_trees(text: str, parts: list[str]) -> None:
    assert [tree.sql() for tree in trees(only(text))] == parts


def test_merge_of_all_columns() -> None:
    merge = only("MERGE INTO s USING n ON s.a = n.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert isinstance(merge, Merge)
    assert [(c.action, c.every) for c in merge.clauses] == [("update", True), ("insert", True)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("MERGE INTO s USING n ON s.a = n.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", InvalidSyntax),
        ("MERGE INTO s USING n ON s.a = n.a WHEN NOT MATCHED THEN DELETE", UnsupportedStatement),
        ("UPDATE s SET a = 1 FROM t", UnsupportedStatement),
        ("DELETE FROM s USING t", UnsupportedStatement),
    ],
)
def test_refusals(text: str, condition: type[Exception]) -> None:
    with pytest.raises(condition):
        only(text)
