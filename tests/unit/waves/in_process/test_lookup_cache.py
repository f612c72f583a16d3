"""What lookups share: their plans, and the rows of a batch."""

from __future__ import annotations

import pyarrow as pa

from tests.unit.schema import program
from tidings.compiled import CompiledPlans
from tidings.delta.lookups import Lookup
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.waves.in_process.lookup_cache import LookupCache

COLUMNS = (Column("a", "int"),)
LOOKUP = Lookup("u?1", "u", Version.OLD, COLUMNS, COLUMNS[0], (("t", "a"),))
ROWS = Source(COLUMNS, None, pa.table({"a": [1]}))


def test_the_lookups_of_all_programs() -> None:
    cache = LookupCache(CompiledPlans())
    first, second = program("SELECT a FROM t", "t"), program("SELECT a FROM t", "t")
    cache.add(first, (LOOKUP,))
    cache.add(second, (LOOKUP,))
    cache.add(second, ())
    assert list(cache.lookups()) == [LOOKUP]


def test_a_plan_is_made_once() -> None:
    cache = LookupCache(CompiledPlans())
    assert cache.plan(LOOKUP) is cache.plan(LOOKUP)


def test_rows_go_by_the_changes_they_depend_on() -> None:
    cache = LookupCache(CompiledPlans())
    changes, equal = pa.table({"a": [1]}), pa.table({"a": [1]})
    cache.add_rows(LOOKUP, [changes], ROWS)
    assert cache.rows(LOOKUP, [changes]) is ROWS
    assert cache.rows(LOOKUP, [equal]) is None
    assert cache.rows(LOOKUP, [changes, changes]) is None
    cache.begin_batch()
    assert cache.rows(LOOKUP, [changes]) is None


def test_everything_is_forgotten_with_the_definitions() -> None:
    compiled = CompiledPlans()
    cache = LookupCache(compiled)
    plan, changes = cache.plan(LOOKUP), pa.table({"a": [1]})
    cache.add(program("SELECT a FROM t", "t"), (LOOKUP,))
    cache.add_rows(LOOKUP, [changes], ROWS)
    compiled.forget()
    assert list(cache.lookups()) == []
    assert cache.rows(LOOKUP, [changes]) is None
    assert cache.plan(LOOKUP) is not plan
