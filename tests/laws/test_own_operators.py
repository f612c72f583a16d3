"""Operators of users: wherever they stand, their change is the difference of two evaluations; they mean what SQL means.

Each operator has a twin in SQL, so that an answer is held against one that knows nothing of operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tidings
from tests.laws.constructs import COMMITS
from tests.laws.seeds import chunks
from tests.laws.test_constructs import bag, replay
from tidings.algebra import SubstitutionList, UserOperator, chain_rule, delta_of, first_principle, relation
from tidings.ir.expression import TIME, WEIGHT

TWINS = {
    "lowest(TABLE t)": """(SELECT DISTINCT a, b FROM t
        JOIN (SELECT a AS k, min(b) AS m FROM t GROUP BY a) ON a <=> k AND b = m)""",
    "topped(TABLE t)": """(SELECT a, max(b) AS b FROM t GROUP BY a)""",
    "tallied(TABLE t, TABLE v)": """(SELECT count(b) AS n, (SELECT sum(c) FROM v) AS total FROM t)""",
    "both(TABLE t, TABLE v)": """(SELECT t.a, t.b, v.c FROM t JOIN v ON t.a <=> v.a)""",
    "counted(TABLE t)": "(SELECT count(*) AS n, sum(b) AS total FROM t)",
    "doubled(TABLE t)": """(SELECT a + a AS a FROM t WHERE a IS NOT NULL
        UNION ALL SELECT a + a AS a FROM t WHERE a IS NOT NULL)""",
    "paired(TABLE t, TABLE v)": """(SELECT k AS a, sum(x) AS left_rows, sum(y) AS right_rows FROM
        (SELECT a AS k, 1 AS x, 0 AS y FROM t UNION ALL SELECT a, 0, 1 FROM v) GROUP BY k)""",
}

QUERIES = """
SELECT * FROM lowest(TABLE t)
SELECT o.a, u.y FROM lowest(TABLE t) AS o JOIN u ON u.x = o.a WHERE o.b > 1
SELECT a, count(*) AS n FROM lowest(TABLE t) GROUP BY a
SELECT u.x, o.b FROM u LEFT JOIN lowest(TABLE t) o ON o.a = u.x
SELECT * FROM counted(TABLE t)
SELECT u.x, c.n FROM u CROSS JOIN counted(TABLE t) c
SELECT * FROM doubled(TABLE t)
SELECT a FROM doubled(TABLE t) EXCEPT ALL SELECT x FROM u
SELECT x FROM u WHERE x IN (SELECT a FROM doubled(TABLE t))
SELECT * FROM paired(TABLE t, TABLE v)
SELECT * FROM topped(TABLE t)
SELECT a, count(*) AS n FROM topped(TABLE t) WHERE b > 1 GROUP BY a
SELECT u.x, o.b FROM u LEFT JOIN topped(TABLE t) o ON o.a = u.x
SELECT * FROM tallied(TABLE t, TABLE v)
SELECT * FROM both(TABLE t, TABLE v)
SELECT b FROM topped(TABLE(SELECT a, c AS b FROM both(TABLE t, TABLE v))) EXCEPT ALL SELECT b FROM topped(TABLE t)
SELECT p.a, p.left_rows, o.b FROM paired(TABLE t, TABLE v) p JOIN lowest(TABLE t) o ON p.a = o.a
""".strip().splitlines()


def define(db: tidings.Database) -> dict[str, UserOperator]:
    @db.operator("lowest", takes="a INT, b INT", returns="a INT, b INT", key="a")
    def lowest(rows: pa.Table) -> pa.Table:
        smallest = pc.min(rows["b"])
        return rows.filter(pc.equal(rows["b"], smallest)).slice(0, 1)

    @db.operator("counted", takes="b INT", returns="n BIGINT, total BIGINT")
    def counted(rows: pa.Table) -> pa.Table:
        return pa.table({"n": [rows.num_rows], "total": pa.array([pc.sum(rows["b"]).as_py()], pa.int64())})

    @db.operator("doubled", takes="a INT", returns="a INT", incremental="linear")
    def doubled(rows: pa.Table) -> pa.Table:
        once = rows.filter(pc.is_valid(rows["a"]))
        twice = pa.table({"a": pc.add(once["a"], once["a"])})
        return pa.concat_tables([twice, twice])

    @db.operator(
        "paired", takes=["a INT, b INT", "a INT, c INT"], returns="a INT, left_rows BIGINT, right_rows BIGINT", key="a"
    )
    def paired(left: pa.Table, right: pa.Table) -> pa.Table:
        key = (left if left.num_rows else right)["a"].slice(0, 1)
        numbers = {"left_rows": [left.num_rows], "right_rows": [right.num_rows]}
        return pa.table({"a": key.combine_chunks(), **numbers})

    more = define_with_forms(db)
    db.sql("CREATE VIEW v AS SELECT x AS a, y AS c FROM u")
    return {"lowest": lowest, "counted": counted, "doubled": doubled, "paired": paired, **more}


def define_with_forms(db: tidings.Database) -> dict[str, UserOperator]:
    """Operators whose changes are found by forms of their own: by key, of everything, and of two relations by key."""

    def top(rows: pa.Table) -> pa.Table:
        return pa.table({"a": rows["a"].slice(0, 1).combine_chunks(), "b": [pc.max(rows["b"]).as_py()]}, INTS)

    def top_changes(old: list[pa.Table], gone: list[pa.Table], come: list[pa.Table]) -> tuple[pa.Table, pa.Table]:
        left = Counter(map(str, old[0].to_pylist())) - Counter(map(str, gone[0].to_pylist()))
        kept = [row for row in old[0].to_pylist() if left[str(row)]]
        new = pa.concat_tables([pa.Table.from_pylist(kept, INTS), come[0]])
        return tuple(top(rows) if rows.num_rows else INTS.empty_table() for rows in (old[0], new))

    def tally(left: pa.Table, right: pa.Table) -> pa.Table:
        return pa.table({"n": [left.num_rows - left["b"].null_count], "total": [pc.sum(right["c"]).as_py()]}, COUNTS)

    def tally_changes(old: list[pa.Table], gone: list[pa.Table], come: list[pa.Table]) -> tuple[pa.Table, pa.Table]:
        before = tally(*old).to_pylist()[0]
        less, more = tally(*gone).to_pylist()[0], tally(*come).to_pylist()[0]
        known = sum(len(side[1]) - side[1]["c"].null_count for side in (old, come)) - (
            len(gone[1]) - gone[1]["c"].null_count
        )
        total = (before["total"] or 0) + (more["total"] or 0) - (less["total"] or 0) if known else None
        after = {"n": before["n"] + more["n"] - less["n"], "total": total}
        return pa.Table.from_pylist([before], COUNTS), pa.Table.from_pylist([after], COUNTS)

    def both(left: pa.Table, right: pa.Table) -> pa.Table:
        rows = [{**x, "c": y["c"]} for x in left.to_pylist() for y in right.to_pylist() if x["a"] == y["a"]]
        return pa.Table.from_pylist(rows, BOTH)

    def both_changes(old: list[pa.Table], gone: list[pa.Table], come: list[pa.Table]) -> tuple[pa.Table, pa.Table]:
        """The bilinear form: what is said to be lost and gained at once is no change."""
        (a, b), (da, db_), (ia, ib) = old, gone, come
        lost = pa.concat_tables([both(a, db_), both(da, b), both(da, ib), both(ia, db_)])
        gained = pa.concat_tables([both(a, ib), both(ia, b), both(ia, ib), both(da, db_)])
        return lost, gained

    pair = ["a INT, b INT", "a INT, c INT"]
    makers = {
        "topped": db.operator(
            "topped", takes="a INT, b INT", returns="a INT, b INT", key="a", incremental=top_changes, check=True
        )(top),
        "tallied": db.operator(
            "tallied", takes=pair, returns="n BIGINT, total BIGINT", incremental=tally_changes, check=True
        )(tally),
        "both": db.operator(
            "both", takes=pair, returns="a INT, b INT, c INT", key="a", incremental=both_changes, check=True
        )(both),
    }
    return makers


INTS = pa.schema([("a", pa.int32()), ("b", pa.int32())])
BOTH = pa.schema([("a", pa.int32()), ("b", pa.int32()), ("c", pa.int32())])
COUNTS = pa.schema([("n", pa.int64()), ("total", pa.int64())])


def plain(query: str) -> str:
    for call, twin in TWINS.items():
        query = query.replace(call, twin)
    return query


def check(db: tidings.Database, times: list[int], query: str) -> None:
    start, *later = times
    state = bag(db.query(query, as_of=start).to_arrow())
    delta = db.changes(query, start, per_commit=True, strict=True).to_arrow()
    rows = delta.drop_columns([TIME, WEIGHT])
    changed: dict[int, Counter[Any]] = {}
    for number, (time, weight) in enumerate(zip(delta[TIME].to_pylist(), delta[WEIGHT].to_pylist(), strict=True)):
        (key,) = bag(rows.slice(number, 1))
        changed.setdefault(time, Counter())[key] += weight
    for at in later:
        for time in [t for t in changed if t <= at]:
            for key, weight in changed.pop(time).items():
                state[key] += weight
        assert +state == bag(db.query(plain(query), as_of=at).to_arrow()), f"at {at}"


@pytest.fixture(scope="module")
def past() -> Iterator[tuple[tidings.Database, list[int]]]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as db:
        times = replay(db)
        define(db)
        yield db, times


@pytest.mark.parametrize("query", QUERIES)
def test_delta_is_that_of_the_twin_in_sql(past: tuple[tidings.Database, list[int]], query: str) -> None:
    check(*past, query)


@pytest.mark.spark
@pytest.mark.parametrize("query", [QUERIES[n] for n in (1, 4, 6, 10, 13, 14, 15, -1)])
def test_the_same_on_spark(past_on_spark: tuple[tidings.Database, list[int]], query: str) -> None:
    db, times = past_on_spark
    check(db, [times[0], times[3], times[-1]], query)


@pytest.fixture(scope="module")
def past_on_spark(spark: Any) -> Iterator[tuple[tidings.Database, list[int]]]:
    with tidings.open(engine="spark", spark=spark, clock=tidings.ManualClock(1000)) as db:
        times = replay(db)
        define(db)
        yield db, times


@pytest.mark.parametrize("seeds", chunks(24, quick=4, size=4))
def test_stored_views_and_the_algebra_say_the_same(seeds: range) -> None:
    """Random histories; the algebra's sets are held against SQL's."""
    for seed in seeds:
        random = Random(seed)
        with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as db:
            db.sql("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT); CREATE TABLE u (x INT, y INT)")
            operators = define(db)
            db.sql("CREATE MATERIALIZED VIEW kept AS SELECT * FROM lowest(TABLE t)")
            db.sql("CREATE MATERIALIZED VIEW tops AS SELECT * FROM topped(TABLE t)")
            for step in range(4):
                since = db.time
                with db.transaction() as tx:
                    for _ in range(random.randint(1, 4)):
                        row = (random.randint(1, 8), random.choice([1, 2, None]), random.choice([1, 2, 3, None]))
                        tx.sql(f"DELETE FROM t WHERE id = {row[0]}")
                        if random.random() < 0.7:
                            tx.insert("t", [row])
                if step % 2:
                    db.advance()
                for stored, operator in (("kept", "lowest"), ("tops", "topped")):
                    query = f"SELECT * FROM {operator}(TABLE t)"
                    assert bag(db.query(stored).to_arrow()) == bag(db.query(plain(query)).to_arrow()), seed
                    node = relation("t", data=db).project("a", "b").apply(operators[operator])
                    list_ = SubstitutionList.of_database(node, since)
                    told = delta_of(chain_rule(node), list_)
                    assert told.rows == first_principle(node, list_).rows, seed
                    changes = db.changes(query, since)
                    for rows, part in ((changes.removals(), told.removed), (changes.additions(), told.added)):
                        assert {(row["a"], row["b"]) for row in rows} == part.rows, seed
            assert db.check() == []


def test_histories_change_all_tables() -> None:
    assert {table for commit in COMMITS for table, _, _ in commit} >= {"t", "u"}
