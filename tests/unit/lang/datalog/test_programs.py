"""What programs mean, and what is refused, with the place and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tidings import errors


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as database:
        database.sql("CREATE TABLE edge (src INT, dst INT)")
        database.sql("CREATE TABLE label (node INT, name STRING)")
        with database.transaction() as tx:
            tx.insert("edge", [{"src": a, "dst": b} for a, b in [(1, 2), (2, 3), (3, 1), (3, 4), (3, 4)]])
            tx.insert("label", [{"node": 1, "name": "one"}, {"node": 4, "name": None}])
        yield database


def _rows(db: tidings.Database, program: str) -> set[tuple[object, ...]]:
    rows = [tuple(row.values()) for row in db.query(f"DATALOG $$ {program} $$").rows()]
    assert len(rows) == len(set(rows)), "a predicate is a set"
    return set(rows)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("p(x) :- edge(x, _).", {(1,), (2,), (3,)}),
        ("p(x) :- edge(src = x, dst = 4).", {(3,)}),
        ("p(x, y + 1) :- edge(x, y), x < y.", {(1, 3), (2, 4), (3, 5)}),
        ("p(s) :- edge(x, y), s = x * 10 + y, s != 34.", {(12,), (23,), (31,)}),
        ("p(x) :- edge(x, _), !edge(_, x).", set()),
        ("p(x) :- edge(_, x), not edge(x, _).", {(4,)}),
        ("p(n) :- label(4, n).", {(None,)}),
        ("p(x, count()) :- edge(x, _).", {(1, 1), (2, 1), (3, 2)}),
        ("p(x, sum(y), min(y), max(y)) :- edge(x, y).", {(1, 2, 2, 2), (2, 3, 3, 3), (3, 5, 1, 4)}),
        ("p(count(*)) :- edge(_, _).", {(4,)}),
        ("p(1, 'a'). p(2, \"b\").", {(1, "a"), (2, "b")}),
        ("odd(x) :- edge(1, x). odd(y) :- even(x), edge(x, y). even(y) :- odd(x), edge(x, y). .output even",
         {(1,), (2,), (3,), (4,)}),
        ("tc(x, y) :- edge(x, y). tc(x, y) :- tc(x, z), tc(z, y). ?- tc(4, x).", set()),
        ("tc(x, y) :- edge(x, y). tc(x, y) :- tc(x, z), tc(z, y). ?- tc(x, x).", {(1,), (2,), (3,)}),
        ("d(x, min(c)) :- edge(1, x), c = 1. d(y, min(c + 1)) :- d(x, c), edge(x, y).",
         {(2, 1), (3, 2), (1, 3), (4, 3)}),
        ("// a comment\np(x) :- /* another */ edge(x, _), x > 2. # and one more", {(3,)}),
    ],
)  # fmt: skip
def test_answers(db: tidings.Database, program: str, expected: set[tuple[object, ...]]) -> None:
    assert _rows(db, program) == expected


@pytest.mark.parametrize(
    ("program", "error", "parameters", "marked"),
    [
        ("p(x, y) :- edge(x, _).", errors.UnsafeVariable, {"predicate": "p", "variable": "y"}, "y"),
        ("p(x) :- edge(x, _), !edge(y, x).", errors.UnsafeVariable, {"predicate": "p", "variable": "y"}, "y"),
        ("p(x) :- edge(x, _), y < 3.", errors.UnsafeVariable, {"predicate": "p", "variable": "y"}, "y < 3"),
        ("p(x) :- edge(x, _), !q(x). q(x) :- p(x).", errors.NotStratified, {"cycle": "p → !q → p"}, "q(x)"),
        ("p(x, count(y)) :- p(y, _), edge(x, y).", errors.NotStratified, {"cycle": "p → p"}, "p(x, count(y))"),
        ("p(x) :- edge(x).", errors.WrongArity, {"predicate": "edge", "columns": 2, "arguments": 1}, "edge(x)"),
        ("p(x) :- edg(x, _).", errors.UnknownRelation, {"name": "edg"}, "edg(x, _)"),
        ("p(x) :- edge(source = x).", errors.UnknownColumn, {"name": "source"}, "source = x"),
        ("p(x) :- edge(x, y), label(_, y).", errors.TypeConflict, {"variable": "y", "second": "string"}, None),
        ("p(x) :- edge(x, _), x = 'a'.", errors.TypeConflict, {"second": "string"}, None),
        ("p(x) :- edge(x, _)", errors.InvalidSyntax, {}, None),
        ("p(x) : edge(x, _).", errors.InvalidSyntax, {}, ":"),
        ("p(x) :- p(x).", errors.InvalidDatalog, {}, "p(x) :- p(x)."),
        ("p(x, max(y)) :- p(x, z), edge(z, y).", errors.InvalidDatalog, {}, None),
        ("p(x, min(c)) :- edge(x, c). p(y, min(c)) :- p(x, c), edge(x, y), c > 2.", errors.InvalidDatalog, {}, None),
    ],
)  # fmt: skip
def test_refusals_say_where_and_why(
    db: tidings.Database,
    program: str,
    error: type[errors.TidingsError],
    parameters: dict[str, object],
    marked: str | None,
) -> None:
    with pytest.raises(error) as refused:
        db.query(f"DATALOG $$ {program} $$")
    assert parameters.items() <= refused.value.parameters.items()
    assert refused.value.place is not None
    place = refused.value.place
    if marked is not None:
        assert place.text[place.start : place.end] == marked


def test_a_program_from_a_file_becomes_views_that_sql_reads(db: tidings.Database, tmp_path: Path) -> None:
    file = tmp_path / "reach.dl"
    file.write_text("reach(x, y) :- edge(x, y).\nreach(x, y) :- reach(x, z), edge(z, y).\n?- reach(1, x).\n")
    (answer,) = db.datalog(file, stored=["reach"])
    assert {row["x"] for row in answer.rows()} == {1, 2, 3, 4}
    db.sql("CREATE VIEW sizes AS SELECT x, count(*) AS n FROM reach GROUP BY x")
    db.datalog("big(x) :- sizes(x, n), n > 3.")
    assert {row["x"] for row in db.query("big").rows()} == {1, 2, 3}
    before = db.time
    db.sql("DELETE FROM edge WHERE dst = 4")
    assert [(c.row, c.weight) for c in db.changes("big", since=before).rows()] == [({"x": n}, -1) for n in (1, 2, 3)]


def test_nothing_is_defined_when_a_program_is_refused(db: tidings.Database) -> None:
    with pytest.raises(errors.UnknownRelation):
        db.datalog("p(x) :- edge(x, _). q(x) :- nothing(x).")
    assert "p" not in {row["name"] for row in db.views().rows()}


def test_names_of_maintenance_rules_may_be_names_of_tables(db: tidings.Database) -> None:
    db.sql("CREATE TABLE edge_del (src INT, dst INT)")
    db.sql("INSERT INTO edge_del VALUES (1, 2)")
    db.datalog("tc(x, y) :- edge(x, y), !edge_del(x, y). tc(x, y) :- tc(x, z), tc(z, y).")
    before = db.time
    db.sql("DELETE FROM edge_del")
    came = {tuple(c.row.values()) for c in db.changes("tc", since=before).rows()}
    assert came == {(1, 1), (1, 2), (1, 3), (1, 4), (2, 2), (3, 2), (3, 3)}


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_recursion_without_end_is_refused(in_memory: bool) -> None:
    with tidings.open(engine="duckdb", rounds=20) as db:
        db._parts.runner.rules_in_memory = in_memory
        db.sql("CREATE TABLE edge (src INT, dst INT)")
        db.sql("INSERT INTO edge VALUES (1, 2)")
        with pytest.raises(errors.FixpointTooLong) as refused:
            db.query("DATALOG $$ n(x) :- edge(x, _). n(x + 1) :- n(x). $$")
        assert refused.value.parameters == {"predicate": "n", "rounds": 20}
        assert "tidings.open(rounds=" in str(refused.value)


def test_explain_shows_the_rules_and_counts_what_was_derived(db: tidings.Database) -> None:
    db.datalog("tc(x, y) :- edge(x, y). tc(x, y) :- edge(x, z), tc(z, y).")
    before = db.time
    db.sql("INSERT INTO edge VALUES (9, 3)")
    db.changes("tc", since=before)
    text = db.explain("tc")
    assert "tc_del(x, y) :- edge_del(x, z), tc(z, y)." in text
    assert "m_tc_bf(z) :- edge_ins(x, z)." in text
    assert "old rows derived" in text
