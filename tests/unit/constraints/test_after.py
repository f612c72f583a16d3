"""Rows come after those that they name."""

from __future__ import annotations

from typing import Any

import pytest

from tidings import Database, ManualClock
from tidings.errors import (
    CheckViolated,
    ColumnInUse,
    DependentObjects,
    InvalidSyntax,
    UnknownColumn,
    UnknownRelation,
)

MSGS = """CREATE TABLE msgs (id STRING PRIMARY KEY, re STRING, ts BIGINT,
    CONSTRAINT later (re) AFTER msgs (id)) WITH (append_only, time = ts)"""
VOTES = """CREATE TABLE votes (msg STRING, ts BIGINT, CONSTRAINT voted (msg) AFTER msgs (id){})
    WITH (append_only, time = ts)"""


def row(id: str, re: str | None = None, ts: int | None = None) -> dict[str, Any]:
    return {"id": id, "re": re, "ts": ts}


def test_what_a_row_names_is_there_or_comes_with_it(db: Database) -> None:
    db.sql(MSGS)
    with db.transaction() as tx:
        tx.insert("msgs", [row("b", "a"), row("a"), row("c", "b")])
    with db.transaction() as tx:
        tx.insert("msgs", [row("d", "a"), row("e", None)])
    with pytest.raises(CheckViolated) as violated, db.transaction() as tx:
        tx.insert("msgs", [row("f", "a"), row("g", "x")])
    assert violated.value.parameters["row"] == 2
    assert violated.value.parameters["column"] == "re"
    assert len(db.query("msgs").rows()) == 5


def test_rows_of_another_table(db: Database) -> None:
    db.sql(f"{MSGS}; {VOTES.format('')}")
    with pytest.raises(CheckViolated):
        db.sql("INSERT INTO votes (msg) VALUES ('a')")
    with db.transaction() as tx:
        tx.insert("votes", [{"msg": "a"}])
        tx.insert("msgs", [row("a")])
    db.sql("INSERT INTO votes (msg) VALUES ('a')")


def test_histories_are_in_order(db: Database, clock: ManualClock) -> None:
    db.sql(MSGS)
    with pytest.raises(CheckViolated):
        db.load("msgs", [row("b", "a", 10), row("a", None, 11)])
    db.load("msgs", [row("b", "a", 11), row("a", None, 11), row("c", "b", 12)])
    db.load("msgs", [row("d", "a", 20)])


def test_not_enforced_is_taken_on_trust(db: Database) -> None:
    db.sql(f"{MSGS}; {VOTES.format(' NOT ENFORCED')}")
    db.sql("INSERT INTO votes (msg) VALUES ('nothing')")


def test_the_statement_that_makes_the_table_again(db: Database) -> None:
    db.sql(f"{MSGS}; {VOTES.format(' NOT ENFORCED')}")
    for name in ("msgs", "votes"):
        shown = db.sql(f"SHOW CREATE TABLE {name}")
        assert shown is not None
        (made,) = shown.rows()
        assert ("NOT ENFORCED" in made["statement"]) is (name == "votes")
    db.sql("DROP TABLE votes")
    db.sql(made["statement"])


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ("a INT, ts BIGINT, CONSTRAINT f (a) AFTER msgs (id)", InvalidSyntax),
        ("a STRING, ts BIGINT, CONSTRAINT f (a) AFTER msgs (re)", InvalidSyntax),
        ("a STRING, ts BIGINT, CONSTRAINT f (a, ts) AFTER msgs (id)", InvalidSyntax),
        ("a BIGINT, ts BIGINT, CONSTRAINT f (a) AFTER quantity (item)", InvalidSyntax),
        ("a STRING, ts BIGINT, CONSTRAINT f (b) AFTER msgs (id)", UnknownColumn),
        ("a STRING, ts BIGINT, CONSTRAINT f (a) AFTER msgs (no)", UnknownColumn),
        ("a STRING, ts BIGINT, CONSTRAINT f (a) AFTER no (id)", UnknownRelation),
    ],
)
def test_constraints_that_cannot_be(db: Database, columns: str, error: type[Exception]) -> None:
    db.sql(MSGS)
    with pytest.raises(error):
        db.sql(f"CREATE TABLE t ({columns}) WITH (append_only, time = ts)")


def test_a_constraint_is_for_tables_with_a_time_column(db: Database) -> None:
    db.sql(MSGS)
    with pytest.raises(InvalidSyntax):
        db.sql("CREATE TABLE t (a STRING, CONSTRAINT f (a) AFTER msgs (id))")


def test_what_a_constraint_mentions_stays(db: Database) -> None:
    db.sql(f"{MSGS}; {VOTES.format('')}")
    for change in ("RENAME COLUMN re TO other", "RENAME COLUMN id TO other", "DROP COLUMN re"):
        with pytest.raises(ColumnInUse):
            db.sql(f"ALTER TABLE msgs {change}")
    for change in ("DROP TABLE msgs", "ALTER TABLE msgs RENAME TO other"):
        with pytest.raises(DependentObjects):
            db.sql(change)
    db.sql("DROP TABLE votes; ALTER TABLE msgs RENAME TO other")
    with pytest.raises(CheckViolated):
        db.sql("INSERT INTO other (id, re) VALUES ('a', 'x')")
    db.sql("DROP TABLE other")
