"""TPC-DS: every query as a view, exact after a few batches; ``make coverage`` checks more of them."""

from __future__ import annotations

import pytest

from tests.tpc.coverage import measure
from tests.tpc.page import load

BATCHES = 2
PARTS = 4


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_accepted_query_is_exact(part: int) -> None:
    known = {f.number for f in load()["tpcds"] if f.accepted}
    found = measure("tpcds", BATCHES, part, PARTS)
    assert [(f.number, f.reason) for f in found if not f.accepted and f.number in known] == []
    assert [(f.number, f.reason) for f in found if f.accepted and not f.exact] == []
    assert all(f.checked + f.left_out == BATCHES for f in found if f.accepted)
