"""The rows of named parts of an event, which a condition may read.

What happened in earlier transactions is read from the log; what happens in the open one, from what it has done.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidings.clock import instant
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes, paired, rows_that_came, rows_that_went, without_version
from tidings.lang.sql.rules.event_rows import EventRows
from tidings.lang.sql.statements.event import Event, SignalEvent, TableEvent, walk
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.event.happening import Happening
from tidings.rules.event.occurrence import logged_changes, slice_changes, updates
from tidings.rules.rule import Rule
from tidings.waves.scheduler import Scheduler


def event_rows(
    scheduler: Scheduler, rule: Rule, happening: Happening, tx_slice: TransactionSlice | None = None
) -> NetEntries:
    """The rows of the named parts of a happening, by the names of their relations, as log entries.

    ``tx_slice`` is the slice of the open transaction in which it happened, if it is not committed.
    """
    simple = rule.new_detector().simple
    entries: NetEntries = {}
    for named in rule.condition.event_rows:
        numbers = [n for n, event in enumerate(simple) if named.event in walk(event)]
        instants = sorted({at for number, at in happening.parts if number in numbers})
        parts = [_rows(scheduler, named, at, tx_slice) for at in instants]
        rows = pa.concat_tables([arrow_schema(named.columns).empty_table(), *parts])
        entries[named.relation] = as_changes(named.columns, rows, [1] * rows.num_rows)
    return entries


def _rows(scheduler: Scheduler, named: EventRows, at: int, tx_slice: TransactionSlice | None) -> pa.Table:
    """The rows of an event at an instant."""
    event, schema = named.event, arrow_schema(named.columns)
    if not isinstance(event, TableEvent | SignalEvent):
        return pa.Table.from_pylist([{"instant": instant(at)}], schema)
    if tx_slice is not None and at > tx_slice.at:
        whole = TransactionSlice(tx_slice.done, 0, tx_slice.end, tx_slice.at) if tx_slice.start else tx_slice
        entry = slice_changes(event, scheduler, whole)
    else:
        entry = logged_changes(event, scheduler, at - 1, at).get(at)
    if entry is None:
        return schema.empty_table()
    key = scheduler.relations.constraints(event.table).key if isinstance(event, TableEvent) else ()
    return _of_kind(event, entry, key, schema)


def _of_kind(event: Event, entry: pa.Table, key: Sequence[str], schema: pa.Schema) -> pa.Table:
    """The rows of changes that are of the kind of an event."""
    if isinstance(event, SignalEvent):
        return rows_that_came(entry)
    assert isinstance(event, TableEvent)
    rows = without_version(entry)
    if event.kind == "update":
        pairs = updates(event, entry, key)
        new, old = (rows.take(pa.array([pair[side] for pair in pairs], pa.int64())) for side in (1, 0))
        return pa.Table.from_arrays([*new.columns, *old.columns], schema=schema)
    if not key:
        return rows_that_came(entry) if event.kind == "insert" else rows_that_went(entry)
    alone = [(old, new) for old, new in paired(entry, key) if old is None or new is None]
    places = [new if event.kind == "insert" else old for old, new in alone]
    return rows.take(pa.array([place for place in places if place is not None], pa.int64()))
