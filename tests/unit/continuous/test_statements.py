"""CREATE, DROP, REFRESH and SHOW of continuous queries, and what they refuse."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import tidings
from tests.unit.continuous.conftest import UNANSWERED, answers, ids
from tidings import Database
from tidings.errors import (
    BreaksViews,
    CircularView,
    ColumnInUse,
    DependentObjects,
    DuplicateColumn,
    DuplicateRelation,
    InvalidContinuousQuery,
    InvalidSyntax,
    TidingsError,
    UnknownContinuousQuery,
    UnknownRelation,
    UnsupportedStatement,
)

VOTERS = "CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes"


def test_the_same_text_is_a_query_and_a_continuous_query(db: Database) -> None:
    assert db.query(UNANSWERED).columns == ["id"]
    db.sql(f"CREATE CONTINUOUS QUERY unanswered AS {UNANSWERED}")
    assert [r["column"] for r in db.schema("unanswered").rows()] == ["id", "matched_at"]


def test_queries_are_shown_as_they_were_written(db: Database) -> None:
    text = f"{VOTERS}\n  WITH (every = INTERVAL 90 SECONDS, since = 'now')"
    db.sql(f"{text};")
    assert db.sql("SHOW CREATE CONTINUOUS QUERY Voters").rows() == [{"statement": text}]  # type: ignore[union-attr]
    (shown,) = db.sql("SHOW CONTINUOUS QUERIES").rows()  # type: ignore[union-attr]
    assert (shown["name"], shown["schedule"], shown["delivered"]) == ("voters", "every 90 seconds", 0)
    (row,) = db.query("SELECT * FROM tidings.continuous_queries").rows()
    assert row["text"] == text
    assert all(table["name"] != "voters" for table in db.tables().rows())


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE CONTINUOUS QUERY votes AS SELECT 1 AS one", DuplicateRelation),
        (VOTERS, DuplicateRelation),
        ("CREATE CONTINUOUS QUERY q AS SELECT voter AS matched_at FROM votes", DuplicateColumn),
        ("CREATE CONTINUOUS QUERY q AS SELECT name FROM tidings.rules", InvalidContinuousQuery),
        ("CREATE CONTINUOUS QUERY q AS SELECT * FROM nowhere", UnknownRelation),
        ("CREATE CONTINUOUS QUERY q AS DELETE FROM votes", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (every = 'noon')", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (every = INTERVAL 1 MONTH)", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (on = 'sunday')", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (since = 'ever')", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (on = 'commit', every = '* * * * *')", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (on = 'commit', on = 'commit')", InvalidSyntax),
        ("CREATE CONTINUOUS QUERY q AS SELECT 1 AS one WITH (colour = 'red')", InvalidSyntax),
        ("CREATE OR REPLACE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT 1 AS one", InvalidSyntax),
        ("CREATE OR REPLACE CONTINUOUS QUERY voters AS SELECT voter FROM voters", CircularView),
        ("DROP CONTINUOUS QUERY voter", UnknownContinuousQuery),
        ("REFRESH CONTINUOUS QUERY voter", UnknownContinuousQuery),
        ("SHOW CREATE CONTINUOUS QUERY voter", UnknownContinuousQuery),
        ("DROP TABLE voters", UnsupportedStatement),
        ("DROP TABLE votes", DependentObjects),
        ("ALTER TABLE voters ADD COLUMN x INT", UnsupportedStatement),
        ("ALTER TABLE voters RENAME TO x", UnsupportedStatement),
        ("ALTER TABLE votes RENAME TO x", DependentObjects),
        ("ALTER TABLE votes DROP COLUMN voter", ColumnInUse),
        ("INSERT INTO voters VALUES ('ann', now())", UnsupportedStatement),
        ("DELETE FROM voters", UnsupportedStatement),
    ],
)
def test_refusals(db: Database, statement: str, error: type[TidingsError]) -> None:
    db.sql(VOTERS)
    with pytest.raises(error):
        db.sql(statement)
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.advance()
    assert ids(db, "voters") == ["ann"]


def test_an_error_shows_its_place(db: Database) -> None:
    with pytest.raises(UnknownContinuousQuery) as refused:
        db.sql("DROP CONTINUOUS QUERY nobody")
    assert refused.value.place is not None
    assert refused.value.place.text[refused.value.place.start :] == "nobody"


def test_a_view_below_cannot_break_it(db: Database) -> None:
    db.sql("CREATE VIEW v AS SELECT voter FROM votes")
    db.sql("CREATE CONTINUOUS QUERY q AS SELECT voter FROM v")
    for text in ("SELECT id FROM votes", "SELECT id AS voter FROM votes"):
        with pytest.raises(BreaksViews):
            db.sql(f"CREATE OR REPLACE VIEW v AS {text}")
    with pytest.raises(DependentObjects):
        db.sql("DROP VIEW v")


def test_answers_that_somebody_reads_stay(db: Database) -> None:
    db.sql(VOTERS)
    readers = {
        "CREATE VIEW v AS SELECT * FROM voters": "DROP VIEW v",
        "CREATE RULE r WHEN SELECT * FROM voters DO NOTIFY 'x'": "DROP RULE r",
        "CREATE CONTINUOUS QUERY q AS SELECT voter FROM voters": "DROP CONTINUOUS QUERY q",
    }
    for reader, end in readers.items():
        db.sql(reader)
        with pytest.raises(DependentObjects):
            db.sql("DROP CONTINUOUS QUERY voters")
        db.sql(end)
    db.sql("DROP CONTINUOUS QUERY voters; DROP CONTINUOUS QUERY IF EXISTS voters")
    with pytest.raises(UnknownRelation):
        db.query("voters")


def test_a_replaced_query_delivers_nothing_a_second_time(db: Database) -> None:
    db.sql("INSERT INTO votes VALUES (1, 'ann'), (2, 'bob')")
    db.sql("CREATE CONTINUOUS QUERY voters AS SELECT voter FROM votes WHERE id = 1")
    db.advance()
    first = answers(db, "voters")
    db.sql(f"CREATE OR REPLACE {VOTERS.removeprefix('CREATE ')}")
    db.advance()
    assert (ids(db, "voters"), answers(db, "voters")[:1]) == (["ann", "bob"], first)


def test_a_replaced_query_with_other_columns_begins_anew(db: Database) -> None:
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.sql(VOTERS)
    db.advance()
    db.sql("CREATE OR REPLACE CONTINUOUS QUERY voters AS SELECT id, voter FROM votes")
    db.sql("CREATE CONTINUOUS QUERY IF NOT EXISTS voters AS SELECT 1 AS one")
    db.advance()
    assert [row[:2] for row in answers(db, "voters")] == [(1, "ann")]


def test_a_common_table_expression_is_no_option(db: Database) -> None:
    db.sql("CREATE CONTINUOUS QUERY q AS WITH w AS (SELECT id FROM votes) SELECT id FROM w WITH (on = 'manual')")
    db.sql("INSERT INTO votes VALUES (1, 'ann'); REFRESH CONTINUOUS QUERY q")
    assert ids(db, "q") == [1]


def test_a_database_from_before_continuous_queries_gets_them(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("CREATE TABLE votes (id INT, voter STRING); INSERT INTO votes VALUES (1, 'ann')")
    (catalog,) = (tmp_path / "db").glob("*.sqlite*")
    with closing(sqlite3.connect(catalog)) as connection:
        connection.execute("DROP TABLE continuous_query")
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'version'")
        connection.commit()
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql(VOTERS)
        db.advance()
        assert ids(db, "voters") == ["ann"]
