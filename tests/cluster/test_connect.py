"""The shop over Spark Connect, in memory and in a folder: the same changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import shop
from tests.cluster.program import Job, Place, run

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_same_changes(expected: shop.Told, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.connect.session", exc_type=ImportError)
    in_memory, in_folder = run(Job({}, [Place(), Place(str(tmp_path / "shop"))], remote="local[2]"))
    assert in_memory == expected
    assert in_folder == expected
