"""Rules, interpreted plainly: every condition is evaluated from scratch, before and after, on a plain DuckDB.

A state is all rows of all tables, signals and activations among them.  A transaction is the states between its steps.
Nothing here is incremental, and nothing is shared with what it checks but the texts of queries and statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import Any, Literal, TypeAlias

import duckdb

from tests.laws.plain_events import KEYED, SECOND, Bag, Context, Moment, PlainEvent, State, happenings, spans

TABLES = ("a", "b", KEYED)
VIEWS = {
    "joined": "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k",
    "largest": "SELECT k, max(v) AS v FROM joined GROUP BY k",
}
"""Views that several conditions may read, each after those it reads."""
SIGNALS = "e"

Holding: TypeAlias = dict[tuple[Any, ...], tuple[Any, ...]]
"""Rows by the instances that they are."""


class Refused(Exception):
    """A rule refuses the transaction, a cascade has no end, or the user gives it up."""


@dataclass(frozen=True, slots=True)
class PlainChanges:
    """Changes that a condition reads, old and new side by side, as a relation."""

    name: str
    """What the relation is called in the query."""
    table: str
    key: str = ""
    """The column that pairs old and new rows, if it is not the primary key of the table."""

    @property
    def text(self) -> str:
        return f"CHANGES({self.table}{', ' if self.key else ''}{self.key}) {self.name}"

    def rows(self, before: State, now: State) -> list[tuple[Any, ...]]:
        """The changes between two states."""
        went, came, nothing = before[self.table] - now[self.table], now[self.table] - before[self.table], (None, None)
        key = self.key or ("k" if self.table == KEYED else "")
        place = slice("kv".index(key), "kv".index(key) + 1) if key else slice(2)
        return [(*(old or nothing), *(new or nothing)) for old, new in pairs(went, came, lambda row: row[place])]


RELATIONS_OF_CHANGES = ("changes", "others")


@dataclass(frozen=True, slots=True)
class PlainRule:
    """A rule as it is written; ``statement`` is None where it refuses."""

    name: str
    age: int
    event: PlainEvent | None
    when: Literal["begins", "gone", "changed"]
    query: str
    changes: tuple[PlainChanges, ...]
    """The changes that the condition reads."""
    parameter: bool
    initial: bool
    statement: str | None
    priority: int
    nervous: bool
    key: bool
    condition: str
    action: str
    context: Context = "chronicle"
    state: bool = False
    """Whether it takes all that holds when its event happens, whatever event that is."""

    @property
    def activations(self) -> str:
        return f"activations_of_{self.name}"

    @property
    def asks(self) -> bool:
        """Whether it takes all that holds when its event happens."""
        if self.state:
            return True
        if self.event is None or self.changes or any(leaf.kind != "signal" for leaf in self.event.leaves):
            return False
        return f" {SIGNALS} " not in f"{self.query} "

    @property
    def text(self) -> str:
        """The statement that makes it."""
        on = f"ON {self.event.text} " if self.event else ""
        when = {"begins": "WHEN", "gone": "WHEN GONE", "changed": "WHEN CHANGED"}[self.when]
        do = self.statement or "RAISE 'no'"
        semantics = "nervous" if self.nervous else "strict"
        state = f", context = '{self.context}'" + (", when = 'state'" if self.state else "")
        query = self.query
        for age in ("old", "new"):
            query = query.replace(f"{age}_", f"{age}.")
        for changes in self.changes:
            for word in ("FROM", "JOIN"):
                query = query.replace(f"{word} {changes.name}", f"{word} {changes.text}")
        return (
            f"CREATE RULE {self.name} {'(i INT) ' if self.parameter else ''}{on}{when} {query} DO {do}"
            f" WITH (priority = {self.priority}, semantics = '{semantics}', condition = '{self.condition}',"
            f" action = '{self.action}'{', key = k' if self.key else ''}{', initial' if self.initial else ''}"
            f"{state})"
        )

    def instance(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Which instance a row is: its key, with the parameter of its activation, or all of it."""
        whole = row[: 3 if self.parameter else 2]
        return (whole[0], *whole[2:]) if self.key else whole

    @property
    def plain(self) -> str:
        """Its query, for one who knows nothing of parameters."""
        if not self.parameter:
            return self.query
        selected, _, rest = self.query.partition(" FROM ")
        sources, _, where = rest.partition(" WHERE ")
        return f"{selected}, i FROM {sources} CROSS JOIN {self.activations} WHERE {where}"


