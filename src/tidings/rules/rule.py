"""A rule that is ready to be judged: its statement, its bound condition, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidings.clock import micros
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.statements.event import And, At, Event, Every, Or, Then
from tidings.lang.sql.statements.rule import Coupling, CreateRule, Options, When

CHANGE = "change"
"""What a row of ``WHEN CHANGED`` says of itself, after its own columns: ``came``, ``went`` or, by key, ``changed``."""

TIMES = (Column("began", "timestamp"), Column("ended", "timestamp"), Column("seconds", "double"))
"""What is told of an instance that is gone, after its own columns, where instances have a life."""


@dataclass(frozen=True, slots=True)
class ChangesOf:
    """What stands in ``CHANGES(…)``: a table, view or query, and the columns by which old and new rows are paired."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    plan: Relation

    @property
    def relation(self) -> str:
        """What the condition calls it."""
        return f"changes_of_{self.name}"

    @property
    def side_by_side(self) -> tuple[Column, ...]:
        """Its columns, old and new."""
        return tuple(Column(f"{age}_{c.name}", c.type) for age in ("old", "new") for c in self.columns)


@dataclass(slots=True)
class Rule:
    """A rule and its condition."""

    id: int
    statement: CreateRule
    plan: Relation
    influents: frozenset[str]
    """The tables the condition depends on, also those of which it looks at the changes."""
    changes_of: ChangesOf | None
    """The table or view whose changes the condition looks at, old and new side by side."""
    activations: str | None
    """The table of parameters."""
    created: int
    until: int
    """How far it has come, if it is judged after commits."""
    enabled: bool
    hears: frozenset[str]
    """The events among what it waits for, by their own names."""
    asks: bool
    """Whether its instances are all rows that hold when an event happens: it waits for signals or the clock alone, and
    its condition does not read the signals."""
    timed: bool
    """Whether the condition reads the clock."""

    @property
    def name(self) -> str:
        return self.statement.name

    @property
    def event(self) -> Event | None:
        return self.statement.event

    @property
    def when(self) -> When:
        return self.statement.when

    @property
    def options(self) -> Options:
        return self.statement.options

    @property
    def order(self) -> tuple[int, int]:
        """Rules are chosen by priority, the greatest first, then by age."""
        return -self.options.priority, self.id

    @property
    def condition(self) -> Coupling:
        """When the condition is judged; what waits for the clock is judged after commits."""
        waits = self.timed or self.lives or is_temporal(self.event)
        return "detached" if waits else self.options.condition

    @property
    def lives(self) -> bool:
        """Whether its instances have a life: they begin after a while, are gone after a while, or both are told."""
        options = self.options
        return bool(options.hold or options.keep_alive or options.resolved)

    @property
    def action(self) -> Coupling:
        return self.options.action

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that say which instance a row is, by their own names; none if all do."""
        names = {f.name.lower(): f.name for f in self.plan.fields}
        return tuple(names[k.lower()] for k in self.options.key)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows it fires for; of changes by key also what was there before."""
        own = tuple(Column(f.name, f.type) for f in self.plan.fields)
        if self.when != "changed":
            return own if self.when == "begins" or not self.lives else (*own, *TIMES)
        old = tuple(Column(f"old_{c.name}", c.type) for c in own if self.key and c.name not in self.key)
        return (*own, Column(CHANGE, "string"), *old)

    def is_active(self, now: int) -> bool:
        """Whether it is to be judged at an instant."""
        return self.enabled and self.is_within(now)

    def is_within(self, instant: int) -> bool:
        """Whether an instant is one between which it is judged."""
        return self.begins <= instant and (self.ends is None or instant < self.ends)

    @property
    def begins(self) -> int:
        given = self.options.effective
        return 0 if given is None else micros(datetime.fromisoformat(given))

    @property
    def ends(self) -> int | None:
        given = self.options.expires
        return None if given is None else micros(datetime.fromisoformat(given))


def is_temporal(event: Event | None) -> bool:
    """Whether the passing of time is, or is part of, what a rule waits for."""
    match event:
        case Every() | At():
            return True
        case Or(parts=parts) | And(parts=parts) | Then(parts=parts):
            return any(map(is_temporal, parts))
        case _:
            return False


def needs_order(event: Event | None) -> bool:
    """Whether an event asks in which order things happened in one transaction."""
    match event:
        case Then(parts=parts, within=within):
            return within is None or any(map(needs_order, parts))
        case Or(parts=parts) | And(parts=parts):
            return any(map(needs_order, parts))
        case _:
            return False
