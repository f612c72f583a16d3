"""Rows of a table by their key or by all their values, without the engine where the base is in files.

A table is its base and the net of its log.  The net is indexed in memory; of the base, a few row groups are read in
this process.  Only a base that the engine alone holds (a table loaded in memory) is searched by the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.key_columns import LISTABLE
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import no_changes, versioned
from tidings.engine.row_values import row_keys
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.engine.sql.literals import literals
from tidings.ir.expression import WEIGHT, read, show_name
from tidings.ir.relation import Column, Filter, Relation, Scan, SemiJoin
from tidings.store.relation.net import Key, Net, Row, table_of, values
from tidings.store.relation.table import Table
from tidings.store.storage import Storage

LIST_LIMIT = 200
"""Up to this many keys are written into a query; more are joined."""

_SOUGHT = "tidings sought"


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """Finds rows of the tables of one database."""

    storage: Storage
    runner: Runner
    _last: list[tuple[object, str, pa.Array, pa.Table]] = field(init=False, default_factory=list)
    """What the engine was asked for last, of which base and column: an update finds its rows, and then the commit looks
    whether they are there."""

    def in_base(self, table: Table, rows: pa.Table) -> Counter[Row]:
        """How often the base holds each of some rows."""
        sought = set(row_keys(rows))
        return Counter(row for row in row_keys(self.base_rows(table, rows)) if row in sought)

    def by_key(self, table: Table, keys: Collection[Key], pending: Net | None = None) -> dict[Key, list[Row]]:
        """The rows with some keys, as plain values and each as often as it is there.

        ``pending`` are changes on top of the table.
        """
        names = [c.name for c in table.columns]
        places = [names.index(k) for k in table.constraints.key]
        base = self.base_rows(table, table_of(tuple(table.columns[p] for p in places), keys))
        counted: dict[Key, Counter[Row]] = {key: Counter() for key in keys}
        plain: dict[Row, Row] = {}
        for row, plain_row in zip(row_keys(base), values(base), strict=True):
            key = tuple(row[p] for p in places)
            if key in counted:
                counted[key][row] += 1
                plain[row] = plain_row
        for net in [table.net] if pending is None else [table.net, pending]:
            for key in keys:
                for row, count in net.at(key).items():
                    counted[key][row] += count
                    plain.setdefault(row, net.values_of(row))
        return {key: [plain[row] for row in rows.elements()] for key, rows in counted.items()}

    def held(self, table: Table, keys: pa.Table) -> pa.Table:
        """Those of many keys that a row has now; Arrow does the work, and no row becomes Python values."""
        names = keys.column_names
        base = self.base_rows(table, keys).select(names).cast(keys.schema)
        ones = pa.repeat(pa.scalar(1, pa.int64()), base.num_rows)
        logged = [entry.select([*names, WEIGHT]) for entry in table.history.unfolded()()]
        rows = pa.concat_tables([base.append_column(WEIGHT, ones), *logged])
        counted = rows.join(keys, keys=names, join_type="left semi").group_by(names).aggregate([(WEIGHT, "sum")])
        return counted.filter(pc.greater(counted.column(f"{WEIGHT}_sum"), 0)).select(names)

    def base_rows(self, table: Table, sought: pa.Table) -> pa.Table:
        """The rows of the base that may equal those that are sought, in the columns these have."""
        if table.base is None or not sought.num_rows:
            return arrow_schema(table.columns).empty_table()
        table.require_base()
        snapshot = self.storage.snapshots.files.get(table.id)
        if snapshot is not None and snapshot.key in sought.column_names:
            keys = sought.column(snapshot.key)
            if _is_found_by_value(keys):
                return snapshot.lookup(pc.unique(keys))
        return self._by_engine(table, sought)

    def _by_engine(self, table: Table, sought: pa.Table) -> pa.Table:
        scan = Scan(table.name, "stored", table.columns)
        base = Source(table.columns, table.base, no_changes(table.columns))
        columns = {c.name: c for c in table.columns if c.name in sought.column_names}
        by = next((c for c in columns.values() if c.type in LISTABLE), None)
        plan: Relation = scan
        sources = {table.name: base}
        if by is not None:
            keys = pc.unique(sought.column(by.name))
            name = show_name(by.name)
            if self._last and self._last[0][:2] == (table.base_token, by.name) and self._last[0][2].equals(keys):
                return self._last[0][3]
            if len(keys) <= LIST_LIMIT:
                listed = literals(keys, by.type, "spark")
                plan = Filter(scan, (read(f"stored.{name} IN ({listed}) OR stored.{name} IS NULL"),))
            else:
                keys_scan = Scan(_SOUGHT, "sought", (Column(by.name, by.type),))
                plan = SemiJoin(scan, keys_scan, (read(f"stored.{name} <=> sought.{name}"),))
                sources[_SOUGHT] = Source(keys_scan.columns, None, versioned(pa.table({by.name: keys})))
        rows = self.runner.query(plan, lambda relation, _version: sources[relation])
        if by is not None and len(keys) <= LIST_LIMIT:
            self._last[:] = [(table.base_token, by.name, keys, rows)]
        return rows


def _is_found_by_value(values: pa.ChunkedArray) -> bool:
    """Whether equal values are the same value; the two zeros are not, and NaN is in no minimum and maximum."""
    if pa.types.is_floating(values.type):
        doubtful = pc.or_(pc.is_nan(values), pc.equal(values, pa.scalar(0.0, values.type)))
        return not pc.any(doubtful).as_py()
    return not pa.types.is_nested(values.type)
