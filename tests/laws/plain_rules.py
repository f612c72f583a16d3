"""Rules, interpreted plainly: every condition is evaluated from scratch, before and after, on a plain DuckDB.

A state is all rows of all tables.  Nothing here is incremental, and nothing is shared with what it checks but the texts
of queries and statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import duckdb

Row = tuple[Any, ...]
Bag = Counter[Row]
State = dict[str, Bag]

TABLES = ("a", "b")


class Refused(Exception):
    """A rule refuses the transaction, or a cascade has no end."""


@dataclass(frozen=True, slots=True)
class PlainRule:
    """A rule as it is written; ``statement`` is None where it refuses."""

    name: str
    age: int
    event: tuple[Literal["insert", "delete", "update"], str] | None
    when: Literal["begins", "gone", "changed"]
    query: str
    statement: str | None
    priority: int
    nervous: bool
    key: bool
    condition: str
    action: str

    @property
    def text(self) -> str:
        """The statement that makes it."""
        words = {"insert": "INSERT INTO", "delete": "DELETE FROM", "update": "UPDATE OF"}
        on = f"ON {words[self.event[0]]} {self.event[1]} " if self.event else ""
        when = {"begins": "WHEN", "gone": "WHEN GONE", "changed": "WHEN CHANGED"}[self.when]
        do = self.statement or "RAISE 'no'"
        semantics = "nervous" if self.nervous else "strict"
        return (
            f"CREATE RULE {self.name} {on}{when} {self.query} DO {do} WITH (priority = {self.priority},"
            f" semantics = '{semantics}', condition = '{self.condition}', action = '{self.action}'"
            f"{', key = k' if self.key else ''})"
        )


@dataclass(frozen=True, slots=True)
class PlainFiring:
    """A rule fired, for some rows."""

    rule: PlainRule
    rows: Bag
    depth: int
    waits: bool


@dataclass(slots=True)
class Plain:
    """A database with rules."""

    rules: list[PlainRule]
    bound: int
    state: State = field(default_factory=lambda: {t: Counter() for t in TABLES})
    firings: list[PlainFiring] = field(default_factory=list)
    commits: list[State] = field(default_factory=list)
    judged: dict[str, int] = field(default_factory=dict)
    engine: Any = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        self.commits.append(dict(self.state))
        self.engine.execute("SET threads = 1")
        for table in (*TABLES, "condition"):
            self.engine.execute(f"CREATE TABLE {table} (k INT, v INT)")

    # evaluating

    def _put(self, table: str, rows: Bag) -> None:
        self.engine.execute(f"DELETE FROM {table}")
        listed = [row[:2] for row in rows.elements()]
        if listed:
            self.engine.executemany(f"INSERT INTO {table} VALUES (?, ?)", listed)

    def _load(self, state: State) -> None:
        for table in TABLES:
            self._put(table, state[table])

    def _rows(self, query: str, state: State) -> Bag:
        self._load(state)
        return Counter(self.engine.execute(query).fetchall())

    def _run(self, statement: str, condition: Bag | None = None) -> None:
        self._load(self.state)
        if condition is not None:
            self._put("condition", condition)
        self.engine.execute(statement)
        self.state = {t: Counter(self.engine.execute(f"SELECT k, v FROM {t}").fetchall()) for t in TABLES}

    def triggered(self, rule: PlainRule, before: State) -> Bag:
        """The instances of a rule, now that there was another state before."""
        now = self.state
        if rule.event is not None:
            kind, table = rule.event
            came, went = now[table] - before[table], before[table] - now[table]
            if not {"insert": bool(came), "delete": bool(went), "update": bool(came and went)}[kind]:
                return Counter()
        held, holds = self._rows(rule.query, before), self._rows(rule.query, now)
        came, went = holds - held, held - holds
        if rule.when == "changed":
            return Counter({(*row, "came"): n for row, n in came.items()}) + Counter(
                {(*row, "went"): n for row, n in went.items()}
            )
        if rule.key:
            both = {row[0] for row in came} & {row[0] for row in went}
            came, went = (Counter({row: n for row, n in bag.items() if row[0] not in both}) for bag in (came, went))
        if rule.when == "gone":
            return went
        found = came
        if rule.nervous:
            common = {t: before[t] & now[t] for t in TABLES}
            found |= holds - self._rows(rule.query, common)
        return found

    # transactions

    def transaction(self, statements: list[str], depth: int = 0, action: PlainFiring | None = None) -> bool:
        """Run statements, or an action, and the rules that they trigger; whether it was committed."""
        begun, kept = self.state, len(self.firings)
        try:
            self._transaction(statements, depth, action)
        except Refused:
            self.state = begun
            del self.firings[kept:]
            return False
        self.commits.append(self.state)
        return True

    def _transaction(self, statements: list[str], depth: int, action: PlainFiring | None) -> None:
        begun, path, queued = self.state, [0], dict[str, Bag]()
        later: list[PlainFiring] = []

        def run(rule: PlainRule, rows: Bag) -> None:
            path[0] += 1
            if path[0] > self.bound or rule.statement is None:
                raise Refused
            self._run(rule.statement, rows)
            later.append(PlainFiring(rule, rows, depth, waits=False))

        def immediately(before: State) -> None:
            self._settle(self._of("immediate", "immediate"), before, run, lambda _: None)
            for rule in self._of("immediate", "deferred", "detached"):
                rows = self.triggered(rule, before)
                if rows and rule.action == "deferred":
                    queued[rule.name] = queued.get(rule.name, Counter()) + rows
                elif rows:
                    later.append(PlainFiring(rule, rows, depth, waits=True))

        if action is not None:
            assert action.rule.statement is not None
            self._run(action.rule.statement, action.rows)
            immediately(begun)
        for statement in statements:
            before = self.state
            self._run(statement)
            immediately(before)
        deferred = sorted(self._of("deferred", "deferred") + self._of("immediate", "deferred"), key=_order)
        self._settle(deferred, begun, run, immediately, queued)
        for rule in self._of("deferred", "detached"):
            rows = self.triggered(rule, begun)
            if rows:
                later.append(PlainFiring(rule, rows, depth, waits=True))
        self.firings += later

    def _of(self, condition: str, *actions: str) -> list[PlainRule]:
        return sorted((r for r in self.rules if r.condition == condition and r.action in actions), key=_order)

    def _settle(
        self,
        rules: list[PlainRule],
        begun: State,
        run: Callable[[PlainRule, Bag], None],
        after: Callable[[State], None],
        queued: dict[str, Bag] | None = None,
    ) -> None:
        marks: dict[str, tuple[State, State]] = {}
        while True:
            chosen = None
            for rule in rules:
                if queued and rule.name in queued:
                    chosen = rule, queued.pop(rule.name)
                elif queued is not None and rule.condition == "immediate":
                    continue
                else:
                    rows = Counter[Row]()
                    for since in marks.get(rule.name, (begun,)):
                        rows |= self.triggered(rule, since)
                    chosen = (rule, rows) if rows else None
                if chosen is not None:
                    break
            if chosen is None:
                return
            before = self.state
            run(*chosen)
            marks[chosen[0].name] = before, self.state
            after(before)

    # after commits

    def advance(self) -> None:
        """Judge what is judged after commits, and run what waits, until nothing is left."""
        while self._judge() | self._act():
            pass

    def _judge(self) -> bool:
        fired, present = False, self.state
        for rule in self._of("detached", "detached"):
            seen = self.judged.get(rule.name, 1)
            for before, after in zip(self.commits[seen - 1 :], self.commits[seen:], strict=False):
                self.state = after
                rows = self.triggered(replace(rule, nervous=False), before)
                if rows:
                    self.firings.append(PlainFiring(rule, rows, 0, waits=True))
                    fired = True
            self.judged[rule.name] = len(self.commits)
        self.state = present
        return fired

    def _act(self) -> bool:
        waiting = [n for n, firing in enumerate(self.firings) if firing.waits]
        for n in waiting:
            firing = self.firings[n]
            self.firings[n] = replace(firing, waits=False)
            if firing.depth < self.bound:
                self.transaction([], firing.depth + 1, firing)
        return bool(waiting)


def _order(rule: PlainRule) -> tuple[int, int]:
    return -rule.priority, rule.age
