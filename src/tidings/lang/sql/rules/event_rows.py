"""The rows of events in conditions: ``ON SIGNAL e AS x WHEN SELECT … FROM x``.

The name of an event is replaced by a relation with the rows of that event, wherever the condition reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.changes import FindSource
from tidings.lang.sql.statements.event import Event, SignalEvent, TableEvent, name_of, walk


@dataclass(frozen=True, slots=True)
class EventRows:
    """The rows of a named part of an event, as a relation of the condition."""

    event: Event
    name: str
    columns: tuple[Column, ...]

    @property
    def relation(self) -> str:
        """The name of the relation in the condition."""
        return f"rows of event {self.name}"


def take_event_rows(tree: Expression, event: Event | None, find_source: FindSource) -> tuple[EventRows, ...]:
    """Replace the names of events in a query by relations with the rows of these events; those that it reads."""
    events = () if event is None else walk(event)
    named = {name.lower(): part for part in events if (name := name_of(part)) is not None}
    read: dict[str, EventRows] = {}
    for table in list(tree.find_all(exp.Table)):
        key = table.name.lower()
        if key in named and not table.db:
            rows = read.setdefault(key, EventRows(named[key], table.name, _columns(named[key], find_source)))
            table.set("alias", table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(rows.relation, quoted=True))
    return tuple(read.values())


def _columns(event: Event, find_source: FindSource) -> tuple[Column, ...]:
    """The columns of the rows of an event; those of an update have the values before, too."""
    if not isinstance(event, TableEvent | SignalEvent):
        return (Column("instant", "timestamp"),)
    source = find_source(event.table if isinstance(event, TableEvent) else event.event)
    columns = () if source is None else source.columns
    is_update = isinstance(event, TableEvent) and event.kind == "update"
    return (*columns, *(Column(f"old_{c.name}", c.type) for c in columns if is_update))
