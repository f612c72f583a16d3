"""Mistakes of ours leave as a condition that says what to report, and the database goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings.errors import InternalError, RuleFailed, UnknownColumn
from tidings.errors.unexpected import internal_errors


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(0)) as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        yield db


def broken(*_: object, **__: object) -> None:
    raise KeyError("what nobody expected")


@pytest.mark.parametrize(
    "place", ["tidings.lang.sql.query.binder.Binder.query", "tidings.waves.planner.compile_program"]
)
def test_a_mistake_of_ours_leaves_as_a_condition(
    db: tidings.Database, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    text = "SELECT a + 1 AS b FROM t"
    with monkeypatch.context() as patch:
        patch.setattr(place, broken)
        for ask in (lambda: db.changes(text, since=0), lambda: next(db.subscribe(text, since=0))):
            with pytest.raises(InternalError) as raised:
                ask()
            assert raised.value.place is not None
            assert raised.value.place.text == text
            assert raised.value.parameters["error"] == "KeyError"
            assert isinstance(raised.value.__cause__, KeyError)
    assert [c.row for c in db.changes(text, since=0).rows()] == [{"b": 2}]
    db.sql("INSERT INTO t VALUES (2)")
    assert len(db.query("t").rows()) == 2


def test_a_transaction_with_a_mistake_of_ours_is_forgotten(
    db: tidings.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tidings.lang.sql.query.binder.Binder.query", broken)
        tx = db.transaction()
        tx.insert("t", [(5,)])
        with pytest.raises(InternalError), tx:
            tx.sql("INSERT INTO t SELECT a FROM t")
        with pytest.raises(InternalError):
            db.sql("INSERT INTO t SELECT a FROM t WHERE a > 0")
    assert db.query("t").rows() == [{"a": 1}]
    with db.transaction() as tx:
        tx.sql("INSERT INTO t SELECT a + 1 FROM t")
    assert len(db.query("t").rows()) == 2


def test_a_stored_view_that_meets_a_mistake_of_ours_is_marked(
    db: tidings.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.sql(
        "CREATE MATERIALIZED VIEW good AS SELECT a FROM t; CREATE MATERIALIZED VIEW bad AS SELECT max(a) AS m FROM t"
    )
    db.sql("INSERT INTO t VALUES (7)")
    with monkeypatch.context() as patch:
        patch.setattr("tidings.waves.view_deltas.ViewDeltas.of_views", broken)
        patch.setattr("tidings.waves.view_deltas.ViewDeltas.of_view", broken)
        db.advance()
        errors = [v.error for v in db.status().views]
        assert all(e is not None and "KeyError" in e for e in errors)
    db.sql("INSERT INTO t VALUES (8)")
    db.advance()
    assert db.query("bad").rows() == [{"m": 8}]


def test_what_a_procedure_raises_keeps_its_meaning(db: tidings.Database) -> None:
    @db.procedure("fail")
    def fail(rows: list[dict[str, object]]) -> None:
        raise KeyError("of the user")

    db.sql("CREATE RULE r WHEN SELECT a FROM t WHERE a > 9 DO CALL fail(a) WITH (action = 'deferred')")
    with pytest.raises(RuleFailed) as raised:
        db.sql("INSERT INTO t VALUES (10)")
    assert isinstance(raised.value.__cause__, KeyError)


def test_conditions_and_the_end_of_an_iteration_pass() -> None:
    for error in (UnknownColumn(name="x"), StopIteration()):
        with pytest.raises(type(error)), internal_errors("text"):
            raise error
    with pytest.raises(KeyboardInterrupt), internal_errors():
        raise KeyboardInterrupt
