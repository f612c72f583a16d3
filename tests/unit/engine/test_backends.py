"""Engines by their names."""

from __future__ import annotations

import pytest

from tidings.engine.backends import backend_named, in_process_duckdb
from tidings.errors import UnknownEngine


def test_engines_have_names() -> None:
    engine = backend_named("duckdb")
    assert engine.name == "duckdb"
    engine.close()
    with pytest.raises(UnknownEngine):
        backend_named("abacus")


def test_the_in_process_engine_has_part_of_the_memory() -> None:
    engine = in_process_duckdb(256 << 20)
    (limit,) = engine.fetch("SELECT current_setting('memory_limit') AS m").column("m").to_pylist()
    assert limit == "256.0 MiB"
    engine.close()
