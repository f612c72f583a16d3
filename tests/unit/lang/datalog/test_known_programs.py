"""Programs that the literature knows: the answers are those of DuckDB, stored and on demand, after every change."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

import tidings
from tests.unit.lang.datalog.known_programs import KNOWN_PROGRAMS, KnownProgram, Row


def _opened(known: KnownProgram, *, stored: bool) -> tidings.Database:
    db = tidings.open(engine="duckdb")
    for name, (columns, rows) in known.tables.items():
        db.sql(f"CREATE TABLE {name} ({columns})")
        names = [column.split()[0] for column in columns.split(", ")]
        with db.transaction() as tx:
            tx.insert(name, [dict(zip(names, row, strict=True)) for row in rows])
    db.datalog(known.text, stored=stored)
    return db


def _answers(known: KnownProgram) -> list[set[Row]]:
    """The rows at first and after each change."""
    if not known.duckdb:
        return known.expected
    with duckdb.connect() as own:
        for name, (columns, rows) in known.tables.items():
            own.execute(f"CREATE TABLE {name} ({columns})")
            own.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        answers = [own.execute(known.duckdb).fetchall()]
        for change in known.changes:
            own.execute(change)
            answers.append(own.execute(known.duckdb).fetchall())
    return [set(rows) for rows in answers]


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "on demand"])
@pytest.mark.parametrize("name", KNOWN_PROGRAMS)
def test_answers_and_changes_are_the_known_ones(name: str, stored: bool) -> None:
    known = KNOWN_PROGRAMS[name]
    first, *later = _answers(known)
    assert len(later) == len(known.changes)
    with _opened(known, stored=stored) as db:
        held = Counter(tuple(row.values()) for row in db.query(known.output).rows())
        assert held == Counter(first)
        for change, expected in zip(known.changes, later, strict=True):
            before = db.time
            db.sql(change)
            for told in db.changes(known.output, since=before).rows():
                held[tuple(told.row.values())] += told.weight
            assert +held == Counter(expected), change
            assert held == Counter(tuple(row.values()) for row in db.query(known.output).rows()) + Counter()
