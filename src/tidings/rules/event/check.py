"""What is asked of an event before anything happens: which tables it names, and whether it can be waited for."""

from __future__ import annotations

from tidings.errors import InvalidRule, UnknownColumn, UnknownRelation, closest
from tidings.lang.sql.statements.event import (
    At,
    Cron,
    Event,
    Every,
    Plus,
    SignalEvent,
    TableEvent,
    Then,
    Ticks,
    name_of,
    walk,
)
from tidings.rules.event.detector import is_local
from tidings.rules.event.occurrence import relation_of
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


def check(event: Event, relations: Relations, rule: str) -> None:
    """Refuse events of unknown tables, columns and signals, and compositions that are not supported."""
    names: set[str] = set()
    for part in walk(event):
        match part:
            case TableEvent():
                _check_table(part, relations)
            case SignalEvent():
                relations.event(part.event, part.place)
            case Then(within=None) if not is_local(part):
                reason = "the parts of a THEN without WITHIN happen in one transaction, and these need not"
                raise InvalidRule(None, "give THEN a WITHIN INTERVAL", name=rule, reason=reason)
            case _:
                pass
        name = name_of(part)
        if name is not None and name.lower() in names:
            raise InvalidRule(None, name=rule, reason=f"two events are named {name}")
        names |= {name.lower()} if name is not None else set()


def _check_table(event: TableEvent, relations: Relations) -> None:
    relation = relations.find(event.table)
    if relation is None or (isinstance(relation, Table) and relation.role != "table"):
        raise UnknownRelation(event.place, closest(event.table, relations.names()), name=event.table)
    names = {c.name.lower(): c.name for c in relation.columns}
    for column in event.columns:
        if column.lower() not in names:
            raise UnknownColumn(event.place, closest(column, names.values()), name=column)


def tables(event: Event) -> frozenset[str]:
    """The tables, views and signals that an event names, in lower case."""
    simple = (part for part in walk(event) if isinstance(part, TableEvent | SignalEvent))
    return frozenset(relation_of(part).lower() for part in simple)


def is_temporal(event: Event | None) -> bool:
    """Whether an event is the passing of time, or has it as a part."""
    return event is not None and any(isinstance(part, Every | Cron | At | Ticks | Plus) for part in walk(event))


def needs_order(event: Event | None) -> bool:
    """Whether an event depends on the order of what one transaction did."""
    return event is not None and any(isinstance(part, Then) and part.within is None for part in walk(event))


def has_tables(event: Event) -> bool:
    """Whether an event is a change of a table or view, or has one as a part."""
    return any(isinstance(part, TableEvent) for part in walk(event))
