"""Which bases are cached: those used last, while they fit."""

from __future__ import annotations

from typing import Any

import pytest

from tidings.engine.spark.cache import BaseCache, storage_memory

GIB = 1 << 30


class Frame:
    """Stands for a frame of Spark."""

    def __init__(self) -> None:
        self.is_cached = False

    def cache(self) -> Frame:
        self.is_cached = True
        return self

    def unpersist(self) -> None:
        self.is_cached = False


class Session:
    """Stands for a session, of which only settings are asked for."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings
        self.conf = self

    def get(self, name: str, default: str) -> str:
        return self.settings.get(name.removeprefix("spark.").replace(".", "_"), default)


def frames(cache: BaseCache, *sizes: int) -> list[Any]:
    made: list[Any] = [Frame() for _ in sizes]
    for n, (frame, size) in enumerate(zip(made, sizes, strict=True)):
        cache.use(str(n), frame, size)
    return made


def test_those_used_last_are_cached() -> None:
    session: Any = Session()
    cache = BaseCache(session, limit=10)
    first, second, third = frames(cache, 4, 4, 2)
    assert cache.names == ["0", "1", "2"]
    cache.use("0", first, 4)
    (fourth,) = frames(BaseCache(session, limit=1), 2)
    cache.use("3", fourth, 3)
    assert cache.names == ["2", "0", "3"]
    assert [f.is_cached for f in (first, second, third, fourth)] == [True, False, True, True]
    cache.drop("3")
    assert not fourth.is_cached


def test_what_does_not_fit_at_all_drops_nothing() -> None:
    session: Any = Session()
    cache = BaseCache(session, limit=10)
    small, large = frames(cache, 4, 11)
    assert (cache.names, small.is_cached, large.is_cached) == (["0"], True, False)


@pytest.mark.parametrize(
    ("settings", "heaps"),
    [
        ({"master": "local[2]", "driver_memory": "2g"}, 1),
        ({"master": "spark://m", "executor_memory": "2048m", "executor_instances": "3"}, 3),
        ({"driver_memory": "2GB"}, 1),
    ],
)
def test_storage_memory_is_what_the_settings_say(settings: dict[str, str], heaps: int) -> None:
    session: Any = Session(**settings)
    assert storage_memory(session) == int((2 * GIB - (300 << 20)) * 0.6) * heaps
