"""Names and texts stay what they are, whatever is in them."""

from __future__ import annotations

import itertools

import duckdb
import pytest

from tidings.engine.sql.lower import source_name
from tidings.engine.sql.quoting import engine_name, quoted, text_literal
from tidings.ir.relation import Version

ODD = ['a"b', "a'b", "a`b", "a b", "a;b", "a--b", "a/*b", "a\nb", "a\\b", "$a", "{a}", "é", "a.b", "%s", "__x"]


@pytest.mark.parametrize("name", ODD)
def test_a_quoted_name_is_one_name(name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {quoted(name, 'duckdb')} AS SELECT 1 AS x")
        assert connection.execute("SELECT table_name FROM information_schema.tables").fetchall() == [(name,)]


@pytest.mark.parametrize("text", ODD)
def test_a_quoted_text_is_that_text(text: str) -> None:
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT {text_literal(text)}").fetchall() == [(text,)]


def test_names_of_engines_are_told_apart() -> None:
    plain = engine_name("old", "a b").removeprefix("__")
    names = [
        *ODD,
        "a_b",
        "a b ",
        "A_B_1",
        "禪豫柧澭畉鑶",
        "粦髫鼨试卺峼",
        plain,
        plain.removeprefix("named_old_"),
        "named_old_a",
    ]
    engine = [source_name(name, version) for name, version in itertools.product(names, Version)]
    assert len(set(engine)) == len(engine)
    assert all(name.isidentifier() and name.isascii() for name in engine)
