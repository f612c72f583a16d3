"""Opens databases: what a user chooses becomes an engine, a storage and settings, and these a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from tidings.clock import Clock, SystemClock
from tidings.database import Database
from tidings.deliver.deliveries import DeliverySettings
from tidings.engine.backends import backend_named
from tidings.engine.memory import MemoryBudget
from tidings.engine.recursion.fixpoint import MAX_ROUNDS
from tidings.errors import InvalidArgument, UnknownExecution, UnknownStrategy
from tidings.errors.arguments import checked, refuse
from tidings.front.assembly import Settings, assemble, open_storage
from tidings.front.choices import Engine, Execution, StrategyChoice
from tidings.running_statements import timeout_of
from tidings.store.catalog.backup import BackedUp, folder_of
from tidings.store.catalog.backup import restore as restored
from tidings.store.filesystem import SCRATCH, locate
from tidings.store.storage import Storage
from tidings.waves.strategy import Strategy

_STRATEGIES = {"auto": None, "differential": Strategy.DIFFERENTIAL, "recompute": Strategy.RECOMPUTE}


@checked
def restore(backup: str | Path, path: str | Path, *, catalog: str | None = None) -> BackedUp:
    """Make a database of what ``db.backup`` has copied, in a folder that is empty or not there.

    :param backup: The folder of the backup; nothing in it is changed.
    :param path: The folder of the database to be made, on this machine.
    :param catalog: The URL of an empty PostgreSQL database for the catalog; by default it is in the folder.
    """
    return restored(folder_of(backup), folder_of(path), catalog)


@checked
def open(
    path: str | Path | None = None,
    *,
    engine: Engine = "spark",
    spark: Any = None,
    clock: Clock | None = None,
    strategy: StrategyChoice = "auto",
    execution: Execution | None = None,
    catalog: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    memory: int | str | None = None,
    read_only: bool = False,
    retention: timedelta | None = timedelta(days=7),
    deliveries: DeliverySettings | None = None,
    cascade: int = 64,
    rounds: int = MAX_ROUNDS,
    timeout: float | None = None,
    max_clock_step: timedelta | None = timedelta(days=366),
) -> Database:
    """Open a database in a folder, made if it is not there; without a path, a new one in memory.

    A folder has one writer at a time and any number of readers.

    >>> db = open(engine="duckdb")
    >>> db.sql("CREATE TABLE stock (item INT PRIMARY KEY, qty INT); INSERT INTO stock VALUES (1, 90), (2, 40)")
    AffectedRows(inserted=2, updated=0, deleted=0)
    >>> db.query("SELECT item FROM stock WHERE qty < 50").rows()
    [{'item': 2}]
    >>> db.close()

    :param path: The folder of the database: a path of this machine, or a URL such as ``s3a://bucket/shop.tidings``.
        None for a database in memory, which ends with the process.
    :param engine: ``"spark"``, or ``"duckdb"`` for a database in this process alone.
    :param spark: The Spark session to work in; without one Tidings starts Spark in local mode.
    :param clock: Gives commit times: the machine's clock by default, or a :class:`tidings.ManualClock` to move by hand.
    :param strategy: How changes are found: ``"auto"`` chooses per view and batch, ``"differential"`` never recomputes,
        ``"recompute"`` always does, to compare.
    :param execution: Where the waves of a Spark database run: small ones in this process (``"auto"``, the default), or
        all on Spark (``"spark"``).
    :param catalog: The URL of a PostgreSQL database to hold the catalog; by default it is a SQLite file in the folder.
        A folder that is not on this machine needs one.
    :param storage_options: Options of Arrow's file system for a folder that is not on this machine, such as
        ``{"endpoint_override": "http://127.0.0.1:9000"}`` for S3; those of Spark's are settings of its session.
    :param memory: What this process may hold for the database, beside Spark: a number of bytes or a text such as
        ``"2GB"``; by default a quarter of the machine's memory.
    :param read_only: Open as a reader, which sees what the writer commits and changes nothing.
    :param retention: How long changes are retained: ``query(as_of=…)`` and ``changes(since=…)`` reach that far back.
        None retains them all.
    :param deliveries: What the channels of rules need to know: secrets, folders, servers.
    :param cascade: How many actions may follow each other from one transaction before rules are taken to trigger each
        other without end.
    :param rounds: After how many rounds a recursion that still derives new rows is refused with ``FixpointTooLong``.
    :param timeout: After how many seconds a call of ``sql``, ``query`` or ``changes`` is ended that does not say it
        itself, with ``StatementTimeout``; None sets no limit.
    :param max_clock_step: How far the clock may read after the latest instant that the database knows: a later reading
        is refused with ``ClockTooFarAhead`` until ``ACCEPT CLOCK`` says that it is true.  None takes every reading.
    """
    _require_known(strategy, execution)
    _require_usable(clock, deliveries)
    if path is None:
        _require_no_folder(catalog=catalog, storage_options=storage_options, read_only=read_only or None)
    seconds = timeout_of(timeout)
    folder = None if path is None else locate(path, storage_options)
    scratch = None if folder is None or read_only else folder / SCRATCH
    in_process = execution == "auto" or (execution is None and engine == "spark")
    budget = MemoryBudget.of(memory)
    share = None if memory is None else budget.engine(2 if in_process else 1)
    backend = backend_named(engine, spark, scratch, share, folder)
    storage = open_storage(backend, folder, catalog, budget, read_only=read_only)
    settings = Settings(
        clock=clock or SystemClock(),
        strategy=_STRATEGIES[strategy],
        in_process=in_process,
        retention=retention,
        deliveries=deliveries or DeliverySettings(),
        cascade=cascade,
        rounds=rounds,
        memory=budget,
        timeout=seconds,
        max_clock_step=max_clock_step,
    )
    return _assembled(storage, settings)


def _assembled(storage: Storage, settings: Settings) -> Database:
    """A database over its storage, which is closed if that does not succeed."""
    try:
        return Database(assemble(storage, settings))
    except BaseException:
        storage.close()
        raise


def _require_known(strategy: str, execution: str | None) -> None:
    """Refuse a strategy or an execution that is none."""
    if strategy not in _STRATEGIES:
        raise UnknownStrategy(name=strategy)
    if execution not in ("spark", "auto", None):
        raise UnknownExecution(name=execution)


def _require_usable(clock: object, deliveries: object) -> None:
    """Refuse what is no clock, and what are no settings."""
    if clock is not None and not callable(getattr(clock, "now", None)):
        refuse("clock of open()", ["an object with a method now()"], clock)
    if not isinstance(deliveries, DeliverySettings | None):
        refuse("deliveries of open()", ["tidings.DeliverySettings"], deliveries)


def _require_no_folder(**settings: object) -> None:
    """Refuse settings of a folder where there is none."""
    for name, setting in settings.items():
        if setting is not None:
            raise InvalidArgument(name=f"{name} of open()", expected="given with a path", value="no path")
