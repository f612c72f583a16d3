"""Contradictions of conditions, held against all values that a row may have."""

from __future__ import annotations

from random import Random

import duckdb
import pytest

from tests.laws.seeds import chunks
from tidings.analysis.contradiction import contradict
from tidings.ir.expression import read

TYPES = {("t", "x"): "int", ("t", "s"): "string", ("t", "b"): "boolean", ("t", "d"): "double"}
ROWS = """SELECT * FROM (VALUES (NULL), (0), (1), (2), (3)) a(x), (VALUES (NULL), ('a'), ('b'), ('')) b(s),
    (VALUES (NULL), (true), (false)) c(b), (VALUES (0.5::DOUBLE)) e(d)"""


def condition(random: Random, depth: int) -> str:
    kind = random.random()
    if depth and kind < 0.5:
        left, right = condition(random, depth - 1), condition(random, depth - 1)
        return f"({left} {random.choice(['AND', 'OR'])} {right})"
    if depth and kind < 0.6:
        return f"(NOT {condition(random, depth - 1)})"
    if depth and kind < 0.65:
        return f"COALESCE({condition(random, depth - 1)}, FALSE)"
    column, values = random.choice([("t.x", ["0", "1", "2", "3"]), ("t.s", ["'a'", "'b'", "''"])])
    one, other = random.choice(values), random.choice(values)
    sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
    negated = random.choice(["", "NOT "])
    return random.choice(
        [
            f"{column} {sign} {one}",
            f"{one} {sign} {column}",
            f"{column} {negated}IN ({one}, {random.choice([other, 'NULL'])})",
            f"{column} {negated}BETWEEN {one} AND {other}",
            f"{column} IS {negated}NULL",
            f"NOT {column} <=> {one}",
            f"{column} <=> {random.choice([one, 'NULL'])}",
            f"{column} = NULL",
            "t.b",
            "NOT t.b",
            f"LENGTH(t.s) {sign} 1",
            "t.d > 0.5",
        ]
    )


@pytest.mark.parametrize("seeds", chunks(600, quick=150, size=150))
def test_what_contradicts_is_true_for_no_row(seeds: range) -> None:
    found = impossible = 0
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE t AS {ROWS}")
        for seed in seeds:
            random = Random(seed)
            texts = [condition(random, 2) for _ in range(random.randint(1, 3))]
            where = " AND ".join(f"({text})" for text in texts).replace("<=>", "IS NOT DISTINCT FROM")
            (count,) = engine.execute(f"SELECT count(*) FROM t WHERE {where}").fetchone() or (0,)
            told = contradict([read(text) for text in texts], TYPES)
            assert not (told and count), texts
            found, impossible = found + told, impossible + (count == 0)
    assert found > impossible // 2, "most contradictions of comparisons with constants are found"


@pytest.mark.parametrize(
    "texts",
    [
        ["t.d > 1 AND t.d < 0"],
        ["t.x = t.s", "t.x <> t.s"],
        ["t.x + 1 = 2", "t.x = 5"],
        ["t.x = 'a'", "t.x = 'b'"],
        ["t.unknown = 1", "t.unknown = 2"],
        ["t.x > 1", "t.x < 3"],
    ],
)
def test_what_is_not_understood_is_let_be(texts: list[str]) -> None:
    assert not contradict([read(text) for text in texts], TYPES)


def test_whole_numbers_have_nothing_between_neighbours() -> None:
    assert contradict([read("t.x > 1"), read("t.x < 2")], TYPES)
    assert not contradict([read("t.s > 'a'"), read("t.s < 'b'")], TYPES)


def test_very_many_alternatives_are_not_looked_into() -> None:
    many = " AND ".join(f"(t.x = {n} OR t.x = {n + 1} OR t.s = 'a')" for n in range(20))
    assert not contradict([read(many)], TYPES)
