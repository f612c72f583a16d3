"""Serializable transactions: what is committed is as if each had run alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pyarrow as pa
import pytest

import tidings
from tidings import Database, Transaction
from tidings.errors import InvalidIsolation, SerializationConflict, UnsupportedStatement

SERIALIZABLE = "serializable"


@pytest.fixture
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """With all statements on the engine, or where it is asked for, with small ones in this process."""
    with tidings.open(engine="duckdb", execution=getattr(request, "param", None)) as made:
        made.sql("""
            CREATE TABLE doctor (name STRING PRIMARY KEY, on_call BOOLEAN);
            INSERT INTO doctor VALUES ('ann', true), ('bob', true);
            CREATE TABLE audit (n INT);
            CREATE VIEW calls AS SELECT count(*) AS n FROM doctor WHERE on_call;
            CREATE MATERIALIZED VIEW kept AS SELECT count(*) AS n FROM doctor WHERE on_call;
        """)
        yield made


def leave(tx: Transaction, name: str, question: str) -> None:
    """Go off call if somebody else is on it."""
    (row,) = tx.query(question).rows()
    if row["n"] > 1:
        tx.sql(f"UPDATE doctor SET on_call = false WHERE name = '{name}'")


COUNT = "SELECT count(*) AS n FROM doctor WHERE on_call"
QUESTIONS = [COUNT, "calls", "kept", "SELECT n FROM calls", "SELECT n FROM kept", f"SELECT ({COUNT}) AS n"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_write_skew(db: Database, question: str) -> None:
    one, other = db.transaction(isolation=SERIALIZABLE), db.transaction(isolation=SERIALIZABLE)
    leave(one, "ann", question)
    leave(other, "bob", question)
    one.commit()
    with pytest.raises(SerializationConflict) as conflict:
        other.commit()
    assert "doctor" in str(conflict.value.parameters["relations"])
    assert conflict.value.retryable
    assert db.query(COUNT).rows() == [{"n": 1}]
    with db.transaction(isolation=SERIALIZABLE) as again:
        leave(again, "bob", question)
    assert db.query(COUNT).rows() == [{"n": 1}]


def test_write_skew_is_possible_without(db: Database) -> None:
    with db.transaction() as one, db.transaction() as other:
        leave(one, "ann", COUNT)
        leave(other, "bob", COUNT)
    assert db.query(COUNT).rows() == [{"n": 0}]


def nothing(db: Database) -> None:
    return None


def phantom(db: Database) -> None:
    db.sql("INSERT INTO doctor VALUES ('cyd', true)")


def loaded(db: Database) -> None:
    db.load("empty", pa.table({"n": pa.array([1], pa.int32())}))


def altered(db: Database) -> None:
    db.sql("ALTER TABLE audit ADD COLUMN more INT")


def dropped(db: Database) -> None:
    db.sql("DROP VIEW other_view; CREATE VIEW other_view AS SELECT 2 AS n FROM audit")


def back_and_forth(db: Database) -> None:
    db.sql("UPDATE doctor SET on_call = false WHERE name = 'ann'")
    db.sql("UPDATE doctor SET on_call = true WHERE name = 'ann'")


Read = Callable[[Transaction], object]

CASES: list[tuple[str, Read, Callable[[Database], None], bool]] = [
    ("nobody else", lambda tx: tx.query("doctor"), nothing, False),
    ("a phantom in a query", lambda tx: tx.query("SELECT * FROM doctor WHERE name > 'c'"), phantom, True),
    ("a phantom in an update", lambda tx: tx.sql("UPDATE doctor SET on_call = false WHERE name > 'c'"), phantom, True),
    ("a phantom in a delete", lambda tx: tx.sql("DELETE FROM doctor WHERE NOT on_call"), phantom, True),
    ("in an insert", lambda tx: tx.sql("INSERT INTO audit SELECT count(*) FROM doctor"), phantom, True),
    ("a key that is not there", lambda tx: tx.upsert("doctor", [("cyd", False)]), phantom, True),
    ("a conflict of keys", lambda tx: tx.sql(
        "INSERT INTO doctor VALUES ('cyd', false) ON CONFLICT DO NOTHING"), phantom, True),
    ("a merge", lambda tx: tx.sql("""
        MERGE INTO doctor USING (SELECT 'cyd' AS name) s ON doctor.name = s.name
        WHEN NOT MATCHED THEN INSERT (name, on_call) VALUES (s.name, false)"""), phantom, True),
    ("another key by rows", lambda tx: tx.update("doctor", [("bob", False)]), phantom, False),
    ("another key by SQL", lambda tx: tx.sql("UPDATE doctor SET on_call = false WHERE name = 'bob'"), phantom, False),
    ("a key that changed", lambda tx: tx.update("doctor", [("ann", False)]), back_and_forth, True),
    ("a key that did not", lambda tx: tx.update("doctor", [("bob", False)]), back_and_forth, False),
    ("blind writes", lambda tx: tx.insert("doctor", [("dan", True)]), phantom, False),
    ("first rows", lambda tx: tx.query("empty"), loaded, True),
    ("another meaning of a table", lambda tx: tx.query("SELECT count(*) AS n FROM audit"), altered, True),
    ("another meaning of a view", lambda tx: tx.query("SELECT n FROM other_view"), dropped, True),
    ("what reads another table", lambda tx: tx.query("SELECT count(*) AS n FROM audit"), phantom, False),
]  # fmt: skip


@pytest.mark.parametrize("db", [None, "auto"], ids=["engine", "auto"], indirect=True)
@pytest.mark.parametrize(("read", "meanwhile", "refused"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_was_read_must_not_change(
    db: Database, read: Read, meanwhile: Callable[[Database], None], refused: bool
) -> None:
    db.sql("CREATE TABLE empty (n INT); CREATE VIEW other_view AS SELECT 1 AS n FROM audit")
    tx = db.transaction(isolation=SERIALIZABLE)
    read(tx)
    meanwhile(db)
    tx.insert("audit", [{"n": 7}])
    if refused:
        with pytest.raises(SerializationConflict):
            tx.commit()
    else:
        tx.commit()
    assert db.query("SELECT n FROM audit WHERE n = 7").rows() == ([] if refused else [{"n": 7}])


def test_what_was_folded_and_forgotten_meanwhile_counts_as_changed() -> None:
    clock = tidings.ManualClock(1)
    with tidings.open(engine="duckdb", clock=clock, retention=timedelta(0)) as db:
        db.sql("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1)")
        whole, keys = db.transaction(isolation=SERIALIZABLE), db.transaction(isolation=SERIALIZABLE)
        whole.query("t")
        keys.upsert("t", [(2,)])
        db.sql("INSERT INTO t VALUES (3)")
        clock.set(10**9)
        db.sql("INSERT INTO t VALUES (4)")
        db.fold()
        for tx in (whole, keys):
            with pytest.raises(SerializationConflict):
                tx.commit()


def test_a_load_before_the_first_commit_counts_as_a_change() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT PRIMARY KEY)")
        tx = db.transaction(isolation=SERIALIZABLE)
        assert tx.query("t").rows() == []
        db.load("t", pa.table({"a": pa.array([1], pa.int32())}))
        with pytest.raises(SerializationConflict):
            tx.commit()


def test_a_rule_that_is_judged_after_every_statement_reads_too(db: Database) -> None:
    db.sql("""
        CREATE TABLE quota (most INT); INSERT INTO quota VALUES (1);
        CREATE RULE too_many WHEN SELECT a.n FROM audit a, quota q WHERE a.n > q.most DO RAISE 'too many'
          WITH (condition = 'immediate', action = 'immediate');
    """)
    tx = db.transaction(isolation=SERIALIZABLE)
    tx.insert("audit", [{"n": 1}])
    db.sql("UPDATE quota SET most = 0")
    with pytest.raises(SerializationConflict):
        tx.commit()


def test_what_an_action_reads_counts(db: Database) -> None:
    @db.procedure("copy_count")
    def copy_count(rows: list[dict[str, object]], tx: Transaction) -> None:
        tx.query(COUNT)

    db.sql("""
        CREATE RULE counted WHEN SELECT n FROM audit DO CALL copy_count(n)
          WITH (condition = 'immediate', action = 'immediate');
    """)
    tx = db.transaction(isolation=SERIALIZABLE)
    tx.insert("audit", [{"n": 1}])
    phantom(db)
    with pytest.raises(SerializationConflict):
        tx.commit()


def test_a_transaction_that_was_refused_is_over(db: Database) -> None:
    tx = db.transaction(isolation=SERIALIZABLE)
    tx.query("doctor")
    phantom(db)
    with pytest.raises(SerializationConflict):
        tx.commit()
    with pytest.raises(tidings.errors.UnknownTransactionState):
        tx.insert("audit", [{"n": 1}])


def test_an_id_stays_free_when_its_transaction_was_refused(db: Database) -> None:
    tx = db.transaction("batch-1", isolation=SERIALIZABLE)
    tx.query("doctor")
    phantom(db)
    with pytest.raises(SerializationConflict):
        tx.commit()
    with db.transaction("batch-1", isolation=SERIALIZABLE) as again:
        again.query("doctor")
    assert not again.repeated


def test_system_tables_cannot_be_compared(db: Database) -> None:
    with db.transaction(isolation=SERIALIZABLE) as tx, pytest.raises(UnsupportedStatement, match=r"tidings\.tables"):
        tx.query("SELECT * FROM tidings.tables")


@pytest.mark.parametrize(
    "begin",
    ["BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN TRANSACTION"],
)
def test_as_a_statement(db: Database, begin: str) -> None:
    db.sql(f"{begin}; UPDATE doctor SET on_call = false WHERE name = 'ann'; COMMIT")
    assert db.query(COUNT).rows() == [{"n": 1}]


@pytest.mark.parametrize("level", ["SNAPSHOT", "REPEATABLE READ"])
def test_levels_that_are_not_there(db: Database, level: str) -> None:
    with pytest.raises(InvalidIsolation) as refused:
        db.sql(f"BEGIN ISOLATION LEVEL {level}; COMMIT")
    assert refused.value.parameters == {"name": level}
    assert refused.value.place is not None
    with pytest.raises(InvalidIsolation):
        db.transaction(isolation=level)


@pytest.mark.parametrize(
    "words", ["BEGIN READ ONLY", "BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY"]
)
def test_what_else_a_begin_may_say_is_refused(db: Database, words: str) -> None:
    with pytest.raises(UnsupportedStatement):
        db.sql(f"{words}; COMMIT")
