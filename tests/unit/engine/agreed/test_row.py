"""Which expressions may be evaluated in this process; tests/spark/test_agreed.py compares the engines on them."""

from __future__ import annotations

import pytest

from tests.unit.engine.agreed.awkward import COLUMNS, EXPRESSIONS, rows
from tidings.engine.agreed.row import ROWS, agreed
from tidings.engine.duckdb import DuckDB
from tidings.engine.sql.row_queries import values_query
from tidings.lang.sql.parse import parsed


def test_every_expression_has_words_that_duckdb_knows() -> None:
    engine = DuckDB()
    engine.load("r", COLUMNS, rows(60), "i")
    for text in EXPRESSIONS:
        found = agreed(parsed(text), COLUMNS)
        assert found is not None, text
        query = values_query("__base_r", ROWS, [(found.expression, found.type.replace("void", "int"))])
        engine.fetch(f"EXPLAIN {query}")


@pytest.mark.parametrize(
    "text",
    [
        "exp(f)",  # the last bit depends on the library
        "power(i, 2)",
        "CAST(f AS DECIMAL(10,2))",
        "at - at",
        "day - due",
        "at + INTERVAL '1 month 3 days'",
        "CAST('x' AS DATE)",
        "f IN (0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1e3)",  # Spark finds no -0.0 in a set
        "substring(s, i, 2)",
        "s LIKE x",
        "s LIKE 'a\\\\%'",
        "s LIKE 'a' ESCAPE '!'",
        "s RLIKE x",
        "s RLIKE 'a\\\\d'",
        "s RLIKE 'a{2}'",
        "s RLIKE '(?i)a'",
        "lpad(s, 5, '')",
        "split_part(s, '', 1)",
        "split_part(s, ',', 0)",
        "date_format(day, 'EEEE')",
        "trunc(day, 'CENTURY')",
        "get_json_object(y, '$.a[*]')",
        "length(tags)",
        "i IN (SELECT 1)",
        "exists(SELECT 1)",
        "sum(i)",
        "now() > at",
        "rand() > 1",
        "CASE WHEN p THEN i ELSE s END",
        "coalesce(i, s)",
        "nosuch",
        "nosuch(i)",
        "other.i",
        "i IS TRUE",
        "a -> a",
        "shiftleft(i, 2)",
        "TRY_CAST(s AS BOOLEAN)",
        "i + NULL",
        "transform(tags, x -> x + i)",  # reads a column
        "entries <=> entries",  # no error as on Spark
        "element_at(entries, i)",  # likewise
        "element_at(tags, b)",  # likewise
        "CAST(bytes AS DOUBLE)",  # likewise
        "datediff(s, NULL)",  # s is not read
        "try_element_at(tags, b, b)",  # an argument too many
        "named_struct(0, i)",  # a name that is no text
        "named_struct('a')",
        "struct()",
        "product(i)",
    ],
)
def test_not_agreed(text: str) -> None:
    assert agreed(parsed(text), COLUMNS) is None


def test_a_row_goes_by_some_names() -> None:
    assert agreed(parsed("R.i = 1"), COLUMNS, frozenset({"r"})) is not None
    assert agreed(parsed("q.i = 1"), COLUMNS, frozenset({"r"})) is None


@pytest.mark.parametrize(
    ("text", "type"),
    [("d", "int"), ("d * 2", "bigint"), ("i", "string"), ("s", "int"), ("p", "int"), ("i", "double"), ("at", "date")],
)
def test_casts_that_are_left_to_the_engine(text: str, type: str) -> None:
    found = agreed(parsed(text), COLUMNS)
    assert found is not None
    assert not found.fits(type)


@pytest.mark.parametrize(
    ("text", "type"), [("i + 1", "int"), ("i", "decimal(12,2)"), ("d * 2", "decimal(9,1)"), ("NULL", "date")]
)
def test_values_that_become_one_of_a_type(text: str, type: str) -> None:
    found = agreed(parsed(text), COLUMNS)
    assert found is not None
    assert found.fits(type)
