"""Procedures are called by name, with rows and perhaps the transaction, and begin no transactions of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Optional

import pytest

import tidings
from tests.unit.rules.test_agenda import LOW, NOW, rows
from tidings import Database, Transaction
from tidings.errors import InvalidProcedure, NestedTransaction, TidingsError, UnknownProcedure
from tidings.rules.action.procedures import Procedure, Procedures


def called(function: Callable[..., object], *, each: bool = False) -> None:
    Procedure.of("p", function, each=each)([{"n": 1}, {"n": 2}], "the transaction")  # type: ignore[arg-type]


def test_with_all_rows_or_one_at_a_time() -> None:
    seen: list[object] = []
    called(lambda given: seen.append(given))
    called(lambda row, tx: seen.append((row, tx)), each=True)
    assert seen == [[{"n": 1}, {"n": 2}], ({"n": 1}, "the transaction"), ({"n": 2}, "the transaction")]


def test_the_transaction_is_given_by_name_or_annotation() -> None:
    seen: list[object] = []

    def by_name(rows: object, retries: int = 3, tx: object = None) -> None:
        seen.append((retries, tx))

    def by_keyword(rows: object, *, tx: object) -> None:
        seen.append(tx)

    def in_second_place(rows: object, tx: object, /, more: int = 4) -> None:
        seen.append((tx, more))

    def annotated(rows: object, change: Transaction) -> None:
        seen.append(change)

    def optional(rows: object, change: Optional[Transaction] = None, **more: object) -> None:  # noqa: UP045
        seen.append(change)

    def unresolved(rows: NoSuchName, change: tidings.Transaction | None = None) -> None:  # type: ignore[name-defined]  # noqa: F821
        seen.append(change)

    for function in (by_name, by_keyword, in_second_place, annotated, optional, unresolved):
        called(function)
    tx = "the transaction"
    assert seen == [(3, tx), tx, (tx, 4), tx, tx, tx]


def test_other_parameters_keep_their_defaults() -> None:
    seen: list[object] = []

    def with_default(rows: object, retries: int = 3, *more: object, unit: str = "s", **others: object) -> None:
        seen.append((retries, more, unit, others))

    called(with_default)
    called(print)
    assert seen == [(3, (), "s", {})]


@pytest.mark.parametrize(
    "function",
    [
        lambda: None,
        lambda *, rows: None,
        lambda **rows: None,
        lambda tx: None,
        lambda rows, other: None,
        lambda rows, other, tx: None,
        lambda rows, tx, *, unit: None,
        lambda rows, retries=3, tx=None, /: None,
        "no function",
    ],
)
def test_what_cannot_be_registered(function: Any) -> None:
    procedures = Procedures()
    with pytest.raises(InvalidProcedure) as refused:
        procedures.register("Note", function, each=False)
    assert refused.value.parameters["name"] == "Note"
    assert refused.value.hint
    assert "note" not in procedures


def test_two_parameters_for_the_transaction() -> None:
    def twice(rows: object, tx: object, other: Transaction) -> None: ...

    with pytest.raises(InvalidProcedure):
        Procedure.of("twice", twice, each=False)


def test_names_without_regard_to_case_and_the_last_one_counts() -> None:
    procedures = Procedures()
    procedures.register("Note", print, each=False)
    procedures.register("note", repr, each=True)
    assert "NOTE" in procedures
    assert procedures["nOtE"].function is repr
    with pytest.raises(UnknownProcedure) as unknown:
        procedures["notes"]
    assert unknown.value.hint is not None


# transactions of their own

OWN: dict[str, Callable[[Database], object]] = {
    "db.sql": lambda db: db.sql("INSERT INTO log VALUES ('own', 1)"),
    "db.load": lambda db: db.load("log", None),
    "db.transaction": lambda db: db.transaction(),
    "db.signal": lambda db: db.signal("bell", [(1,)]),
    "db.advance": lambda db: db.advance(),
}


@pytest.mark.parametrize("method", OWN)
@pytest.mark.parametrize("coupling", ["deferred", "detached"])
def test_a_procedure_begins_no_transaction(db: Database, method: str, coupling: str) -> None:
    refused: list[TidingsError] = []

    @db.procedure("nested")
    def nested(instances: list[dict[str, Any]]) -> None:
        assert len(db.query("stock").rows()) == 2
        with pytest.raises(NestedTransaction) as error:
            OWN[method](db)
        refused.append(error.value)

    db.sql(f"""
        CREATE EVENT bell (n INT);
        CREATE RULE a {LOW} DO CALL nested(item) WITH (action = '{coupling}');
        UPDATE stock SET qty = 5 WHERE item = 1
    """)
    db.advance()
    (error,) = refused
    assert error.parameters == {"method": method, "procedure": "nested"}
    assert error.hint
    assert rows(db, "log") == []
    db.sql("INSERT INTO log VALUES ('after', 1)")


def test_other_threads_are_not_refused(db: Database) -> None:
    begun: list[Transaction] = []

    @db.procedure("nested")
    def nested(instances: list[dict[str, Any]]) -> None:
        thread = threading.Thread(target=lambda: begun.append(db.transaction()))
        thread.start()
        thread.join()

    db.sql(f"CREATE RULE a {LOW} DO CALL nested(item) {NOW}; UPDATE stock SET qty = 5 WHERE item = 1")
    assert len(begun) == 1


def test_other_databases_are_not_refused(db: Database) -> None:
    with tidings.open(engine="duckdb") as other:
        other.sql("CREATE TABLE copy (item INT)")

        @db.procedure("copy")
        def copy(instances: list[dict[str, Any]]) -> None:
            with other.transaction() as tx:
                tx.insert("copy", instances)

        db.sql(f"CREATE RULE a {LOW} DO CALL copy(item) {NOW}; UPDATE stock SET qty = 5 WHERE item = 1")
        assert rows(other, "copy") == [(1,)]
