"""Databases for the papers' examples: each engine in turn, or the one that needs no JVM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def db(request: pytest.FixtureRequest) -> Iterator[tidings.Database]:
    """A new database, once per engine."""
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(engine=request.param, spark=session, strategy="differential") as database:
        yield database


@pytest.fixture
def duckdb() -> Iterator[tidings.Database]:
    """A new database on DuckDB."""
    with tidings.open(engine="duckdb") as database:
        yield database
