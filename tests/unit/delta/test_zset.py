"""Z-sets are a commutative group; nothing in them weighs zero."""

from __future__ import annotations

from tidings.delta.zset import ZSet

A = ZSet({"a": 2, "b": -1})
B = ZSet({"a": -2, "c": 3})


def test_addition_cancels() -> None:
    assert ZSet({"b": -1, "c": 3}) == A + B
    assert A + B == B + A
    assert not A - A
    assert len(A + B) == 2


def test_zero_is_absent() -> None:
    assert ZSet([("a", 1), ("a", -1)]) == ZSet()
    assert list(ZSet({"a": 0}).items()) == []
    assert A.weight("z") == 0


def test_parts() -> None:
    assert A.positive() == ZSet({"a": 2})
    assert A.negative() == ZSet({"b": 1})
    assert A.positive() - A.negative() == A


def test_of_counts_occurrences() -> None:
    assert ZSet.of(["x", "y", "x"]) == ZSet({"x": 2, "y": 1})


def test_equal_sets_hash_alike() -> None:
    assert hash(ZSet({"a": 1, "b": 2})) == hash(ZSet({"b": 2, "a": 1}))
    assert ZSet({"a": 1}) != {"a": 1}
