"""A process that has a database open and does what it is told, until it is told to end or is killed.

It is given commands through a pipe and answers each: what came out, or how it was refused.  It knows nothing of what
must be so; :mod:`tests.soak.life` does.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import resource
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import tidings
from tidings.deliver.deliveries import DeliverySettings
from tidings.errors import InternalError, MustRefetch, TidingsError
from tidings.retry_policy import RetryPolicy

for _module in pkgutil.walk_packages(tidings.__path__, "tidings."):
    if not _module.name.startswith(("tidings.engine.spark", "tidings.demo", "tidings.amosql")):
        importlib.import_module(_module.name)  # once, in the process that the others are forked from
for _name in ("sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql", "pyarrow.parquet", "duckdb"):
    importlib.import_module(_name)

RETENTION = timedelta(minutes=5)
NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Place:
    """A database: its folder, its catalog if that is elsewhere, and the folder its rules write files to."""

    folder: Path
    told: Path
    catalog: str | None = None
    runs: bool = False
    """Whether threads of the database do what there is to do after commits."""
    engine: Literal["duckdb", "spark"] = "duckdb"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command came to."""

    value: Any = None
    error: str | None = None
    """The condition it was refused with."""
    expected: bool = True
    """Whether that is a condition that users are promised, and not a mistake of ours."""
    shown: str = ""
    seconds: float = 0.0
    """How long it took."""
    cpu: float = 0.0
    """How long the thread computed for it."""


@dataclass(slots=True)
class Child:
    """One open database and the commands it knows."""

    pipe: Connection
    place: Place
    clock: tidings.ManualClock = field(default_factory=lambda: tidings.ManualClock(1))
    db: tidings.Database = field(init=False)
    _fsync: Callable[[int], None] = field(init=False, default=os.fsync)

    def open(self, now: int, read_only: bool = False) -> int:
        """Open the database; the last commit it knows."""
        self.clock = tidings.ManualClock(now)
        settings = DeliverySettings(files=self.place.told, policy=RetryPolicy(first=100_000, longest=1_000_000))
        self.db = tidings.open(
            self.place.folder,
            engine=self.place.engine,
            execution="spark" if self.place.engine == "spark" else None,
            clock=self.clock,
            catalog=self.place.catalog,
            retention=RETENTION,
            deliveries=settings,
            read_only=read_only,
        )
        if self.place.runs and not read_only:
            self.db.start()
            self.db.deliveries.start()
        return self.db.time

    def reopen(self, now: int) -> int:
        """Close and open again."""
        self.close()
        return self.open(now)

    def close(self) -> None:
        with suppress(TidingsError):  # of a database that is in doubt, or whose disk is full
            self.db.close()

    def run(self, now: int, number: int, statements: list[str]) -> int:
        """Run statements in one transaction, which says its number in ``done``; its time."""
        self.clock.set(now)
        with self.db.transaction() as tx:
            for statement in statements:
                tx.sql(statement)
            tx.sql(f"UPDATE done SET n = {number}")
        assert tx.time is not None
        return tx.time

    def set(self, now: int) -> None:
        self.clock.set(now)

    def define(self, now: int, text: str) -> None:
        self.clock.set(now)
        self.db.sql(text)

    def advance(self) -> int:
        """Do all there is to do after commits, and deliver what is due."""
        self.db.advance()
        while self.db.deliveries.step():
            pass
        return self.db.time

    def fold(self) -> int:
        return self.db.fold()

    def vacuum(self) -> int:
        return len(self.db.vacuum(timedelta(0)).files)

    def check(self) -> list[str]:
        """What the database finds wrong with itself."""
        return [str(finding) for finding in self.db.check()]

    def names(self) -> dict[str, list[str]]:
        """The columns of all relations by name, and the names of rules, which have none."""
        rules: dict[str, list[str]] = {f"rule {row['name']}": [] for row in self.db.rules().rows()}
        parts = self.db._parts.relations
        known = ((name, parts.find(name)) for name in parts.names())
        columns = {name: [c.name for c in relation.columns] for name, relation in known if relation is not None}
        return columns | rules

    def ask(self, names: list[str]) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of relations."""
        return {name: [tuple(r.values()) for r in self.db.query(f"SELECT * FROM {name}").rows()] for name in names}

    def present(self) -> int:
        """The instant that answers are of."""
        return self.db._parts.timeline.now()  # after a kill that may be later than the clock

    def news(self, view: str) -> str:
        """Send the changes of a view, each batch until it is acknowledged; how it ended."""
        try:
            for batch in self.db.subscribe(view, name="follower"):
                changes = [(tuple(c.row.values()), c.weight) for c in batch.changes.rows()]
                self.pipe.send((batch.time, batch.snapshot, changes))
                self.pipe.recv()
                batch.ack()
        except MustRefetch:
            self.db.unsubscribe("follower")
            return "refetch"
        return "end"

    # faults

    def limit(self, size: int | None) -> None:
        """Let no file be larger than a size: a full disk."""
        soft = resource.RLIM_INFINITY if size is None else size
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

    def slow(self, seconds: float) -> None:
        """Let every sync take longer."""

        def fsync(handle: int) -> None:
            time.sleep(seconds)
            self._fsync(handle)

        os.fsync = fsync if seconds else self._fsync  # type: ignore[assignment]

    def stop_spark(self, kill: bool) -> None:
        """Stop the session of Spark, or kill its JVM."""
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        if kill:
            assert session.sparkContext._gateway is not None
            session.sparkContext._gateway.proc.kill()
        else:
            session.stop()

    def forbid(self, forbidden: bool) -> None:
        """Let nothing be made in the folder: by the rights of nobody, whom root can be for a while."""
        if os.getuid() == 0:
            os.seteuid(NOBODY if forbidden else 0)
        else:
            for folder, _, _ in os.walk(self.place.folder):
                Path(folder).chmod(0o555 if forbidden else 0o755)

    def warm(self) -> None:
        """Import what is imported when it is first used: nobody may not be allowed to."""
        self.db.sql("CREATE TABLE warm (k INT, x STRING); INSERT INTO warm VALUES (1, 'a')")
        with self.db.transaction() as tx:
            tx.insert("warm", [(n, str(n)) for n in range(10_000)])
        self.db.advance()
        self.db.fold()
        self.db.vacuum(timedelta(0))
        self.db.check()
        self.db.sql("DROP TABLE warm")

    def answer(self, name: str, arguments: tuple[Any, ...]) -> Answer:
        """Do one thing."""
        begun, cpu = time.perf_counter(), time.thread_time()
        try:
            value = getattr(self, name)(*arguments)
        except Exception as error:
            expected = isinstance(error, TidingsError) and not isinstance(error, InternalError)
            shown = traceback.format_exc()
            return Answer(None, type(error).__name__, expected, shown, time.perf_counter() - begun)
        return Answer(value, seconds=time.perf_counter() - begun, cpu=time.thread_time() - cpu)


def live(pipe: Connection, place: Place) -> None:
    """Answer commands until there are no more."""
    tempfile.gettempdir()  # found by writing a file, while that can be done
    if place.engine == "spark":
        os.environ |= {"TIDINGS_SPARK_MASTER": "local[1]", "TIDINGS_SPARK_MEMORY": "1g"}
    child = Child(pipe, place)
    while True:
        try:
            name, *arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(child.answer(name, tuple(arguments)))
        if name == "close":
            return
