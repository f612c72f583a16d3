"""What failed for a row goes on once the row is gone, also while the log still has it."""

from __future__ import annotations

import pytest

import tidings
from tidings.errors import EngineFailed


@pytest.mark.parametrize("execution", ["auto", "spark"])
def test_a_row_that_is_gone_fails_nothing(execution: str) -> None:
    with tidings.open(engine="duckdb", execution=execution) as db:  # type: ignore[arg-type]
        db.sql("""
            CREATE TABLE words (w STRING); CREATE TABLE other (n INT);
            CREATE VIEW numbers AS SELECT DISTINCT CAST(w AS INT) AS n FROM words;
            INSERT INTO words VALUES ('one')
        """)
        with pytest.raises(EngineFailed):
            db.changes("numbers", since=0, strict=True)
        db.sql("DELETE FROM words")
        since = db.time
        db.sql("INSERT INTO words VALUES ('2')")
        assert [change[0] for change in db.changes("numbers", since=since, strict=True).rows()] == [{"n": 2}]
        since = db.time
        db.sql("INSERT INTO words VALUES ('three')")
        with pytest.raises(EngineFailed):
            db.changes("numbers", since=since, strict=True)
