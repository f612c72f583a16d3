"""What stands above a recursion that is not stored derives those of its old rows that meet the change, no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import tidings
from tidings.engine.recursion.evaluations import Evaluations

COMPONENTS = 40
PROGRAM = """
reach(x, y) :- edge(x, y, _).
reach(x, y) :- edge(x, z, _), reach(z, y).
km(x, y, min(d)) :- edge(x, y, d).
km(x, y, min(d + w)) :- edge(x, z, w), km(z, y, d).
"""


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    """Chains of five edges, all apart from each other; ``visit`` names some of their nodes."""
    with tidings.open(engine="duckdb") as database:
        database.sql("CREATE TABLE edge (src INT, dst INT, w INT); CREATE TABLE visit (node INT, who STRING)")
        edges = [(10 * c + n, 10 * c + n + 1, n) for c in range(COMPONENTS) for n in range(5)]
        with database.transaction() as tx:
            tx.insert("edge", edges)
            tx.insert("visit", [(0, "ann")])
        database.datalog(PROGRAM, stored=False)
        yield database


def _changes(db: tidings.Database, query: str, statement: str) -> tuple[Counter[tuple[object, ...]], Evaluations]:
    """The changes of a query by a statement, which are the difference of its answers, and what was derived for them."""
    before, at = Counter(tuple(row.values()) for row in db.query(query).rows()), db.time
    db.sql(statement)
    evaluations = db._parts.runner.evaluations
    evaluations.clear()
    told = Counter[tuple[object, ...]]()
    for change in db.changes(query, since=at).rows():
        told[tuple(change.row.values())] += change.weight
    derived = next(iter(evaluations.values()), Evaluations())
    after = Counter(tuple(row.values()) for row in db.query(query).rows())
    after.subtract(before)
    assert told == Counter({row: n for row, n in after.items() if n})
    return told, derived


JOIN = "SELECT v.who, r.y FROM visit v JOIN reach r ON r.x = v.node"
BACKWARDS = "SELECT v.who, r.x FROM visit v JOIN reach r ON r.y = v.node"
COUNTS = "SELECT x, count(*) AS n FROM reach GROUP BY x"
DISTANCES = "SELECT v.who, k.y, k.min FROM visit v JOIN km k ON k.x = v.node"


@pytest.mark.parametrize(
    ("query", "statement", "most"),
    [
        (JOIN, "INSERT INTO visit VALUES (20, 'bob')", 15),
        (BACKWARDS, "INSERT INTO visit VALUES (25, 'bob'), (77, 'eve')", 15),
        (JOIN, "DELETE FROM visit", 15),
        (COUNTS, "DELETE FROM edge WHERE src = 32", 15),
        (COUNTS, "INSERT INTO edge VALUES (35, 40, 1)", 30),
        (DISTANCES, "INSERT INTO visit VALUES (20, 'bob')", 15),
        (DISTANCES, "UPDATE edge SET w = 9 WHERE src = 3", 0),
    ],
)
def test_only_rows_that_meet_the_change_are_derived(
    db: tidings.Database, query: str, statement: str, most: int
) -> None:
    told, derived = _changes(db, query, statement)
    assert told
    assert derived.times == 0, "all rows are never derived"
    assert derived.some <= most


def test_where_all_keys_are_asked_for_all_rows_are_derived(
    db: tidings.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.engine.recursion.demanded.MOST_KEYS", 1)
    _, derived = _changes(db, JOIN, "INSERT INTO visit VALUES (20, 'bob'), (31, 'eve')")
    assert derived.times == 1


def test_a_recursion_that_is_read_whole_beside_is_derived_whole(db: tidings.Database) -> None:
    whole = "SELECT v.who FROM visit v JOIN reach r ON r.x > v.node"
    _, derived = _changes(db, whole, "INSERT INTO visit VALUES (380, 'bob')")
    assert derived.times == 1


def test_each_step_of_a_wave_has_the_rows_that_it_asks_for(db: tidings.Database) -> None:
    """The first step asks by the changed rows, the second by all rows of the groups that these touch."""
    query = "SELECT DISTINCT v.who FROM visit v JOIN reach r ON r.x = v.node"
    db.sql("INSERT INTO visit VALUES (30, 'ann'), (40, 'bob')")
    told, _ = _changes(db, query, "DELETE FROM visit WHERE node = 30 OR node = 40")
    assert told == Counter({("bob",): -1})
