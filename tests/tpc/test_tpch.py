"""TPC-H: the 22 queries as views, each exact after every one of twenty batches of mixed changes."""

from __future__ import annotations

import pytest

from tests.tpc.coverage import measure

BATCHES = 20


@pytest.mark.slow
def test_every_query_is_exact_after_every_batch() -> None:
    found = measure("tpch", BATCHES)
    assert len(found) == 22
    assert [(f.number, f.reason) for f in found if not f.exact] == []
    assert all(f.checked + f.left_out == BATCHES and f.checked > 0 for f in found)
