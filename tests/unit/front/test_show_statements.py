"""What is defined, as rows and as statements that define it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tidings import Database
from tidings.errors import TidingsError, UnknownRelation, UnknownRule

DEFINITIONS = """
CREATE TABLE stock (
    item BIGINT PRIMARY KEY,
    quantity INT NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    `odd ``name` STRUCT<name: STRING, sizes: ARRAY<DECIMAL(10, 2)>>,
    CONSTRAINT few CHECK (quantity < 1000)
);
CREATE TABLE reading (sensor STRING, at TIMESTAMP, PRIMARY KEY (sensor, at)) WITH (append_only, time = at);
CREATE VIEW low (thing, `how many`) AS SELECT item, quantity FROM stock WHERE quantity < 5;
CREATE MATERIALIZED VIEW counted WITH (refresh = 'immediate strict') AS
    SELECT quantity, count(*) AS n FROM stock GROUP BY quantity;
CREATE EVENT shaken (item BIGINT);
CREATE RULE tell (least INT) WHEN SELECT item FROM stock WHERE quantity < least DO NOTIFY 'buyers' WITH (priority = 3);
"""


@pytest.fixture
def defined() -> Iterator[Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql(DEFINITIONS)
        yield db


def statement(db: Database, kind: str, name: str) -> str:
    result = db.sql(f"SHOW CREATE {kind} {name}")
    assert result is not None
    return str(result.rows()[0]["statement"])


def test_tables(defined: Database) -> None:
    assert defined.tables().rows() == [
        {"name": "reading", "primary_key": "sensor, at", "append_only": True, "time_column": "at"},
        {"name": "stock", "primary_key": "item", "append_only": False, "time_column": None},
    ]


def test_views(defined: Database) -> None:
    assert defined.views().rows() == [
        {"name": "counted", "stored": True, "refresh": "immediate strict", "error": None},
        {"name": "low", "stored": False, "refresh": None, "error": None},
    ]


def test_rules(defined: Database) -> None:
    (rule,) = defined.rules()
    assert (rule["name"], rule["enabled"], rule["priority"], rule["does"]) == ("tell", True, 3, "notify buyers")


def test_schema(defined: Database) -> None:
    assert [tuple(column.values()) for column in defined.schema("STOCK")] == [
        ("item", "bigint", False, True, None),
        ("quantity", "int", False, False, "0"),
        ("odd `name", "struct<name:string,sizes:array<decimal(10,2)>>", True, False, None),
    ]
    assert [column["column"] for column in defined.schema("low")] == ["thing", "how many"]
    assert [column["type"] for column in defined.schema("shaken")] == ["bigint"]
    assert "enabled" in [column["column"] for column in defined.schema("tidings.rules")]


@pytest.mark.parametrize(
    ("text", "method"), [("SHOW TABLES", "tables"), ("SHOW VIEWS", "views"), ("SHOW RULES", "rules")]
)
def test_statements_give_what_methods_give(defined: Database, text: str, method: str) -> None:
    assert defined.sql(text) == getattr(defined, method)()
    assert defined.sql("DESCRIBE low") == defined.schema("low")


def test_an_empty_database_has_nothing_to_show() -> None:
    with tidings.open(engine="duckdb") as db:
        assert [len(result) for result in (db.tables(), db.views(), db.rules())] == [0, 0, 0]


DEFINED = [("TABLE", "stock"), ("TABLE", "reading"), ("VIEW", "low"), ("VIEW", "counted"), ("RULE", "tell")]


def test_round_trip(defined: Database) -> None:
    texts = [statement(defined, kind, name) for kind, name in DEFINED]
    with tidings.open(engine="duckdb") as copy:
        copy.sql("; ".join(texts))
        assert [statement(copy, kind, name) for kind, name in DEFINED] == texts
        assert copy.tables() == defined.tables()
        assert copy.views() == defined.views()
        assert copy.schema("stock") == defined.schema("stock")
        with pytest.raises(TidingsError):
            copy.sql("INSERT INTO stock (item, quantity) VALUES (1, -1)")


def test_what_was_altered_is_shown_as_it_is(defined: Database) -> None:
    defined.sql("CREATE TABLE t (a INT NOT NULL CHECK (a > 0)); ALTER TABLE t ADD COLUMN b STRING DEFAULT 'x'")
    defined.sql("ALTER TABLE t RENAME COLUMN a TO c; ALTER TABLE t RENAME TO u")
    text = statement(defined, "TABLE", "u")
    defined.sql(f"DROP TABLE u; {text}; INSERT INTO u (c) VALUES (1)")
    assert defined.query("u").rows() == [{"c": 1, "b": "x"}]
    assert statement(defined, "TABLE", "u") == text


def test_after_a_restart_and_for_a_reader(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql(DEFINITIONS)
        texts = [statement(db, kind, name) for kind, name in DEFINED]
    with tidings.open(tmp_path / "db", engine="duckdb", read_only=True) as reader:
        assert [statement(reader, kind, name) for kind, name in DEFINED] == texts


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SHOW CREATE TABLE stok", "did you mean stock?"),
        ("SHOW CREATE TABLE low", "known here: reading, stock"),
        ("SHOW CREATE VIEW lo", "did you mean low?"),
        ("DESCRIBE readin", "did you mean reading?"),
        ("SHOW CREATE RULE tel", "did you mean tell?"),
    ],
)
def test_unknown_names(defined: Database, text: str, hint: str) -> None:
    with pytest.raises((UnknownRelation, UnknownRule)) as refused:
        defined.sql(text)
    assert refused.value.hint == hint
    assert refused.value.place is not None
    assert text[refused.value.place.start : refused.value.place.end] == text.split()[-1]


def test_explain_rule(defined: Database) -> None:
    result = defined.sql("EXPLAIN RULE Tell")
    assert result is not None
    assert result.rows() == [{"explanation": defined.explain_rule("tell")}]
    with pytest.raises(UnknownRule) as refused:
        defined.sql("EXPLAIN RULE tells")
    assert refused.value.place is not None
