"""A log of blocks answers as a plain list of changes does, wherever it is cut."""

from __future__ import annotations

from itertools import product
from random import Random

import duckdb
import pyarrow as pa
import pytest

from tidings.errors import ReaderBehind
from tidings.store.relation.log import EntryFacts, Log, compact, in_order
from tidings.store.relation.log_range import LogRange

SCHEMA = pa.schema([("x", pa.int32()), ("__t", pa.int64()), ("__w", pa.int64())])
Change = tuple[int, int, int]


def block(changes: list[Change]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, c, strict=True)) for c in changes], schema=SCHEMA)


def history(seed: int) -> list[list[Change]]:
    """Blocks of one instant and of several, with losses in some."""
    rng, time, blocks = Random(seed), 0, []
    for _ in range(rng.randint(1, 6)):
        changes: list[Change] = []
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            time += rng.randint(1, 3)
            changes += [(rng.randint(0, 9), time, rng.choice([1, 1, 2, -1])) for _ in range(rng.randint(1, 3))]
        blocks.append(changes)
    return blocks


def made(blocks: list[list[Change]], *, lazily: bool) -> Log:
    tables = [block(b) for b in blocks]

    def load(first: int, last: int) -> list[pa.Table]:
        return [t for t, b in zip(tables, blocks, strict=True) if b[-1][1] >= first and b[0][1] <= last]

    log = Log(load if lazily else None)
    for table, changes in zip(tables, blocks, strict=True):
        log.add(EntryFacts.of(table, changes[0][1], changes[-1][1]), None if lazily else table)
    return log


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_every_range(seed: int, lazily: bool) -> None:
    blocks = history(seed)
    changes = [c for b in blocks for c in b]
    log, last = made(blocks, lazily=lazily), changes[-1][1]
    for since, until in product(range(-1, last + 2), repeat=2):
        inside = [c for c in changes if since < c[1] <= until]
        start, end = log.place(since), log.place(until)
        assert [tuple(r.values()) for t in LogRange(log, start, end).rows() for r in t.to_pylist()] == inside
        assert LogRange(log, start, end).count() == len(inside)
        assert LogRange(log, start, end).instants().to_pylist() == sorted({c[1] for c in inside})
        assert LogRange(log, start, end).only_grows() == all(c[2] > 0 for c in inside)
        if since <= until:
            assert (
                LogRange(log, start, end).growth() == -LogRange(log, end, start).growth() == sum(c[2] for c in inside)
            )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_after_forgetting(seed: int) -> None:
    blocks = history(seed)
    for before in range(-1, blocks[-1][-1][1] + 1):
        log = made(blocks, lazily=True)
        left = [b for b in blocks if b[-1][1] > before]
        ends = [b[-1][1] if b[-1][1] <= before else before for b in blocks if b[0][1] <= before]
        expected = max(ends, default=None)
        assert log.horizon(before) == expected
        assert log.forget(before) == (expected is not None)
        assert log.forgotten == (expected or 0)
        assert not log.forget(before)
        changes = [c for b in left for c in b]
        assert [tuple(r.values()) for t in LogRange(log, (0, 0), log.end).rows() for r in t.to_pylist()] == changes
        assert LogRange(log, (0, 0), log.end).growth() == sum(c[2] for c in changes)


@pytest.mark.parametrize("seed", range(20))
def test_merged_blocks_say_the_same(seed: int) -> None:
    blocks, rng = history(seed), Random(seed)
    changes = [c for b in blocks for c in b]
    ends = [-1, *(b[-1][1] for b in blocks)]
    after, until = sorted(rng.choices(ends, k=2))
    log, last = made(blocks, lazily=True), changes[-1][1]
    log.merge(after, until)
    covered = sum(after < b[-1][1] <= until for b in blocks)
    assert log.end[0] == len(blocks) - max(0, covered - 1)
    log.load = lambda first, end: [block(changes)]
    for since, upto in product(range(-1, last + 2), repeat=2):
        start, end = log.place(since), log.place(upto)
        inside = [c for c in changes if since < c[1] <= upto]
        assert [tuple(r.values()) for t in LogRange(log, start, end).rows() for r in t.to_pylist()] == inside
        assert (LogRange(log, start, end).count(), LogRange(log, start, end).only_grows()) == (
            len(inside),
            all(c[2] > 0 for c in inside),
        )


@pytest.mark.parametrize("seed", range(20))
def test_what_another_process_merged(seed: int) -> None:
    """A reader knows some blocks; the writer adds more and makes one of the last few."""
    blocks, rng = history(seed), Random(seed)
    known, start = rng.randint(0, len(blocks)), rng.randint(0, len(blocks) - 1)
    one = [c for b in blocks[start:] for c in b]
    log = made(blocks[:known], lazily=True)
    if one[-1][1] > (log.last or 0):
        log.learn(EntryFacts.of(block(one), one[0][1], one[-1][1]))
        log.load = lambda first, last: [
            block(b) for b in (*blocks[:start], one) if b[-1][1] >= first and b[0][1] <= last
        ]
        if known >= start:
            found = [tuple(r.values()) for t in LogRange(log, (0, 0), log.end).rows() for r in t.to_pylist()]
            assert found == [c for b in blocks for c in b]


def test_rows_that_are_gone() -> None:
    log = made(history(3), lazily=True)
    for left in ([], [block([(1, 1, 1)])]):
        log.load = lambda first, last, left=left: left
        with pytest.raises(ReaderBehind):
            LogRange(log, (0, 0), log.end).rows()


def test_rows_are_let_go_and_come_back() -> None:
    log = made(history(3), lazily=True)
    everything = LogRange(log, (0, 0), log.end).rows()
    assert LogRange(log, (0, 0), log.end).rows_in_memory() == everything
    log.evict(log.last or 0)
    assert LogRange(log, (0, 0), log.end).rows_in_memory() is None
    assert LogRange(log, (0, 0), log.end).rows() == everything


def test_rows_that_are_nowhere_else_stay() -> None:
    log = made(history(3), lazily=False)
    log.evict(log.last or 0)
    assert LogRange(log, (0, 0), log.end).rows_in_memory() is not None


def test_order_of_instants() -> None:
    ordered = block([(1, 10, 1), (2, 10, 1), (3, 20, 1)])
    assert in_order(ordered) is ordered
    assert in_order(ordered.take([2, 0, 1])).column("__t").to_pylist() == [10, 10, 20]
    assert in_order(SCHEMA.empty_table()).num_rows == 0


def test_a_few_rows_of_an_engine_are_copied_out_of_its_buffers() -> None:
    """Arrow does not know how much an engine allocated, so sizes must not decide."""
    rows = duckdb.connect().execute("SELECT 1::INT AS x, 7::BIGINT AS __t, 1::BIGINT AS __w").to_arrow_table()
    copied = compact(rows)
    assert copied.equals(rows)
    assert not addresses(copied) & addresses(rows)


def addresses(rows: pa.Table) -> set[int]:
    """Where the buffers of rows are in memory."""
    arrays = (array for column in rows.columns for array in column.chunks)
    return {buffer.address for array in arrays for buffer in array.buffers() if buffer is not None}
