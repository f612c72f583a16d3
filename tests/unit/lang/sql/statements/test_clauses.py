"""No clause of a statement is passed over: each argument the parser can give its nodes is read, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from tidings.errors import InvalidSyntax, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.lang.sql import statement as sql
from tidings.lang.sql.statements.clauses import READ, refuse_unread

INSERT = "INSERT INTO a (x) VALUES (1)"
UPSERT = f"{INSERT} ON CONFLICT (x) DO UPDATE SET y = excluded.y"
MERGE = "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE"

STATEMENTS: dict[type[exp.Expr], str] = {
    exp.Insert: INSERT,
    exp.OnConflict: UPSERT,
    exp.Update: "UPDATE a SET x = 1",
    exp.Delete: "DELETE FROM a",
    exp.Merge: MERGE,
    exp.Whens: MERGE,
    exp.When: MERGE,
    exp.Create: "CREATE TABLE t (x INT)",
    exp.Drop: "DROP TABLE t",
    exp.Alter: "ALTER TABLE t RENAME TO u",
    exp.AlterColumn: "ALTER TABLE t ALTER COLUMN x TYPE BIGINT",
    exp.AlterRename: "ALTER TABLE t RENAME TO u",
    exp.RenameColumn: "ALTER TABLE t RENAME COLUMN x TO y",
    exp.TruncateTable: "TRUNCATE TABLE t",
    exp.Copy: "COPY t FROM 'a.csv'",
    exp.CopyParameter: "COPY t FROM 'a' FORMAT CSV",
    exp.Refresh: "REFRESH MATERIALIZED VIEW v",
    exp.Schema: "CREATE TABLE t (x INT)",
    exp.ColumnDef: "CREATE TABLE t (x INT)",
    exp.ColumnConstraint: "CREATE TABLE t (x INT NOT NULL)",
    exp.Constraint: "CREATE TABLE t (x INT, CONSTRAINT c CHECK (x > 1))",
    exp.PrimaryKey: "CREATE TABLE t (x INT, PRIMARY KEY (x))",
    exp.PrimaryKeyColumnConstraint: "CREATE TABLE t (x INT PRIMARY KEY)",
    exp.NotNullColumnConstraint: "CREATE TABLE t (x INT NOT NULL)",
    exp.CheckColumnConstraint: "CREATE TABLE t (x INT CHECK (x > 1))",
    exp.Property: "CREATE TABLE t (x INT) WITH (append_only)",
    exp.Table: "DELETE FROM a",
    exp.TableAlias: "DELETE FROM a AS b",
}
"""A statement with each kind of node."""


def test_every_node_has_a_statement() -> None:
    assert set(STATEMENTS) == set(READ)


@pytest.mark.parametrize("node", STATEMENTS, ids=lambda node: node.__name__)
def test_what_is_not_read_is_refused(node: type[exp.Expr]) -> None:
    for argument in node.arg_types:
        tree = sqlglot.parse_one(STATEMENTS[node], read=DIALECT)
        part = tree.find(node)
        assert part is not None
        part.set(argument, exp.to_identifier("something"))
        if argument in READ[node]:
            refuse_unread(tree, STATEMENTS[node])
        else:
            with pytest.raises(UnsupportedStatement) as refused:
                refuse_unread(tree, STATEMENTS[node])
            assert refused.value.hint


def test_what_is_read_is_an_argument_of_the_parser() -> None:
    for node, arguments in READ.items():
        assert arguments <= set(node.arg_types), node


USED: dict[tuple[type[exp.Expr], str], tuple[str, str]] = {
    (exp.Insert, "this"): (INSERT, "INSERT INTO b (x) VALUES (1)"),
    (exp.Insert, "expression"): (INSERT, "INSERT INTO a (x) VALUES (2)"),
    (exp.Insert, "conflict"): (INSERT, UPSERT),
    (exp.OnConflict, "action"): (UPSERT, f"{INSERT} ON CONFLICT (x) DO NOTHING"),
    (exp.OnConflict, "expressions"): (UPSERT, f"{INSERT} ON CONFLICT (x) DO UPDATE SET y = 1"),
    (exp.OnConflict, "conflict_keys"): (UPSERT, f"{INSERT} ON CONFLICT (z) DO UPDATE SET y = excluded.y"),
    (exp.OnConflict, "where"): (UPSERT, f"{UPSERT} WHERE a.y < 3"),
    (exp.Update, "this"): ("UPDATE a SET x = 1", "UPDATE b SET x = 1"),
    (exp.Update, "expressions"): ("UPDATE a SET x = 1", "UPDATE a SET x = 2"),
    (exp.Update, "where"): ("UPDATE a SET x = 1", "UPDATE a SET x = 1 WHERE x = 2"),
    (exp.Delete, "this"): ("DELETE FROM a", "DELETE FROM b"),
    (exp.Delete, "where"): ("DELETE FROM a", "DELETE FROM a WHERE x = 2"),
    (exp.Merge, "this"): (MERGE, MERGE.replace("INTO a", "INTO c AS a")),
    (exp.Merge, "using"): (MERGE, MERGE.replace("USING b", "USING c AS b")),
    (exp.Merge, "on"): (MERGE, MERGE.replace("b.x", "b.y")),
    (exp.Merge, "whens"): (MERGE, f"{MERGE} WHEN NOT MATCHED THEN INSERT *"),
    (exp.Whens, "expressions"): (MERGE, f"{MERGE} WHEN NOT MATCHED THEN INSERT *"),
    (exp.When, "matched"): (MERGE, MERGE.replace("WHEN MATCHED", "WHEN NOT MATCHED BY SOURCE")),
    (exp.When, "source"): (MERGE, MERGE.replace("WHEN MATCHED", "WHEN NOT MATCHED BY SOURCE")),
    (exp.When, "condition"): (MERGE, MERGE.replace("MATCHED", "MATCHED AND b.y > 1")),
    (exp.When, "then"): (MERGE, MERGE.replace("DELETE", "UPDATE SET x = 1")),
    (exp.Create, "this"): ("CREATE TABLE t (x INT)", "CREATE TABLE u (x INT)"),
    (exp.Create, "kind"): ("CREATE TABLE t (x INT)", "CREATE VIEW t AS SELECT 1 AS x"),
    (exp.Create, "expression"): ("CREATE VIEW v AS SELECT 1 AS x", "CREATE VIEW v AS SELECT 2 AS x"),
    (exp.Create, "exists"): ("CREATE TABLE t (x INT)", "CREATE TABLE IF NOT EXISTS t (x INT)"),
    (exp.Create, "properties"): ("CREATE TABLE t (x INT)", "CREATE TABLE t (x INT) WITH (append_only)"),
    (exp.Create, "replace"): ("CREATE VIEW v AS SELECT 1 AS x", "CREATE OR REPLACE VIEW v AS SELECT 1 AS x"),
    (exp.Drop, "kind"): ("DROP TABLE t", "DROP VIEW t"),
    (exp.Drop, "tables"): ("DROP TABLE t", "DROP TABLE u"),
    (exp.Drop, "exists"): ("DROP TABLE t", "DROP TABLE IF EXISTS t"),
    (exp.Drop, "cascade"): ("DROP TABLE t", "DROP TABLE t CASCADE"),
    (exp.Alter, "this"): ("ALTER TABLE t RENAME TO u", "ALTER TABLE s RENAME TO u"),
    (exp.Alter, "actions"): ("ALTER TABLE t RENAME TO u", "ALTER TABLE t DROP COLUMN u"),
    (exp.AlterColumn, "this"): ("ALTER TABLE t ALTER COLUMN x TYPE INT", "ALTER TABLE t ALTER COLUMN y TYPE INT"),
    (exp.AlterColumn, "dtype"): ("ALTER TABLE t ALTER COLUMN x TYPE INT", "ALTER TABLE t ALTER COLUMN x TYPE BIGINT"),
    (exp.AlterRename, "this"): ("ALTER TABLE t RENAME TO u", "ALTER TABLE t RENAME TO v"),
    (exp.RenameColumn, "this"): ("ALTER TABLE t RENAME COLUMN x TO y", "ALTER TABLE t RENAME COLUMN z TO y"),
    (exp.RenameColumn, "to"): ("ALTER TABLE t RENAME COLUMN x TO y", "ALTER TABLE t RENAME COLUMN x TO z"),
    (exp.TruncateTable, "expressions"): ("TRUNCATE TABLE t", "TRUNCATE TABLE u"),
    (exp.Copy, "this"): ("COPY t FROM 'a'", "COPY u FROM 'a'"),
    (exp.Copy, "files"): ("COPY t FROM 'a'", "COPY t FROM 'a', 'b'"),
    (exp.Copy, "params"): ("COPY t FROM 'a'", "COPY t FROM 'a' FORMAT csv"),
    (exp.CopyParameter, "expression"): ("COPY t FROM 'a' FORMAT json", "COPY t FROM 'a' FORMAT csv"),
    (exp.Refresh, "this"): ("REFRESH MATERIALIZED VIEW v", "REFRESH MATERIALIZED VIEW w"),
    (exp.Schema, "this"): ("CREATE TABLE t (x INT)", "CREATE TABLE u (x INT)"),
    (exp.Schema, "expressions"): ("CREATE TABLE t (x INT)", "CREATE TABLE t (y INT)"),
    (exp.ColumnDef, "this"): ("CREATE TABLE t (x INT)", "CREATE TABLE t (y INT)"),
    (exp.ColumnDef, "kind"): ("CREATE TABLE t (x INT)", "CREATE TABLE t (x DATE)"),
    (exp.ColumnDef, "constraints"): ("CREATE TABLE t (x INT)", "CREATE TABLE t (x INT NOT NULL)"),
    (exp.ColumnConstraint, "kind"): ("CREATE TABLE t (x INT NOT NULL)", "CREATE TABLE t (x INT PRIMARY KEY)"),
    (exp.Constraint, "expressions"): (
        "CREATE TABLE t (x INT, CONSTRAINT c CHECK (x > 1))",
        "CREATE TABLE t (x INT, CONSTRAINT c CHECK (x > 2))",
    ),
    (exp.PrimaryKey, "expressions"): (
        "CREATE TABLE t (x INT, y INT, PRIMARY KEY (x))",
        "CREATE TABLE t (x INT, y INT, PRIMARY KEY (y))",
    ),
    (exp.NotNullColumnConstraint, "allow_null"): ("CREATE TABLE t (x INT NULL)", "CREATE TABLE t (x INT NOT NULL)"),
    (exp.CheckColumnConstraint, "this"): (
        "CREATE TABLE t (x INT CHECK (x > 1))",
        "CREATE TABLE t (x INT CHECK (x > 2))",
    ),
    (exp.Property, "value"): (
        "CREATE TABLE t (x INT) WITH (append_only)",
        "CREATE TABLE t (x INT) WITH (append_only = false)",
    ),
    (exp.Table, "this"): ("DELETE FROM a", "DELETE FROM b"),
    (exp.Table, "alias"): ("DELETE FROM a", "DELETE FROM a AS b"),
    (exp.Table, "db"): ("DELETE FROM a", "DELETE FROM s.a"),
    (exp.TableAlias, "this"): ("DELETE FROM a AS b", "DELETE FROM a AS c"),
}
"""Two statements that differ in an argument alone."""

REFUSED: dict[tuple[type[exp.Expr], str], str] = {
    (exp.Alter, "kind"): "ALTER VIEW t RENAME TO u",
    (exp.Refresh, "kind"): "REFRESH TABLE v",
    (exp.Copy, "kind"): "COPY t TO 'a.csv'",
    (exp.CopyParameter, "this"): "COPY t FROM 'a' (HEADER)",
    (exp.ColumnDef, "exists"): "ALTER TABLE t ADD COLUMN IF NOT EXISTS x INT",
    (exp.Property, "this"): "CREATE TABLE t (x INT) WITH (colour = 1)",
    (exp.Table, "catalog"): "DELETE FROM c.s.a",
    (exp.TableAlias, "columns"): "DELETE FROM a AS b (x)",
}
"""What is read in order to be refused."""

NO_EFFECT = {
    (exp.Insert, "hint"),
    (exp.Update, "hint"),
    (exp.Delete, "hint"),
    (exp.Table, "hints"),
    (exp.Drop, "restrict"),
    (exp.Drop, "materialized"),
    (exp.ColumnConstraint, "this"),
    (exp.Constraint, "this"),
}
"""Hints to an optimiser, names of constraints, and what holds anyway: `DROP VIEW` drops views of both kinds."""


def shown(text: str) -> list[str]:
    """Statements without the text they were read from."""
    records = []
    for record in sql.read(text):
        fields: dict[str, Any] = {n: getattr(record, n) for n in record.__slots__}
        records.append(repr({n: v for n, v in fields.items() if n not in ("text", "query_text", "place")}))
    return records


@pytest.mark.parametrize("used", USED, ids=lambda used: f"{used[0].__name__}.{used[1]}")
def test_what_is_read_makes_a_difference(used: tuple[type[exp.Expr], str]) -> None:
    with_it, without_it = USED[used]
    assert shown(with_it) != shown(without_it)


@pytest.mark.parametrize("text", REFUSED.values())
def test_what_is_read_to_be_refused(text: str) -> None:
    with pytest.raises(UnsupportedStatement):
        sql.read(text)


def test_every_argument_is_accounted_for() -> None:
    known = {(node, argument) for node, arguments in READ.items() for argument in arguments}
    assert known == USED.keys() | REFUSED.keys() | NO_EFFECT


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("INSERT OR REPLACE INTO a VALUES (1)", "INSERT with OR REPLACE"),
        ("INSERT OR IGNORE INTO a VALUES (1)", "INSERT with OR IGNORE"),
        ("INSERT INTO a VALUES (1) RETURNING x", "INSERT with RETURNING"),
        ("INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE x = 1", "INSERT with ON DUPLICATE KEY"),
        ("INSERT INTO a VALUES (1) ON CONFLICT ON CONSTRAINT k DO NOTHING", "INSERT with ON CONFLICT ON CONSTRAINT"),
        ("INSERT OVERWRITE a VALUES (1)", "INSERT with OVERWRITE"),
        ("INSERT INTO a BY NAME SELECT 1 AS x", "INSERT with BY NAME"),
        ("INSERT INTO a REPLACE WHERE x = 1 SELECT 1", "INSERT with REPLACE WHERE"),
        ("INSERT INTO a PARTITION (x = 1) VALUES (1)", "INSERT with PARTITION"),
        ("INSERT INTO a DEFAULT VALUES", "INSERT with DEFAULT VALUES"),
        ("WITH q AS (SELECT 1) INSERT INTO a SELECT * FROM q", "INSERT with WITH"),
        ("UPDATE a SET x = 1 FROM b", "UPDATE with FROM"),
        ("UPDATE a SET x = 1 RETURNING x", "UPDATE with RETURNING"),
        ("DELETE FROM a USING b", "DELETE with USING"),
        ("DELETE FROM a LIMIT 1", "DELETE with LIMIT"),
        (f"{MERGE} RETURNING x", "MERGE with RETURNING"),
        ("DROP TABLE a PURGE", "DROP TABLE with PURGE"),
        ("TRUNCATE TABLE a CASCADE", "TRUNCATE TABLE with CASCADE"),
        ("TRUNCATE TABLE a, b", "TRUNCATE TABLE of several tables"),
        ("ALTER TABLE IF EXISTS a RENAME TO b", "ALTER TABLE with IF EXISTS"),
        ("ALTER TABLE a ADD COLUMN x INT FIRST", "ALTER TABLE with FIRST and AFTER"),
    ],
)
def test_clauses_are_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(UnsupportedStatement) as refused:
        sql.read(text)
    assert refused.value.parameters["statement"] == named
    assert refused.value.place is not None


@pytest.mark.parametrize(
    "conflict",
    ["ON CONFLICT (x + 1) DO NOTHING", "ON CONFLICT (x DESC) DO NOTHING", "ON CONFLICT DO NOTHING WHERE x = 1"],
)
def test_conflicts_that_are_no_conflicts(conflict: str) -> None:
    with pytest.raises(InvalidSyntax):
        sql.read(f"INSERT INTO a VALUES (1) {conflict}")
