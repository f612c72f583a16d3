"""Aggregates and window functions over awkward values: where DuckDB has an answer, it is Spark's to the last bit.

Only 0.0 and -0.0 count as one: they are equal, and which of two equal values comes first is nobody's promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tidings
from tests.spark.both_engines import comparable, with_one_zero
from tests.spark.function_calls import aggregate_calls
from tests.spark.function_docs import call
from tests.unit.engine.agreed.awkward import COLUMNS, rows
from tidings.analysis import functions
from tidings.analysis.spark_functions import DETERMINED
from tidings.errors import TidingsError

pytestmark = pytest.mark.spark

WINDOWS = ["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)"]
WINDOWS += [
    f"{name}({c})" for name in ("lag", "lead", "first_value", "last_value", "sum", "avg", "max") for c in "ifsd"
]
WINDOWS += ["lag(i, 2)", "lead(s, 1, 'none')", "nth_value(i, 2)", "count(i)", "stddev(i)", "collect_list(i)"]
FRAMES = ["", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS UNBOUNDED PRECEDING"]
FRAMES += ["RANGE BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING"]
BATCH = 30
"""So many calls are one query of Spark."""


@pytest.fixture(scope="module")
def databases(spark: Any) -> Iterator[tuple[tidings.Database, tidings.Database]]:
    """The same awkward rows on DuckDB and on Spark."""
    with tidings.open(engine="duckdb") as one, tidings.open(spark=spark, execution="spark") as other:
        fill(one)
        fill(other)
        yield one, other


def fill(db: tidings.Database) -> None:
    """A table of awkward values, of those that a table may have, with a number for each row."""
    known = [c for c in COLUMNS if not c.type.startswith("map<")]
    table = rows(40, 5).select([c.name for c in known])
    for name, first, last in (("day", -719162, 2932896), ("at", -62_135_596_800_000_000, 253_402_300_799_999_999)):
        moment = table.column(name).cast(pa.int32() if name == "day" else pa.int64())
        inside = pc.and_(pc.greater_equal(moment, first), pc.less_equal(moment, last))
        table = table.filter(pc.if_else(pc.is_null(inside), True, inside))
    small = pc.divide(table.column("b"), 1000)  # whether a sum of more overflows depends on the order of the rows
    table = table.set_column(table.schema.get_field_index("b"), "b", small)
    db.sql(f"CREATE TABLE awkward ({', '.join(f'{c.name} {c.type}' for c in known)}, id INT)")
    db.load("awkward", table.append_column("id", pa.array(range(len(table)), pa.int32())))


def test_aggregates_are_the_same(databases: tuple[tidings.Database, tidings.Database]) -> None:
    names = sorted(filter(_is_aggregate, DETERMINED))
    texts = [text for name in names for text in aggregate_calls(name)]
    texts += [f"{name}(DISTINCT {c})" for name, c in product(("count", "sum", "avg", "collect_list", "stddev"), "idfs")]
    texts += [
        f"{name}({c}) FILTER (WHERE i > 0)" for name, c in product(("count", "sum", "avg", "max", "listagg"), "idfs")
    ]
    texts += ["percentile(f, 0.3)", "listagg(s, '-')", "count(*)"]
    held = _compare(databases, texts, "SELECT p, {} FROM awkward GROUP BY p")
    assert {"sum", "avg", "count", "min", "max_by", "stddev", "collect_list", "skewness", "corr", "median"} <= held


def test_window_functions_are_the_same(databases: tuple[tidings.Database, tidings.Database]) -> None:
    over = [f"OVER (PARTITION BY p ORDER BY {'i % 1000' if 'RANGE' in f else 'day, id'} {f})" for f in FRAMES]
    texts = [f"{call} {window}" for call, window in product(WINDOWS, over)]
    held = _compare(databases, [*texts, "sum(f) OVER (PARTITION BY p)"], "SELECT id AS p, {} FROM awkward")
    assert {"row_number", "rank", "lag", "sum", "avg", "stddev", "first_value"} <= held


def test_values_inside_of_values_have_the_same_order(databases: tuple[tidings.Database, tidings.Database]) -> None:
    """A NULL in a struct is the least value for Spark, the greatest for DuckDB."""
    over = "OVER (PARTITION BY p ORDER BY {} {}, id)"
    orders = [over.format(column, how) for column, how in product(("pair", "pairs"), ("", "DESC", "NULLS LAST"))]
    texts = [f"{call} {order}" for call, order in product(("row_number()", "lag(id)"), orders)]
    texts += ["greatest(pair, pairs[0])", "least(pair, element_at(pairs, 2))", "pair BETWEEN pairs[0] AND pairs[1]"]
    texts += [f"{call}(pairs)" for call in ("sort_array", "array_sort")]
    texts += ["sort_array(pairs, FALSE)", "sort_array(array(pair, pairs[0], pair))"]
    held = _compare(databases, texts, "SELECT id AS p, {} FROM (SELECT * FROM awkward WHERE size(pairs) > 1) AS a")
    assert {"row_number", "lag", "greatest", "least", "sort_array"} <= held
    texts = [f"{call}(id, {column})" for call, column in product(("max_by", "min_by"), ("pair", "pairs"))]
    texts += [f"{call}(pair, i % 2)" for call in ("max_by", "min_by")]
    texts += ["max_by(pair, pair, 3)", "listagg(id, ',') WITHIN GROUP (ORDER BY pair DESC)", "max(pairs)", "min(pairs)"]
    held = _compare(databases, texts, "SELECT p, {} FROM awkward GROUP BY p")
    assert {"max_by", "min_by", "listagg", "max", "min"} <= held


def _is_aggregate(name: str) -> bool:
    node = call(name)
    return node is not None and functions.is_aggregate(node) and not functions.is_window(node)


def _compare(databases: tuple[tidings.Database, tidings.Database], texts: list[str], query: str) -> set[str]:
    """Compare what DuckDB has an answer for; the names of these functions."""
    ours: dict[str, tuple[pa.DataType, list[Any]]] = {}
    for text in texts:
        try:
            found = databases[0].query(query.format(f"{text} AS x")).to_arrow().sort_by("p")
        except TidingsError:  # Spark's alone, of other types, or an error of Spark's
            continue
        ours[text] = found.schema.field("x").type, with_one_zero(comparable(found.column("x")))
    wrong: list[str] = []
    held = list(ours)
    for start in range(0, len(held), BATCH):
        batch = held[start : start + BATCH]
        theirs = databases[1].query(query.format(", ".join(f"{t} AS x{n}" for n, t in enumerate(batch)))).to_arrow()
        theirs = theirs.sort_by("p")
        for n, text in enumerate(batch):
            type, values = theirs.schema.field(f"x{n}").type, with_one_zero(comparable(theirs.column(f"x{n}")))
            if (type, values) != ours[text]:
                pairs = zip(ours[text][1], values, strict=True)
                wrong.append(f"{text}: {ours[text][0]} and {type}, {[(a, b) for a, b in pairs if a != b][:3]}")
    assert wrong == []
    return {text.partition("(")[0] for text in held}
