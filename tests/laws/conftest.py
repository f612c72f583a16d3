"""What laws share: a PostgreSQL server per process, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.postgresql import schema, server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Makes catalogs, each of its own."""
    numbers = count()
    with server() as url:
        yield lambda: schema(url, f"law_{next(numbers)}")
