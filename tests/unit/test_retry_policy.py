"""Waits grow by a factor up to the longest, and jitter keeps them within bounds."""

from __future__ import annotations

import pytest

from tidings.retry_policy import SECOND, RetryPolicy


def test_waits_grow_and_are_bounded() -> None:
    policy = RetryPolicy(first=2 * SECOND, factor=2, longest=10 * SECOND, jitter=0)
    assert [policy.wait(n, 0.5) // SECOND for n in range(1, 6)] == [2, 4, 8, 10, 10]
    assert policy.wait(100_000, 0.5) == 10 * SECOND


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 15), (0.5, 20), (1.0, 25)])
def test_jitter(chance: float, seconds: int) -> None:
    assert RetryPolicy(first=20 * SECOND, jitter=0.25).wait(1, chance) == seconds * SECOND
