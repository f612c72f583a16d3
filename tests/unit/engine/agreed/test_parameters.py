"""Functions with parameters, in a table whose columns have the names that parameters were given once."""

from __future__ import annotations

import pytest

import tidings

TEXTS = {
    "transform(xs, e -> named_struct('v', e))": [{"v": 1}, {"v": 2}],
    "transform(xs, p0 -> named_struct('v', p0))": [{"v": 1}, {"v": 2}],
    "transform(xs, (e, k0) -> named_struct('v', k0, 'w', e))": [{"v": 0, "w": 1}, {"v": 1, "w": 2}],
    "aggregate(xs, 0, (p0, p1) -> p0 + p1)": 3,
    "sort_array(array(named_struct('a', 2), named_struct('a', 1)))": [{"a": 1}, {"a": 2}],
    "greatest(array(array(1), array(2)), array(array(1)))": [[1], [2]],
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_parameter_is_not_a_column(text: str) -> None:
    with tidings.open(engine="duckdb") as db:
        columns = ("e", "k", "k0", "k1", "p", "p0", "p1", "v", "x", "part")
        db.sql(f"CREATE TABLE t (xs ARRAY<INT>, {', '.join(f'{c} DOUBLE' for c in columns)})")
        db.sql(f"INSERT INTO t VALUES (array(1, 2), {', '.join('7.5' for _ in columns)})")
        db.sql(f"CREATE VIEW v AS SELECT {text} AS answer FROM t")
        assert db.query("SELECT answer FROM v").to_arrow().column("answer").to_pylist() == [TEXTS[text]]
