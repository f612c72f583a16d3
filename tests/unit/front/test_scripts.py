"""Texts of several statements: one transaction between BEGIN and COMMIT, and errors that say which statement it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings import Database
from tidings.errors import DuplicateKey, InvalidSyntax, TidingsError, UnknownRelation, UnsupportedStatement


@pytest.fixture
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (id INT PRIMARY KEY)")
        yield db


def ids(db: Database) -> list[int]:
    return [row["id"] for row in db.query("SELECT id FROM t ORDER BY id").rows()]


def test_a_transaction_has_one_instant(db: Database) -> None:
    before = db.time
    db.sql("BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); DELETE FROM t WHERE id = 1; COMMIT")
    assert ids(db) == [2]
    assert len(db.changes("t", since=before, per_commit=True)) == 1


def test_queries_inside_see_what_was_done(db: Database) -> None:
    result = db.sql("BEGIN TRANSACTION; INSERT INTO t VALUES (1); COMMIT WORK; BEGIN; SELECT id FROM t; COMMIT")
    assert result is None
    assert ids(db) == [1]


def test_a_rollback_forgets(db: Database) -> None:
    db.sql("BEGIN; INSERT INTO t VALUES (1); ROLLBACK; INSERT INTO t VALUES (2)")
    assert ids(db) == [2]


def test_nothing_is_left_of_a_transaction_that_fails(db: Database) -> None:
    with pytest.raises(DuplicateKey) as raised:
        db.sql("INSERT INTO t VALUES (9); BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (1); COMMIT")
    assert raised.value.statement in ("statement 4 of 5", "statement 5 of 5")
    assert ids(db) == [9]


@pytest.mark.parametrize("text", ["BEGIN; INSERT INTO t VALUES (1)", "COMMIT", "ROLLBACK", "BEGIN; BEGIN; COMMIT"])
def test_what_does_not_pair_up_is_refused(db: Database, text: str) -> None:
    with pytest.raises(InvalidSyntax):
        db.sql(text)
    assert ids(db) == []


@pytest.mark.parametrize("text", ["BEGIN; CREATE TABLE u (a INT); COMMIT", "BEGIN READ ONLY; COMMIT"])
def test_what_a_transaction_cannot_do_is_refused(db: Database, text: str) -> None:
    with pytest.raises(UnsupportedStatement):
        db.sql(text)


def test_an_error_says_which_statement_it_is_about(db: Database) -> None:
    with pytest.raises(UnknownRelation) as raised:
        db.sql("INSERT INTO t VALUES (1); INSERT INTO u VALUES (1); INSERT INTO t VALUES (2)")
    assert "in statement 2 of 3" in str(raised.value)
    assert ids(db) == [1]
    with pytest.raises(TidingsError) as alone:
        db.sql("INSERT INTO u VALUES (1)")
    assert alone.value.statement is None


def test_transactions_do_not_nest(db: Database) -> None:
    with db.transaction() as tx, pytest.raises(UnsupportedStatement):
        tx.sql("BEGIN")
