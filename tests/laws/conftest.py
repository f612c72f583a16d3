"""What laws share: a PostgreSQL and an S3 server per process, started when the first test asks for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.cluster import s3
from tests.postgresql import schema, server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Makes catalogs, each of its own."""
    numbers = count()
    with server() as url:
        yield lambda: schema(url, f"law_{next(numbers)}")


@pytest.fixture(scope="session")
def object_store(postgresql: Callable[[], str]) -> Iterator[Callable[[], dict[str, Any]]]:
    """Makes places on an object store, each of its own, as :func:`tidings.open` takes them."""
    numbers = count()
    with s3.server() as endpoint:

        def place() -> dict[str, Any]:
            path = f"s3a://{s3.BUCKET}/law_{next(numbers)}"
            return {"path": path, "catalog": postgresql(), "storage_options": s3.options(endpoint)}

        yield place