@dataclass(frozen=True, slots=True)
class PlainFiring:
    """A rule fired, for some rows."""

    rule: PlainRule
    rows: Bag
    depth: int
    waits: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """What there was before a transaction and after it, and when that was, in seconds."""

    before: State
    after: State
    time: int
    depth: int = 0
    """How many firings led to it."""


@dataclass(slots=True)
class Plain:
    """A database with rules."""

    rules: list[PlainRule]
    bound: int
    state: State = field(default_factory=dict)
    steps: list[State] = field(default_factory=list)
    """The states of the open transaction, from its begin to the present."""
    clock: int = 0
    firings: list[PlainFiring] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    judged: dict[str, int] = field(default_factory=dict)
    engine: Any = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        self.engine.execute("SET threads = 1")
        activations = [rule.activations for rule in self.rules if rule.parameter]
        self.state = {table: Counter() for table in (*TABLES, SIGNALS, *activations)}
        for table in (*TABLES, SIGNALS, "condition"):
            self.engine.execute(f"CREATE TABLE {table} (k INT, v INT)")
        for table in activations:
            self.engine.execute(f"CREATE TABLE {table} (i INT)")
        for name, query in VIEWS.items():
            self.engine.execute(f"CREATE VIEW {name} AS {query}")
        for name in RELATIONS_OF_CHANGES:
            self.engine.execute(f"CREATE TABLE {name} (old_k INT, old_v INT, new_k INT, new_v INT)")

    # evaluating

    def _put(self, table: str, rows: Iterable[tuple[Any, ...]], width: int = 2) -> None:
        self.engine.execute(f"DELETE FROM {table}")
        listed = [row[:width] for row in rows]
        if listed:
            self.engine.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(listed[0]))})", listed)

    def _rows(self, rule: PlainRule, state: State, since: State | None = None) -> Bag:
        for table, rows in state.items():
            self._put(table, rows.elements())
        for changes in rule.changes:
            self._put(changes.name, [] if since is None else changes.rows(since, state), 4)
        return Counter(self.engine.execute(rule.plain).fetchall())

    def _run(self, statement: str, condition: Bag | None = None) -> None:
        """Run a statement, as the next step of the transaction."""
        for table, rows in self.state.items():
            self._put(table, rows.elements())
        if condition is not None:
            self._put("condition", condition.elements())
        self.engine.execute(statement.replace("SIGNAL e", "INSERT INTO e"))
        self.state = {t: Counter(self.engine.execute(f"SELECT * FROM {t}").fetchall()) for t in self.state}
        self.steps.append(self.state)

    def happened(self, rule: PlainRule, start: int) -> bool:
        """Whether the event of a rule ends in the open transaction, after a step of it."""
        assert rule.event is not None
        here = self._instant(len(self.commits))

        def times(local: PlainEvent) -> list[int]:
            return self._committed(local) + ([here] if self._in_steps(local, 0) else [])

        found = happenings(rule.event, rule.context, times, here)
        return any(
            local.is_local and at == here and self._in_steps(local, start)
            for each in found
            if each.end == here
            for local, at in each.parts
        )

    def _in_steps(self, local: PlainEvent, start: int) -> bool:
        """Whether an event of one transaction ends in the open one, after a step of it."""
        last = len(self.steps) - 1

        def find(leaf: PlainEvent, stepwise: bool) -> list[Moment]:
            bounds = list(range(last + 1)) if stepwise else sorted({0, start, last})
            return [(0, b) for a, b in pairwise(bounds) if leaf.is_in(self.steps[a], self.steps[b])]

        return any(end[1] > start for _, end in spans(local, find))

    def _instant(self, number: int) -> int:
        """The instant of a transaction, in microseconds; all are different."""
        time = self.commits[number].time if number < len(self.commits) else self.clock
        return time * SECOND + number

    def _committed(self, local: PlainEvent) -> list[int]:
        """The instants of the commits in which an event of one transaction happened."""

        def find(leaf: PlainEvent, _: bool) -> list[Moment]:
            return [(n, 0) for n, commit in enumerate(self.commits) if leaf.is_in(commit.before, commit.after)]

        return sorted({self._instant(end[0]) for _, end in spans(local, find)})

    def triggered(self, rule: PlainRule, start: int) -> Bag:
        """The instances of a rule since a step of the open transaction."""
        if rule.event is not None and not self.happened(rule, start):
            return Counter()
        return self.instances(rule, self.steps[start], self.state)

    def instances(self, rule: PlainRule, before: State, now: State) -> Bag:
        """The instances of a rule between two states."""
        since = before
        if rule.asks:
            return Counter(self._holding(rule, now, since).values())
        if rule.parameter and not rule.initial:
            before = before | {rule.activations: now[rule.activations]}
        held, holds = self._holding(rule, before), self._holding(rule, now, since)
        if rule.when == "changed":
            return changed(rule, held, holds)
        if rule.when == "gone":
            return Counter(held[instance] for instance in held.keys() - holds.keys())
        touched = set[Any]()
        if rule.nervous:
            without = self._holding(rule, {t: before[t] & now[t] for t in now})
            touched = {instance for instance, row in holds.items() if without.get(instance) != row}
        return Counter(holds[instance] for instance in (holds.keys() - held.keys()) | touched)

    def _holding(self, rule: PlainRule, state: State, since: State | None = None) -> Holding:
        """The instances that hold, each with its row: of several with the same key the first, NULL before numbers.

        Changes are those since another state; without one there are none.
        """
        holding: Holding = {}
        for row in sorted(self._rows(rule, state, since), key=lambda row: [(v is not None, v) for v in row]):
            holding.setdefault(rule.instance(row), row)
        return holding

    # transactions

    def transaction(
        self, statements: list[str], depth: int = 0, action: PlainFiring | None = None, *, commits: bool = True
    ) -> bool:
        """Run statements, or an action, and the rules that they trigger; whether it was committed."""
        begun, later = self.state, list[PlainFiring]()
        self.steps = [begun]
        try:
            self._transaction(statements, depth, action, later, commits)
        except Refused:
            self.state = begun
            self.firings += [f for f in later if f.rule.action == "detached independent"]
            return False
        self.firings += later
        self.commits.append(Commit(begun, self.state, self.clock, depth))
        self.state = self.state | {SIGNALS: Counter()}
        return True

    def _transaction(
        self,
        statements: list[str],
        depth: int,
        action: PlainFiring | None,
        later: list[PlainFiring],
        commits: bool,
    ) -> None:
        path, queued = [0], dict[str, Bag]()

        def run(rule: PlainRule, rows: Bag) -> None:
            path[0] += 1
            if path[0] > self.bound or rule.statement is None:
                raise Refused
            self._run(rule.statement, rows)
            later.append(PlainFiring(rule, rows, depth, waits=False))

        def immediately(start: int) -> None:
            self._settle(self._of("immediate", "immediate"), start, run, lambda _: None)
            for rule in self._of("immediate", "deferred", *DETACHED):
                rows = self.triggered(rule, start)
                if rows and rule.action == "deferred":
                    queued[rule.name] = queued.get(rule.name, Counter()) + rows
                elif rows:
                    later.append(PlainFiring(rule, rows, depth, waits=True))

        if action is not None:
            assert action.rule.statement is not None
            self._run(action.rule.statement, action.rows)
            immediately(0)
        for statement in statements:
            start = len(self.steps) - 1
            self._run(statement)
            immediately(start)
        if not commits:
            raise Refused
        deferred = sorted(self._of("deferred", "deferred") + self._of("immediate", "deferred"), key=_order)
        self._settle(deferred, 0, run, immediately, queued)
        for rule in self._of("deferred", *DETACHED):
            rows = self.triggered(rule, 0)
            if rows:
                later.append(PlainFiring(rule, rows, depth, waits=True))

    def _of(self, condition: str, *actions: str) -> list[PlainRule]:
        return sorted((r for r in self.rules if r.condition == condition and r.action in actions), key=_order)

    def _settle(
        self,
        rules: list[PlainRule],
        begun: int,
        run: Callable[[PlainRule, Bag], None],
        after: Callable[[int], None],
        queued: dict[str, Bag] | None = None,
    ) -> None:
        marks: dict[str, tuple[int, int]] = {}
        while True:
            chosen = None
            for rule in rules:
                if queued and rule.name in queued:
                    chosen = rule, queued.pop(rule.name)
                elif queued is not None and rule.condition == "immediate":
                    continue
                else:
                    rows: Holding = {}
                    for since in marks.get(rule.name, (begun,)):
                        rows = {rule.instance(row): row for row in self.triggered(rule, since)} | rows
                    chosen = (rule, Bag(rows.values())) if rows else None
                if chosen is not None:
                    break
            if chosen is None:
                return
            start = len(self.steps) - 1
            run(*chosen)
            marks[chosen[0].name] = start, len(self.steps) - 1
            after(start)

    # after commits

    def advance(self) -> None:
        """Judge what is judged after commits, and run what waits, until nothing is left."""
        while self._judge() | self._act():
            pass

    def _judge(self) -> bool:
        fired = False
        for rule in self._of("detached", "immediate", *DETACHED):
            ends = None
            if rule.event is not None:
                last = self._instant(len(self.commits) - 1) if self.commits else 0
                ends = {each.end for each in happenings(rule.event, rule.context, self._committed, last)}
            for n in range(self.judged.get(rule.name, 0), len(self.commits)):
                commit = self.commits[n]
                rows = (
                    self.instances(rule, commit.before, commit.after)
                    if ends is None or self._instant(n) in ends
                    else Bag()
                )
                firing = PlainFiring(rule, rows, commit.depth, waits=rule.action != "immediate")
                if rows and not self._took(firing):
                    break
                fired |= bool(rows)
                self.judged[rule.name] = n + 1
        return fired

    def _took(self, firing: PlainFiring) -> bool:
        """Record a firing; with its action, if that is of the same transaction."""
        if firing.waits:
            self.firings.append(firing)
            return True
        before = len(self.firings)
        if firing.depth >= self.bound or not self.transaction([], firing.depth + 1, firing):
            return False
        self.firings.insert(before, firing)
        return True

    def _act(self) -> bool:
        waiting = [n for n, firing in enumerate(self.firings) if firing.waits]
        for n in waiting:
            firing = self.firings[n]
            self.firings[n] = replace(firing, waits=False)
            if firing.depth < self.bound:
                self.transaction([], firing.depth + 1, firing)
        return bool(waiting)


DETACHED = ("detached", "detached independent")


def _order(rule: PlainRule) -> tuple[int, int]:
    return -rule.priority, rule.age


def pairs(went: Bag, came: Bag, by: Callable[[tuple[Any, ...]], Any]) -> list[tuple[Any, Any]]:
    """Rows that went, each paired with the row that came in its place."""
    found: list[tuple[Any, Any]] = []
    for key in {by(row) for row in (*went, *came)}:
        old, new = (sorted((r for r in bag.elements() if by(r) == key), key=repr) for bag in (went, came))
        found += zip_longest(old, new)
    return found


def changed(rule: PlainRule, held: Holding, holds: Holding) -> Bag:
    """What became of instances; by key with the values there are now, and those that were there before."""
    found = Bag()
    for instance in held.keys() | holds.keys():
        old, new = held.get(instance), holds.get(instance)
        if old != new:
            there, mark = (new, "changed" if old else "came") if new else (old, "went")
            assert there is not None
            before = (old[1] if old and new else None,) if rule.key else ()
            found[(*there, mark, *before)] += 1
    return found
