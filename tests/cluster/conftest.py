"""Servers that the tests of clusters share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import postgresql
from tests.cluster import s3, shop


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server, as the beginning of its URLs."""
    with postgresql.server() as url:
        yield url


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """An S3 server, as its endpoint."""
    with s3.server() as url:
        yield url


@pytest.fixture(scope="session")
def expected() -> shop.Told:
    """What the shop tells in one process, in memory."""
    import tidings

    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as db:
        told = shop.whole(db)
    shop.check(told)
    return told
