"""A random life of one database, and the proof that it is as the model says after every step.

A life does one thing at a time: it tells the child what to do, and tells the model when the child has done it.  Where a
child dies on the way, it looks what the next one finds: the step as a whole, or nothing of it.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

from tests.soak import child
from tests.soak.child import Answer, Place
from tests.soak.model import (
    COLUMNS,
    TABLES,
    VIEWS,
    Bag,
    Model,
    Refused,
    definitions,
    plain_rows,
    random_columns,
    random_condition,
    random_query,
)

SECOND = 1_000_000
BEGIN = 1_767_225_600 * SECOND


class Killed(Exception):
    """The child is dead."""


class Wrong(Exception):
    """Something is not as it must be."""


@dataclass(slots=True)
class Life:
    """One database, the process that has it, and the model."""

    name: str
    place: Place
    rng: Random
    context: ForkServerContext
    kills: float = 0.0
    """How probably a child is killed while it does something."""
    disturbed: bool = False
    """Whether a fault is under way: then whatever users are promised may be refused."""
    now: int = BEGIN
    model: Model = field(default_factory=Model)
    counts: Counter[str] = field(default_factory=Counter)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """Of transactions since somebody looked: seconds, and seconds computed."""
    last: list[str] = field(default_factory=list)
    process: Any = None
    _pipe: Any = None
    _made: int = 0
    _held: Bag = field(default_factory=Counter)
    """What the subscriber has."""
    _position: int | None = None
    _told: dict[int, set[str]] = field(default_factory=dict)
    """The ids of messages, by order."""
    _read: int = 0
    _settled: int = 0
    """Orders up to this one are booked."""
    _pending: tuple[int, list[str]] | Callable[[dict[str, list[str]]], None] | None = None
    """What was begun and not acknowledged: a transaction, or what makes the model follow a definition."""
    _usual: float = 0.02
    """How many seconds a transaction takes, about."""
    in_doubt: bool = False
    """Whether the database has to be opened again before it goes on."""

    # the child

    def begin(self) -> None:
        """Make the database."""
        self.place.told.mkdir(parents=True)
        self.spawn()
        for text in definitions():
            self.must("define", self.tick(), text)

    def spawn(self) -> None:
        """Start a process and open the database."""
        self._pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=child.live, args=(theirs, self.place), daemon=True)
        self.process.start()
        theirs.close()
        self.must("open", self.now)
        self.counts["openings"] += 1

    def tell(self, *command: Any) -> Answer:
        """Have the child do something."""
        self.last = [*self.last[-30:], repr(command)[:400]]
        try:
            self._pipe.send(command)
            while not isinstance(found := self._pipe.recv(), Answer):
                self._take(*found)
                self._pipe.send("taken")
        except (EOFError, ConnectionError) as error:
            raise Killed from error
        if not found.expected:
            raise Wrong(f"{command[0]} ended with {found.error}:\n{found.shown}")
        return found

    def must(self, *command: Any) -> Any:
        """Have the child do something that cannot be refused."""
        found = self.tell(*command)
        if found.error is not None:
            raise Wrong(f"{command[0]} was refused:\n{found.shown}")
        return found.value

    def kill_soon(self) -> None:
        """Kill the child in a moment, while it does what it does next or a little later."""
        Timer(1.3 * self._usual * self.rng.random(), self.process.kill).start()

    def end(self) -> None:
        """End the child in peace."""
        with suppress(Killed):
            self.tell("close")
        self.process.join(20)

    def tick(self) -> int:
        """Let time pass."""
        self.now += self.rng.choice([1_000, 50_000, 200_000, 500_000])
        return self.now

    # steps

    def step(self) -> None:
        """Do one thing, mostly a transaction, and survive being killed meanwhile."""
        if self.in_doubt:
            time.sleep(0.1)
            return
        if not self.disturbed and self.rng.random() < self.kills:
            self.kill_soon()
        attempt = self._transaction
        if self.rng.random() < 0.15:
            attempt = self.rng.choice([self._definition, self._advance, self._news, self._look, self._prune])
        if self.rng.random() < 0.002:
            attempt = self.rng.choice([self._fold, self._vacuum, self._jump, self._reopen, self._verify])
        self.attempt(attempt)

    def killed_step(self) -> None:
        """Do things of all kinds until the child has died of it."""
        kills = self.counts["kills"]
        self.kill_soon()
        often, seldom = [self._transaction] * 5, [self._fold, self._vacuum, self._reopen]
        kinds = [*often, *seldom, self._definition, self._definition, self._advance, self._news, self._prune]
        while self.counts["kills"] == kills:
            self.attempt(self.rng.choice(kinds))

    def attempt(self, attempt: Callable[[], None]) -> None:
        """Try something; whoever is killed meanwhile is raised again, and everything is looked at."""
        try:
            attempt()
        except Killed:
            self.counts["kills"] += 1
            self.counts[f"killed: {attempt.__name__.strip('_')}"] += 1
            self.process.join(20)
            self.spawn()
            self.attempt(self._after)

    def _after(self) -> None:
        """Where a child died, the step that was under way is there as a whole or not at all."""
        self.resolve()
        self._advance()
        self._look_at(list(self.model.tables) + list(self.model.views))
        self._news()

    def resolve(self) -> None:
        """Let the model have what was under way, if it is there."""
        pending, self._pending = self._pending, None
        if callable(pending):
            pending(self.must("names"))
            return
        ((number,),) = self.must("ask", ["done"])["done"]
        if pending is not None:
            self.counts["killed and done" if number == pending[0] else "killed and not done"] += 1
        if pending is not None and number == pending[0]:
            self._apply(*pending)
        if number != self.model.number:
            raise Wrong(f"transaction {self.model.number} was acknowledged, {number} is there")

    def _apply(self, number: int, statements: list[str]) -> None:
        try:
            self.model.run(number, statements)
        except Refused:
            raise Wrong(f"{number} breaks a key and was taken: {statements}") from None
        self.counts["transactions"] += 1

    def _run(self, statements: list[str]) -> None:
        number = self.model.number + 1
        self._pending = number, statements
        found = self.tell("run", self.tick(), number, statements)
        if found.error is None:
            self._pending = None
            self._apply(number, statements)
            self.latencies.append((found.seconds, found.cpu))
            self._usual += (found.seconds - self._usual) / 10
        elif found.error == "DuplicateKey":
            self._pending = None
            try:
                self.model.run(number, statements)
            except Refused:
                self.counts["refused"] += 1
            else:
                raise Wrong(f"{number} breaks no key and was refused: {statements}\n{found.shown}")
        else:
            self._refused(found)

    def _refused(self, found: Answer) -> None:
        """Whatever a fault makes impossible is refused as a whole; who is in doubt is opened again."""
        if not self.disturbed:
            raise Wrong(f"refused without a fault:\n{found.shown}")
        self.counts["refused in a fault"] += 1
        self.in_doubt = found.error == "DatabaseInDoubt"

    def healed(self) -> None:
        """A fault is over: everything is as if it had not been."""
        self.disturbed = False
        if self.in_doubt:
            self.must("reopen", self.now)
            self.counts["reopenings"] += 1
        self.in_doubt = False
        self.now += 30 * SECOND  # what was tried in vain is due again
        self.must("set", self.now)
        self.attempt(self._after)

    def _transaction(self) -> None:
        id = self.model.number + 1
        statements = [self._statement() for _ in range(self.rng.choice([1, 1, 1, 2, 4]))]
        if self.rng.random() < 0.5:
            statements.append(f"INSERT INTO orders VALUES ({id})")
        self._run(statements)

    def _statement(self) -> str:
        k, x = self.rng.randint(0, 29), self.rng.choice(["NULL", *map(str, range(0, 100, 3))])
        own = [name for name in self.model.tables if name not in TABLES]
        table = self.rng.choice(["t", "t", *own])
        columns = "(k, x)"
        seconds = (self.now // SECOND + self.rng.randint(1, 60)) * SECOND
        until = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds // SECOND))
        return self.rng.choice(
            [
                *[f"INSERT INTO {table} {columns} VALUES ({k}, {x}), ({(k + 1) % 30}, {x})"] * 2,
                f"INSERT INTO {table} {columns} VALUES (NULL, {x})",
                *[f"DELETE FROM {table} WHERE k IN ({k}, {(k + 7) % 30})"] * 2,
                f"DELETE FROM {table} WHERE k IS NULL",
                f"UPDATE {table} SET x = COALESCE(x, 0) + 1 WHERE k = {k} AND COALESCE(x, 0) < 1000000",
                f"UPDATE {table} SET x = {x} WHERE k IN ({k}, {(k + 3) % 30})",
                f"INSERT INTO u SELECT {k}, {x} WHERE NOT EXISTS (SELECT 1 FROM u WHERE k = {k})",
                f"DELETE FROM u WHERE k = {k}",
                f"UPDATE u SET y = {x} WHERE k = {k}",
                f"INSERT INTO visits VALUES ({k}, TIMESTAMP '{until}')",
                f"DELETE FROM visits WHERE k = {k}",
                *([f"INSERT INTO u VALUES ({k}, {x})"] if self.rng.random() < 0.2 else []),
            ]
        )

    def _definition(self) -> None:
        own = [name for name in self.model.tables if name not in TABLES]
        views = [name for name in self.model.views if name not in VIEWS]
        self._made += 1
        readers = [*self.model.views.values(), *self.model.rules.values()]
        read = {name for query in readers for name in own if f" {name} " in f"{query} "}
        rules = [name for name in self.model.rules if name != "big"]
        choices = [("drop view", name) for name in views] + [("drop table", n) for n in own if n not in read]
        choices += [("drop rule", name) for name in rules]
        if len(rules) < 3:
            choices += [("rule", f"noted{self._made}")] * 2
        if len(own) < 3:
            choices += [("table", f"own{self._made}")] * 3
        if len(views) < 5:
            choices += [("view", f"seen{self._made}")] * 3
        choices += [("column", name) for name in own]
        kind, name = self.rng.choice(choices)
        text, change = self._change(kind, name, own)
        self._pending = change
        found = self.tell("define", self.tick(), text)
        if found.error is None:
            change(self.must("names"))
            self._pending = None
            self.counts["definitions"] += 1
        else:
            self._refused(found)

    def _change(self, kind: str, name: str, own: list[str]) -> tuple[str, Callable[[dict[str, list[str]]], None]]:
        """A statement, and what makes the model follow it if the database has."""
        model, column = self.model, f"c{self._made}"
        query = random_query(self.rng, ["t", *own])
        condition, columns = random_condition(self.rng, ["t", *own]), random_columns(self.rng, self._made)
        type = self.rng.choice(COLUMNS)
        form = self.rng.choice(["VIEW", "MATERIALIZED VIEW"])

        def follow(names: dict[str, list[str]]) -> None:
            there = name in names
            if kind == "table" and there:
                model.tables[name] = columns
                model.plain.execute(f"CREATE TABLE {name} ({columns})")
            elif kind == "view" and there:
                model.views[name] = query
            elif kind == "drop table" and not there:
                model.plain.execute(f"DROP TABLE {name}")
                del model.tables[name]
            elif kind == "drop view" and not there:
                del model.views[name]
            elif kind == "rule" and f"rule {name}" in names:
                model.rules[name] = condition
            elif kind == "drop rule" and f"rule {name}" not in names:
                del model.rules[name]
            elif kind == "column" and column in names[name]:
                model.plain.execute(f"ALTER TABLE {name} ADD COLUMN {column} {type}")

        texts = {
            "table": f"CREATE TABLE {name} ({columns})",
            "rule": f"CREATE RULE {name} WHEN {condition} DO INSERT INTO audit SELECT k, x FROM condition "
            "WITH (action = 'deferred')",
            "drop rule": f"DROP RULE {name}",
            "view": f"CREATE {form} {name} AS {query}",
            "drop table": f"DROP TABLE {name}",
            "drop view": f"DROP VIEW {name}",
            "column": f"ALTER TABLE {name} ADD COLUMN {column} {type}",
        }
        return texts[kind], follow

    # upkeep

    def _do(self, *command: Any) -> Any:
        found = self.tell(*command)
        if found.error is not None:
            self._refused(found)
        return found.value

    def _advance(self) -> None:
        if self.disturbed:
            self._do("advance")
            return
        ids = self.model.orders()
        self.must("advance")
        self.model.settle()
        self._settled = max(ids, default=self._settled)

    def _fold(self) -> None:
        self._do("fold")
        self.counts["folds"] += 1

    def _vacuum(self) -> None:
        self._do("vacuum")
        self.counts["vacuums"] += 1

    def _jump(self) -> None:
        """A step of the clock: forwards or backwards."""
        self.now += self.rng.choice([3600, 60, -60, -600]) * SECOND
        self.counts["clock steps"] += 1

    def _reopen(self) -> None:
        if not self.disturbed:
            self.must("reopen", self.now)
            self.counts["reopenings"] += 1

    def _verify(self) -> None:
        if not self.disturbed:
            findings = self.must("check")
            if findings:
                raise Wrong(f"the database finds {findings}")
            self.counts["checks of all files"] += 1

    def _prune(self) -> None:
        """Remove orders that are booked, so that tables do not grow."""
        if self.disturbed:
            return
        self._advance()
        upto = self._settled - 200
        for id in [id for id in self._told if id < upto - 2000]:
            del self._told[id]
        self._run([f"DELETE FROM {n} WHERE id <= {upto}" for n in ("orders", "booked")] + ["DELETE FROM audit"])

    # what must be so

    def _look(self) -> None:
        names = [*self.model.tables, *self.model.views]
        self._look_at(self.rng.sample(names, k=min(5, len(names))))

    def _look_at(self, names: list[str]) -> None:
        if self.disturbed:
            return
        if {"booked"} & {*names}:
            self._advance()
            self._look_at_messages()
        present, answers = self.must("present"), self.must("ask", names)
        for name, rows in answers.items():
            want, have = self.model.rows(name, present), plain_rows(rows)
            if name == "present" and self.must("present") != present:
                continue
            if have != want:
                raise Wrong(f"{name} has {have - want} too much, {want - have} too little")
        self.counts["answers compared"] += len(answers)

    def _look_at_messages(self) -> None:
        """Every order that is to be told is told, under one id."""
        ids, deadline = [id for id in self.model.orders() if id % 5 == 0], time.monotonic() + 60
        while True:
            self._read_messages()
            missing = [id for id in ids if id not in self._told]
            if not missing:
                return
            if time.monotonic() > deadline:
                raise Wrong(f"orders {missing} were not told")
            self.now += 10 * SECOND  # an attempt that a kill has cut off is made again after a while
            self.must("set", self.now)
            self.must("advance")
            time.sleep(0.05)

    def _read_messages(self) -> None:
        path = self.place.told / "told.jsonl"
        if not path.exists():
            return
        with path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                try:
                    message = json.loads(line)
                except ValueError:
                    continue  # what a crash left unfinished
                for row in message["data"]["rows"]:
                    ids = self._told.setdefault(row["id"], set())
                    ids.add(message["id"])
                    if len(ids) > 1:
                        raise Wrong(f"order {row['id']} was told under {ids}")
                self.counts["messages"] += 1

    def _news(self) -> None:
        if self.disturbed:
            return
        how = self.must("news", "totals")
        if how == "refetch":
            self.counts["refetches"] += 1
            self._held, self._position = Counter(), None
            self.must("news", "totals")
        want = self.model.rows("totals", self.now)
        if +self._held != want:
            raise Wrong(f"the subscriber has {self._held - want} too much, {want - self._held} too little")

    def _take(self, at: int, snapshot: bool, changes: list[tuple[tuple[Any, ...], int]]) -> None:
        """A batch of the subscription; one that comes once more has the same time."""
        if snapshot:
            self._held = Counter()
        elif self._position is not None and at <= self._position:
            self.counts["batches again"] += 1
            return
        for row, weight in changes:
            self._held[row] += weight
        self._held = Counter({row: n for row, n in self._held.items() if n})
        self._position = at
        self.counts["batches"] += 1

    # figures

    def memory(self) -> int:
        """Bytes of memory the child has."""
        try:
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def files(self) -> tuple[int, int]:
        """How many files there are, and how many bytes."""
        sizes = []
        for folder, _, names in os.walk(self.place.folder):
            for name in names:
                try:
                    sizes.append((Path(folder) / name).stat().st_size)
                except OSError:
                    continue
        return len(sizes), sum(sizes)
