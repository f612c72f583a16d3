"""Loads: many rows at once, from outside of transactions.

The first rows of a table have no instant of their own: they count as having been there before the first transaction.
The load counts as a commit all the same, so that whoever goes on from ``db.time`` goes on from there.
The rows of a history have the instants that one of their columns tells, and are logged at these.  Further rows of a
table that has some are inserted by a transaction, which somebody else begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import pyarrow as pa

from tidings.analysis.influents import influents
from tidings.constraints.fragment_keys import check_all_keys
from tidings.engine.arrow import conform
from tidings.errors import InvalidRow, UnknownColumn, UnsupportedStatement, closest
from tidings.lang.sql.bind import bind
from tidings.lang.sql.parse import statements
from tidings.rewrite.pipeline import normalise
from tidings.store.load import load
from tidings.store.relation.history import entries
from tidings.store.relation.log import span
from tidings.store.relation.progress import Seen, nobody
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table
from tidings.store.relation.values import require_known_values
from tidings.write.commit import Commits
from tidings.write.hooks import LoadHook


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads rows into the tables of one database."""

    commits: Commits

    def load(
        self,
        table: str | Mapping[str, Any],
        data: Any,
        sorted_by: str | None,
        late: str,
        hook: LoadHook | None,
        seen: Seen = nobody,
    ) -> int:
        """Load rows into a table, or into each table of a mapping; a table with a time column gets a history.

        Returns how many rows those were.
        """
        relations = self.commits.storage.relations
        for name in [table] if isinstance(table, str) else table:
            self._target(name)
        if not isinstance(table, str):
            return self._load_history(table, late, hook)
        if self.has_history(table):
            return self._load_history({table: data}, late, hook)
        return self._load_first_rows(relations.table(table), data, sorted_by, hook, seen)

    def has_history(self, table: str) -> bool:
        """Whether the rows of a table have their instants in a column."""
        return self._target(table).constraints.time_column is not None

    def has_rows(self, table: str) -> bool:
        """Whether a table has or had rows, and does not have their instants in a column."""
        target = self._target(table)
        has_rows = target.base is not None or bool(target.history.times(-1, self.commits.timeline.time))
        return has_rows and not self.has_history(table)

    def further_rows(self, table: str, data: Any, sorted_by: str | None, seen: Seen = nobody) -> tuple[Table, pa.Table]:
        """A table that has rows, and those that are to be inserted into it."""
        target = self._target(table)
        if sorted_by is not None and sorted_by.lower() != target.sort_column.lower():
            reason = f"its rows are in the order of {target.sort_column}: sorted_by is for the first ones"
            raise InvalidRow(row=1, table=target.name, reason=reason)
        rows = self._rows(target, data, seen)
        rows = rows.toArrow() if hasattr(rows, "toArrow") else rows
        try:
            return target, conform(rows, target.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidRow(row=1, table=target.name, reason=str(error).splitlines()[0]) from None

    def _target(self, name: str) -> Table:
        relations = self.commits.storage.relations
        if relations.fragments(name) is not None:
            raise UnsupportedStatement(None, "use tx.insert, or load its fragments", statement=f"a load of {name}")
        table = relations.table(name)
        if table.role == "event":
            raise UnsupportedStatement(None, f"use db.signal({name!r}, …)", statement=f"a load of the event {name}")
        if table.role == "answers":
            raise UnsupportedStatement(None, "load the tables it reads", statement=f"a load of the answers of {name}")
        return table

    def _rows(self, target: Table, data: Any, seen: Seen) -> Any:
        """Rows as the engine takes them: an Arrow table or, with Spark, a frame, with the columns of the table."""
        if _is_frame(data) and self.commits.storage.backend.name != "spark":
            data = data.toArrow()
        if _is_frame(data) or isinstance(data, pa.Table):
            in_order = _as_declared(target, data)
            if isinstance(in_order, pa.Table):
                require_known_values(target.name, in_order)
            if in_order is not None and not _loses(in_order, target) and _fits(target, in_order):
                return in_order
        defaults = self.commits.enforcer.evaluator.defaults(target, self.commits.timeline.now())
        return read_rows(target.name, target.columns, data, defaults, seen)

    def _load_first_rows(
        self, target: Table, data: Any, sorted_by: str | None, hook: LoadHook | None, seen: Seen
    ) -> int:
        """Give an empty table its first rows; stored views that read it begin anew."""
        assert not self.has_rows(target.name), "further rows are inserted"
        storage, enforcer, timeline = self.commits.storage, self.commits.enforcer, self.commits.timeline
        names = [c.name for c in target.columns]
        key = next((n for n in names if n.lower() == (sorted_by or target.key_column).lower()), None)
        if key is None:
            raise UnknownColumn(None, closest(str(sorted_by), names), name=sorted_by)
        rows = self._rows(target, data, seen)
        definitions = storage.relations.definitions()
        readers = [v for v in storage.relations.stored() if target.name in influents(v.plan, definitions)]
        is_first = timeline.time == 0
        if hook is not None:
            hook.before(target)

        def check() -> None:
            enforcer.check_base(target)
            self._check_fragments(target)
            if hook is not None:
                hook.loaded(target)

        time, record, begun = timeline.next(), None if hook is None else hook.record, perf_counter()
        has_readers = not is_first or timeline.has_subscribers
        redefining = timeline.redefining([target.name], time) if has_readers else nullcontext()
        with timeline.reaching(time), redefining:
            load(storage, target, rows, key, readers, check, record, committed=time, is_first=is_first)
        self.commits.count(time, [(target.name, target.base_size)], perf_counter() - begun)
        return target.base_size

    def _check_fragments(self, target: Table) -> None:
        """Refuse rows of a fragment with keys that other fragments have."""
        relations, scheduler = self.commits.storage.relations, self.commits.scheduler
        name = relations.fragment_of(target.name)
        scheme = None if name is None else relations.fragments(name)
        if name is None or scheme is None:
            return

        def rows(query: str) -> pa.Table:
            (tree,) = statements(query)
            plan = normalise(bind(tree, query, relations, self.commits.storage.backend), {})
            at, executor = self.commits.timeline.time, scheduler.executor
            return executor.engines.query(plan, executor.sources(0, at), at)

        check_all_keys(name, scheme, rows)

    def _load_history(self, data: Mapping[str, Any], late: str, hook: LoadHook | None) -> int:
        """Log rows at the instants they tell, as the transactions they were."""
        storage, timeline = self.commits.storage, self.commits.timeline
        settled = timeline.settled()
        rows = [(storage.relations.table(name), rows) for name, rows in data.items()]
        histories = entries(rows, after=settled, present=timeline.next(), late=late)
        for table, entry in histories:
            require_known_values(table.name, entry)
        self.commits.check_histories(histories)
        if not histories:
            return 0
        until = max(span(entry)[1] for _, entry in histories)
        tables = [table for table, _ in histories]
        logged = None if hook is None else partial(hook.logged, tables, settled, until)
        self.commits.record([(table, table.spanning(entry)) for table, entry in histories], until, logged)
        return sum(entry.num_rows for _, entry in histories)


def _fits(target: Table, rows: Any) -> bool:
    """Whether all values are ones of the table's types as they are; others are looked at one by one.

    Spark casts those of a frame.
    """
    if not isinstance(rows, pa.Table):
        return True
    try:
        conform(rows, target.schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _is_frame(data: Any) -> bool:
    """Whether rows are in a DataFrame of Spark."""
    return hasattr(data, "toArrow") and hasattr(data, "sparkSession")


def _loses(data: Any, target: Table) -> bool:
    """Whether numbers have to be looked at one by one, for some may be too large for their column."""
    if not isinstance(data, pa.Table):
        return False
    return any(
        pa.types.is_float64(given.type) and pa.types.is_float32(held.type)
        for given, held in zip(data.schema, target.schema, strict=True)
    )


def _as_declared(target: Table, data: Any) -> Any:
    """An Arrow table or a frame with its columns in the order of the table's; None if it has not just these."""
    names = list(data.column_names if isinstance(data, pa.Table) else data.columns)
    by_lower_name = {name.lower(): name for name in names}
    if by_lower_name.keys() != {c.name.lower() for c in target.columns} or len(names) != len(target.columns):
        return None
    in_order = [by_lower_name[c.name.lower()] for c in target.columns]
    if in_order == names:
        return data
    return data.select(
        in_order if isinstance(data, pa.Table) else [f"`{name.replace('`', '``')}`" for name in in_order]
    )
