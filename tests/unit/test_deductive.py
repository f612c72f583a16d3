"""Why rows are there and why not, and views that only their readers hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings.errors import InvalidDatalog, UnknownRelation

PROGRAM = """
reach(x, y) :- edge(x, y), !closed(y).
reach(x, y) :- reach(x, z), edge(z, y), !closed(y).
"""


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as database:
        database.sql("CREATE TABLE edge (src INT, dst INT); CREATE TABLE closed (node INT)")
        database.sql("INSERT INTO edge VALUES (1, 2), (2, 3), (3, 1), (3, 4)")
        database.sql("INSERT INTO closed VALUES (4)")
        database.datalog(PROGRAM)
        yield database


def test_why_gives_a_tree_of_rows_and_rules(db: tidings.Database) -> None:
    tree = db.why("reach", {"x": 1, "y": 3})
    assert tree is not None
    assert tree.rule == "reach(x, y) :- reach(x, z), edge(z, y), !closed(y)."
    assert [(d.predicate, d.row) for d in tree.because] == [("reach", (1, 2)), ("edge", (2, 3))]
    assert tree.because[0].because[0].row == (1, 2)
    assert tree.absent == ("!closed(3)",)
    assert "edge(2, 3)" in str(tree)


def test_a_row_in_a_circle_has_a_finite_tree(db: tidings.Database) -> None:
    tree = db.why("reach", {"x": 1, "y": 1})
    assert tree is not None
    assert str(tree).count("reach(1, 1)") == 1


def test_why_not_names_the_literal_that_fails(db: tidings.Database) -> None:
    assert db.why("reach", {"x": 1, "y": 4}) is None
    first, second = db.why_not("reach", {"x": 1, "y": 4})
    assert first.literal == "edge(1, 4)"
    assert second.literal == "!closed(4)"
    assert db.why_not("reach", {"x": 1, "y": 2}) == ()


@pytest.mark.parametrize(
    ("view", "row", "error"),
    [
        ("reach", {"x": 1}, InvalidDatalog),
        ("edge", {"src": 1, "dst": 2}, InvalidDatalog),
        ("reech", {"x": 1, "y": 2}, UnknownRelation),
    ],
)
def test_what_cannot_be_explained_is_refused(
    db: tidings.Database, view: str, row: dict[str, int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        db.why(view, row)


def test_integrity_views_that_only_their_readers_hold(db: tidings.Database) -> None:
    views = [f"far_{n}" for n in range(24)]
    for n, view in enumerate(views):
        db.sql(f"CREATE VIEW {view} AS SELECT x, y FROM reach WHERE y - x > {n - 20}")
    readers = {view: db.subscribe(view, stored=False) for view in views}
    db.sql("DELETE FROM closed")
    told = {
        view: [(tuple(c.row.values()), c.weight) for b in reader for c in b.changes.rows()]
        for view, reader in readers.items()
    }
    assert told["far_0"] == [((1, 4), 1), ((2, 4), 1), ((3, 4), 1)]
    assert told["far_22"] == [((1, 4), 1)]
    assert told["far_23"] == []
