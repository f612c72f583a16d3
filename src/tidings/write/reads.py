"""What a serializable transaction has read, to be compared at its commit with what is there then.

The commit is where the transaction stands among all others.  So every answer it was given has to be the answer that it
would be given then.  That is so if nothing that the answer depends on has changed since:

- an answer of a query depends on all tables below it, whatever rows it selects: rows that would be new in it count;
- rows that were looked up by primary key depend on the rows with these keys, those that were not there among them.

Own changes count for nothing here: they are not in the log, and constraints are checked by the commit anyway.  An
answer that depends on the clock stays one of the instant at which it was given.

Cost: names and instants for queries, and the keys that were looked up.  A commit compares instants; where a table has
changed of which rows were looked up, it reads what was logged since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tidings.analysis.influents import CLOCK
from tidings.errors import HistoryGone, SerializationConflict, UnsupportedStatement
from tidings.ir.relation import Relation
from tidings.store.relation.net import Key
from tidings.store.relation.table import Table
from tidings.store.timeline import Timeline


@dataclass(slots=True)
class Reads:
    """The reads of one transaction."""

    timeline: Timeline
    _whole: dict[str, int] = field(init=False, default_factory=dict)
    """Relations that answers depend on, each with the last commit when it was first read."""
    _keys: dict[str, dict[Key, int]] = field(init=False, default_factory=dict)
    """Keys that were looked up, by table, each with the last commit when that was first done."""
    _tables: dict[str, Table] = field(init=False, default_factory=dict)
    """Tables as they were when they were first read."""

    def plan(self, plan: Relation, besides: Collection[str] = ()) -> None:
        """Note that a query was answered; ``besides`` are relations of which nothing else was read."""
        relations = self.timeline.storage.relations
        names = relations.below(plan) - {CLOCK, *besides}
        system = sorted(names & relations.system_tables.keys())
        if system:
            hint = "their rows have no history to be compared with: read them outside of the transaction"
            raise UnsupportedStatement(None, hint, statement=f"{system[0]} in a serializable transaction")
        self.relations(names)

    def relations(self, names: Iterable[str]) -> None:
        """Note that all rows of some relations were read."""
        for name in names:
            self._know(name)
            self._whole.setdefault(name, self.timeline.time)

    def keys(self, table: Table, keys: Iterable[Key]) -> None:
        """Note that the rows of a table with some keys were looked up."""
        self._know(table.name)
        known = self._keys.setdefault(table.name, {})
        for key in keys:
            known.setdefault(key, self.timeline.time)

    def require_unchanged(self) -> None:
        """Refuse a commit if something that was read is not what it was."""
        changed = {name for name, since in self._whole.items() if self._has_changed(name, since)}
        changed |= {name for name, keys in self._keys.items() if self._have_changed(name, keys)}
        if changed:
            raise SerializationConflict(relations=", ".join(sorted(changed)))

    def _know(self, name: str) -> None:
        table = self.timeline.storage.relations.find(name)
        if isinstance(table, Table):
            self._tables.setdefault(name, table)

    def _has_changed(self, name: str, since: int) -> bool:
        """Whether a relation has other rows than after a commit, or is another one."""
        storage = self.timeline.storage
        if storage.defined_since.get(name.lower(), 0) > since or (not since and self.timeline.time):
            return True  # a load before the first commit is in no log
        present, known = storage.relations.find(name), self._tables.get(name)
        if known is None:
            return present is None
        try:
            return present is not known or known.history.changed(since, self.timeline.time)
        except HistoryGone:
            return True

    def _have_changed(self, name: str, keys: dict[Key, int]) -> bool:
        """Whether rows with some keys were changed since they were looked up."""
        first = min(keys.values(), default=self.timeline.time)
        if not self._has_changed(name, first):
            return False
        table, storage = self._tables.get(name), self.timeline.storage
        if table is None or storage.relations.find(name) is not table:
            return True
        if storage.defined_since.get(name.lower(), 0) > first:
            return True
        try:
            logged = table.history.keyed(first, self.timeline.time)
            return any(time > keys[key] for key, time in logged if key in keys)
        except HistoryGone:
            return True
