"""Typical mistakes of a first hour: each is refused by its condition, in plain words, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import tidings
from tests.unit.front.mistakes import MISTAKES, SETUP
from tidings import Database
from tidings.errors import TidingsError

FOREIGN = re.compile(r"sqlglot|duckdb\.|pyarrow|py4j|java\.|Traceback|<class|[a-z]Error: |Exception: | Error: ")
"""Signs of an exception of somebody else in a message."""


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql(SETUP)
        yield db


def _state(db: Database) -> dict[str, Any]:
    rows = {name: sorted(map(str, db.query(name).rows())) for name in ("customer", "orders", "line", "log")}
    shows = {show: db.sql(f"SHOW {show}") for show in ("TABLES", "VIEWS", "RULES", "CONTINUOUS QUERIES")}
    return rows | {show: None if found is None else found.rows() for show, found in shows.items()}


@pytest.mark.parametrize(("condition", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_is_named_and_changes_nothing(db: Database, condition: str, text: str) -> None:
    before = _state(db)
    with pytest.raises(TidingsError) as refused:
        db.sql(text)
    assert refused.value.condition == condition
    assert FOREIGN.search(refused.value.message) is None
    assert _state(db) == before


def test_there_are_a_hundred() -> None:
    assert len(MISTAKES) > 100
