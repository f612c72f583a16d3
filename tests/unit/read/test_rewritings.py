"""EXPLAIN CONTINUOUS, and the texts of rewritings for two instants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import InvalidSyntax, UnknownColumn, UnsupportedStatement
from tidings.lang.sql import statement as sql
from tidings.read.rewritings import Rewritings, bounding_text, incremental_text
from tidings.rewrite.monotone.rewriting import Rewriting


@pytest.fixture
def msgs(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE msgs (id STRING PRIMARY KEY, due TIMESTAMP, ts TIMESTAMP) WITH (append_only, time = ts)")
        yield db


def steps(db: Database, query: str) -> list[tuple[str, str]]:
    result = db.sql(f"EXPLAIN CONTINUOUS {query}")
    assert result is not None
    return [(row["step"], row["text"]) for row in result.rows()]


def test_steps_of_a_monotone_query(msgs: Database) -> None:
    assert steps(msgs, "SELECT id FROM msgs") == [
        ("standard form", "SELECT msgs.id\nFROM msgs"),
        ("monotone", "yes"),
        ("minimum bounding monotone query", "SELECT msgs.id\nFROM msgs"),
        (
            "incremental query",
            "SELECT msgs.id\nFROM msgs\nWHERE CAST('1970-01-01 00:00:00.000000' AS TIMESTAMP) < msgs.ts\n"
            "  AND msgs.ts <= NOW()",
        ),
    ]


def test_a_query_that_never_holds_has_no_rows(msgs: Database) -> None:
    texts = dict(steps(msgs, "SELECT id FROM msgs WHERE now() < ts"))
    assert texts["minimum bounding monotone query"] == "SELECT msgs.id\nFROM msgs\nWHERE FALSE"
    assert msgs.query(texts["incremental query"]).rows() == []


def test_a_query_without_rewriting_says_why(msgs: Database) -> None:
    assert steps(msgs, "SELECT max(ts) AS last FROM msgs") == [("no rewriting", "it has an aggregate: MAX(ts)")]


def test_mistakes_are_shown_in_the_text(msgs: Database) -> None:
    with pytest.raises(UnknownColumn) as unknown:
        msgs.sql("EXPLAIN CONTINUOUS SELECT nothing FROM msgs")
    assert unknown.value.place is not None
    assert unknown.value.place.text[unknown.value.place.start :].startswith("nothing")
    for text in ("EXPLAIN CONTINUOUS", "EXPLAIN CONTINUOUS DROP TABLE msgs", "EXPLAIN CONTINUOUS SELECT FROM"):
        with pytest.raises(InvalidSyntax):
            msgs.sql(text)
    with pytest.raises(UnsupportedStatement), msgs.transaction() as tx:
        tx.sql("EXPLAIN CONTINUOUS SELECT id FROM msgs")


def test_texts_for_two_instants(msgs: Database, clock: ManualClock) -> None:
    clock.set(2000)
    msgs.sql("INSERT INTO msgs (id) VALUES ('a')")
    clock.set(3000)
    msgs.sql("INSERT INTO msgs (id) VALUES ('b')")
    (query,) = sql.read("SELECT id FROM msgs")
    assert isinstance(query, sql.Query)
    rewriting = Rewritings(msgs._parts.plans).rewriting(query)
    assert isinstance(rewriting, Rewriting)
    assert msgs.query(bounding_text(rewriting, 2500), as_of=2500).rows() == [{"id": "a"}]
    for since, present, rows in ((0, 1999, []), (1999, 2000, ["a"]), (2000, 3000, ["b"]), (3000, 4000, [])):
        text = incremental_text(rewriting, since, present)
        assert [row["id"] for row in msgs.query(text, as_of=present).rows()] == rows
