"""Instances as the catalog holds them: by key, by when they are due, and for as long as they are tracked."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from sqlalchemy import Connection

from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.rules import instances
from tidings.store.rules.instances import Instance


@pytest.fixture
def connection() -> Iterator[Connection]:
    catalog = MemoryCatalog()
    with catalog.writing() as connection:
        yield connection
    catalog.close()


def instance(key: str, due: int | None = None) -> Instance:
    return Instance(key, "pending", 1, pa.table({"x": [1]}), began=5, due=due)


def keys(of: list[Instance]) -> list[str]:
    return sorted(i.key for i in of)


def test_what_is_recorded_is_read(connection: Connection) -> None:
    whole = Instance("k", "lingering", 0, pa.table({"x": [1, 2]}), None, 8, 9, quiet=True, muted=True)
    instances.record(connection, 1, {"k": whole})
    assert instances.all_of(connection, 1) == [whole]
    assert instances.all_of(connection, 2) == []


def test_an_instance_is_replaced_or_over(connection: Connection) -> None:
    instances.record(connection, 1, {k: instance(k) for k in ("a", "b", "c")})
    instances.record(connection, 1, {"a": instance("a", due=7), "b": None})
    assert {i.key: i.due for i in instances.all_of(connection, 1)} == {"a": 7, "c": None}


def test_affected_are_those_of_some_keys_and_those_that_are_due(connection: Connection) -> None:
    instances.record(
        connection, 1, {k: instance(k, due) for k, due in (("a", None), ("b", 10), ("c", 11), ("d", None))}
    )
    instances.record(connection, 2, {"a": instance("a", 1)})
    assert keys(instances.affected(connection, 1, ["a", "b", "absent"], 10)) == ["a", "b"]
    assert keys(instances.affected(connection, 1, [], 11)) == ["b", "c"]


def test_more_keys_than_one_query_takes(connection: Connection) -> None:
    many = [f"{n:04}" for n in range(1201)]
    instances.record(connection, 1, {k: instance(k) for k in many})
    assert keys(instances.affected(connection, 1, many[1:], 0)) == many[1:]
    instances.record(connection, 1, dict.fromkeys(many[:-1]))
    assert keys(instances.all_of(connection, 1)) == many[-1:]


def test_instances_may_outlive_their_tracking(connection: Connection) -> None:
    for rule in (1, 2):
        instances.track(connection, rule)
        instances.track(connection, rule)
        instances.record(connection, rule, {"k": instance("k")})
    instances.untrack(connection, [1], forget=False)
    instances.untrack(connection, [2])
    assert [instances.is_tracked(connection, rule) for rule in (1, 2)] == [False, False]
    assert [len(instances.all_of(connection, rule)) for rule in (1, 2)] == [1, 0]
