"""The end of all changes: rows are held against what their tables demand, and logged at their instants.

Transactions are logged at one instant.  A first load has no instant of its own: its rows were there before the first
transaction.  A load of history has those that its rows tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any, Protocol

import pyarrow as pa
from sqlalchemy import Connection

from tidings.analysis.influents import influents
from tidings.constraints.enforce import Enforcer, NetChange
from tidings.errors import InvalidRow, UnknownColumn, closest
from tidings.exclusive import exclusive
from tidings.store.fold import Folding
from tidings.store.load import load
from tidings.store.relation.history import entries
from tidings.store.relation.log import span
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler


class LoadHook(Protocol):
    """Looks on while tables are loaded."""

    def before(self, target: Table) -> None:
        """A table is about to be given its first rows."""

    def loaded(self, target: Table) -> None:
        """They are there; they may be refused."""

    def record(self, connection: Connection) -> None:
        """Record more in the transaction of the catalog that records the load."""

    def logged(self, tables: Sequence[Table], since: int, until: int) -> None:
        """Transactions of the past are there; they may be refused, and more be recorded together with them."""


@dataclass(slots=True)
class Commits:
    """Commits to one database."""

    storage: Storage
    enforcer: Enforcer
    scheduler: Scheduler
    timeline: Timeline
    folding: Folding
    _mutex: RLock

    @exclusive
    def commit(self, changes: list[NetChange], also: Callable[[int], None] | None = None) -> int:
        """Check all changes, then log them all at one instant; which that is.

        Signals are gone at the next instant, at which nothing else is committed.  ``also`` records more in the same
        transaction of the catalog.
        """
        for change in changes:
            self.enforcer.check(change)
        time = self.timeline.next()
        if not changes and also is None:
            self.timeline.reach(time)
            return time
        logged = [(c.table, _entry(c, time)) for c in changes]
        last = time + any(c.table.role == "event" for c in changes)

        def follow() -> None:
            self.scheduler.follow(last)
            if also is not None:
                also(time)

        with self.timeline.reaching(last):
            self.storage.commit(last, logged, follow)
        self.folding.step()
        return time

    def load(self, target: Table, data: Any, sorted_by: str | None, hook: LoadHook | None = None) -> None:
        """Give an empty table its first rows."""
        if target.base is not None or target.times(-1, self.timeline.time):
            raise InvalidRow(row=1, table=target.name, reason="only a table without rows can be loaded")
        names = [c.name for c in target.columns]
        key = next((n for n in names if n.lower() == (sorted_by or target.key_column).lower()), None)
        if key is None:
            raise UnknownColumn(None, closest(str(sorted_by), names), name=sorted_by)
        data = _as_declared(target, data)
        relations = self.storage.relations
        definitions = relations.definitions()
        readers = [v for v in relations.stored() if target.name in influents(v.plan, definitions)]
        followed = self.timeline.time or self.timeline.followed
        if hook is not None:
            hook.before(target)

        def check() -> None:
            self.enforcer.check_base(target)
            if hook is not None:
                hook.loaded(target)

        with self.timeline.redefining([target.name]) if followed else nullcontext():
            load(self.storage, target, data, key, readers, check, None if hook is None else hook.record)

    def load_history(self, data: Mapping[str, Any], late: str, hook: LoadHook | None = None) -> None:
        """Log rows at the instants they tell."""
        after = self.timeline.settled()
        given = [(self.storage.relations.table(name), rows) for name, rows in data.items()]
        changes = entries(given, after=after, present=self.timeline.next(), late=late)
        for table, entry in changes:
            self.enforcer.check_history(table, entry)
        if changes:
            last = max(span(entry)[1] for _, entry in changes)

            def follow() -> None:
                self.scheduler.follow(last)
                if hook is not None:
                    hook.logged([table for table, _ in changes], after, last)

            with self.timeline.reaching(last):
                self.storage.commit_history(changes, follow)
            self.folding.step()


def _entry(change: NetChange, time: int) -> pa.Table:
    """A change as it is logged; a signal comes and goes."""
    entry = change.table.entry(time, change.rows, change.weights)
    if change.table.role != "event":
        return entry
    return pa.concat_tables([entry, change.table.entry(time + 1, change.rows, [-w for w in change.weights])])


def _as_declared(target: Table, data: Any) -> Any:
    """An Arrow table or a frame with its columns in the order of the table's; refused if it has others."""
    if not isinstance(data, pa.Table) and not hasattr(data, "select"):
        return data  # the engine says that it cannot read it
    names = list(data.column_names if isinstance(data, pa.Table) else data.columns)
    own = {name.lower(): name for name in names}
    missing = [c.name for c in target.columns if c.name.lower() not in own]
    if missing or len(names) != len(target.columns):
        declared = ", ".join(c.name for c in target.columns)
        reason = f"the rows have the columns {', '.join(names)}, the table has {declared}"
        raise InvalidRow(row=1, table=target.name, reason=reason)
    wanted = [own[c.name.lower()] for c in target.columns]
    if wanted == names:
        return data
    return data.select(wanted if isinstance(data, pa.Table) else [f"`{name.replace('`', '``')}`" for name in wanted])
