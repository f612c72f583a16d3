"""Which cases the laws look at, in chunks that can be run apart.

``TIDINGS_SEED`` moves to other cases (default 1), ``TIDINGS_CASES`` multiplies how many there are, in percent.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import pytest

SEED = int(os.environ.get("TIDINGS_SEED", "1"))
PERCENT = int(os.environ.get("TIDINGS_CASES", "100"))


def chunks(cases: int, *, quick: int, size: int = 100) -> list[Any]:
    """The seeds of ``cases`` cases in ranges of ``size``; all after the first ``quick`` are slow.

    Where a range is larger than that, the first ``quick`` cases are a range of their own.

    >>> [len(chunk.values[0]) for chunk in chunks(10, quick=2, size=4)]
    [2, 4, 4]
    """
    first = SEED * 1_000_000
    total = max(1, cases * PERCENT // 100)
    alone = [0] if 0 < quick < min(size, total) else []
    starts = [*alone, *range(quick if alone else 0, total, size)]
    return [
        pytest.param(
            range(first + start, first + end),
            id=f"{first + start}",
            marks=[pytest.mark.slow] if start >= quick else [],
        )
        for start, end in pairwise([*starts, total])
    ]
