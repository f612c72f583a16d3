"""Which functions cannot stand in a projection that is maintained row by row."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

import tidings
from tidings.analysis import functions
from tidings.analysis.spark_functions import DETERMINED, NOT_DETERMINED, is_spark_function
from tidings.errors import InvalidSyntax, TidingsError, UnknownFunction
from tidings.ir.expression import Expression, read


@pytest.mark.parametrize(
    ("test", "calls"),
    [
        (functions.is_non_deterministic, ["rand()", "randn(1)", "uuid()", "shuffle(x.a)", "current_user()"]),
        (functions.reads_clock, ["now()", "current_timestamp()", "current_date()", "localtimestamp()"]),
        (functions.is_aggregate, ["count(*)", "sum(x.a)", "max_by(x.a, x.b)", "collect_list(x.a)", "bool_and(x.a)"]),
        (functions.is_window, ["row_number()", "lag(x.a)", "sum(x.a) OVER ()"]),
        (functions.is_generator, ["explode(x.a)", "inline(x.a)", "stack(1, 2)", "json_tuple(x.a, 'b')"]),
    ],
)
def test_refused(test: Callable[[Expression], bool], calls: list[str]) -> None:
    assert [c for c in calls if not test(read(c))] == []


@pytest.mark.parametrize(
    "text",
    ["upper(x.a)", "x.a + 1", "sequence(1, 2)", "array_max(x.a)", "greatest(1, 2)", "my_function(x.a)", "x.count"],
)
def test_allowed(text: str) -> None:
    for test in (
        functions.is_non_deterministic,
        functions.reads_clock,
        functions.is_aggregate,
        functions.is_window,
        functions.is_generator,
    ):
        assert not any(test(n) for n in read(text).walk())


def test_every_function_is_determined_or_not() -> None:
    assert not DETERMINED & NOT_DETERMINED
    assert {"now", "upper", "sum"} <= DETERMINED
    assert {"rand", "uuid", "current_user"} <= NOT_DETERMINED


def test_nothing_that_duckdb_alone_has_is_allowed() -> None:
    """Its own list of functions, whatever their stability: what Spark has not is unknown."""
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_name SIMILAR TO '[a-z0-9][a-z_0-9]+'"
    names = [name for (name,) in duckdb.connect().execute(query).fetchall() if not is_spark_function(name)]
    assert len(names) > 300
    passing = []
    with tidings.open(engine="duckdb") as db:
        for name in names:
            for arguments in ("", "1"):
                try:
                    db.query(f"SELECT {name}({arguments}) AS x")
                except (UnknownFunction, InvalidSyntax):
                    continue
                except TidingsError as error:
                    passing.append((name, arguments, type(error).__name__))
                else:
                    passing.append((name, arguments, "accepted"))
    assert passing == []


@pytest.mark.parametrize("call", ["uuidv4()", "today()", "sleep_ms(1)", "current_localtimestamp()", "txid_current()"])
def test_no_view_on_duckdb_has_them(call: str) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT)")
        with pytest.raises(UnknownFunction):
            db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT a, {call} AS x FROM t")
