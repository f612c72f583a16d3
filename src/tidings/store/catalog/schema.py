"""The catalog's tables, and the migrations from earlier versions of them.

Everything that must be atomic is one transaction over these tables.  Rows of users are in them only as small blobs;
large ones are in files that a row here names.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
    select,
    text,
)

from tidings.errors import CatalogFailed, CatalogTooNew, DatabaseMissing

VERSION = 5

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
"""One row per fact about the database: the version of these tables, the epoch of the present writer, and a number that
every transaction of the catalog raises, by which readers know that there is news; the ``id`` of the database; the
``branches`` of its history, as JSON; and notes that can be made again."""

relation = Table(
    "relation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)
"""Tables, views, stored views and the groupings stored for them; ``definition`` is JSON."""

committed = Table(
    "committed",
    metadata,
    Column("time", BigInteger, primary_key=True, autoincrement=False),
)
"""The commit times of transactions, as far back as nothing was folded; the last one is always there."""

entry = Table(
    "entry",
    metadata,
    Column("relation", Integer, ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("first", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("growth", BigInteger, nullable=False),
    Column("loses", Integer, nullable=False),
    Column("inline", LargeBinary),
    Column("file", Text),
    Column("layout", Integer, nullable=False, server_default="0"),
)
"""The log: what changed in a relation from a first instant to a last, inline as Arrow IPC or in a Parquet file.

A transaction has one instant; a load of history and a wave over many transactions have many, told apart by ``__t``.
``layout`` is the number of columns that had been dropped from the relation when the entry was written.
"""

base = Table(
    "base",
    metadata,
    Column("relation", Integer, ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("folder", Text, nullable=False),
    Column("forgotten", BigInteger, nullable=False),
    Column("sorted_by", Text, nullable=False),
    Column("layout", Integer, nullable=False, server_default="0"),
)
"""The newest snapshot of a relation: as of when, how many rows, and the instant to which the log still reaches back.

``layout`` is as in ``entry``.
"""

base_file = Table(
    "base_file",
    metadata,
    Column("relation", Integer, ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("file", Text, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("bounds", Text, nullable=False),
    Column("checksum", BigInteger),
)
"""The files of a snapshot, each with the least and greatest value of its sort key (JSON), and the CRC-32 of its bytes,
which files of earlier versions do not have."""

cursor = Table(
    "cursor",
    metadata,
    Column("relation", Integer, ForeignKey("relation.id", ondelete="CASCADE"), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("error", Text),
)
"""From when to when the rows of stored views reach; ``error`` says why one stays where it is."""

subscription = Table(
    "subscription",
    metadata,
    Column("name", Text, primary_key=True),
    Column("query", Text, nullable=False),
    Column("position", BigInteger),
)
"""Named subscriptions: what they follow, and the instant up to which they have it; NULL before their first snapshot."""

began = Table(
    "began",
    metadata,
    Column("name", Text, primary_key=True),
    Column("time", BigInteger, nullable=False),
)
"""Names that have come to mean something else, and since when: positions before that are of no use."""

litter = Table(
    "litter",
    metadata,
    Column("file", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
)
"""Files that were named here, and when they ceased to be, by the machine's clock: readers may still read them."""

outbox = Table(
    "outbox",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("rule", Text, nullable=False),
    Column("firing", BigInteger, nullable=False),
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("claimed", BigInteger),
    Column("settled", BigInteger),
    Column("error", Text),
    Index("outbox_due", "state", "due"),
    Index("outbox_target", "channel", "target", "state"),
    sqlite_autoincrement=True,
)
"""What is to be delivered, in the order of ``number``, which is never given twice.

``due`` is when the next attempt may be made; ``claimed`` since when one is under way; ``settled`` when there was none
to follow.
"""

endpoint = Table(
    "endpoint",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("disabled", BigInteger),
    Column("rests", BigInteger, nullable=False),
    Column("error", Text),
)
"""Targets that want nothing any more, since ``disabled``, or nothing before an instant, ``rests``."""

rule = Table(
    "rule",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    Column("enabled", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("began", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("remembered", Text),
    Column("error", Text),
)
"""Rules as they were written; ``began`` is when one was created or last enabled, ``until`` how far it was judged.

``remembered`` is what a rule whose event takes several transactions remembers of them, as JSON.
"""

firing = Table(
    "firing",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("rule", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("coupling", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("inline", LargeBinary, nullable=False),
    Column("finished", BigInteger),
    Column("error", Text),
    Index("firing_state", "state", "id"),
    Index("firing_finished", "finished"),
)
"""What rules did: for which rows, as Arrow IPC, at which commit; ``depth`` counts the firings that led to it."""

followed = Table(
    "followed",
    metadata,
    Column("rule", Integer, primary_key=True, autoincrement=False),
)
"""The rules whose instances are known: what held when tracking began is in ``instance``, too."""

instance = Table(
    "instance",
    metadata,
    Column("rule", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("began", BigInteger),
    Column("ended", BigInteger),
    Column("due", BigInteger),
    Column("quiet", Integer, nullable=False),
    Column("muted", Integer, nullable=False),
    Column("inline", LargeBinary, nullable=False),
    Index("instance_due", "rule", "due"),
)
"""Instances of rules that track them: how each stands, since when, and when it has to be judged next (``due``)."""

silence = Table(
    "silence",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("rule", Text),
    Column("rule_group", Text),
    Column("condition", Text),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("comment", Text),
)
"""A rule, or all rules of a group, are not heard from one instant to another, of all instances or of those that a
condition speaks of."""

gathering = Table(
    "gathering",
    metadata,
    Column("rule", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("due", BigInteger),
    Column("sent", BigInteger),
    Index("gathering_due", "due"),
)
"""Groups of instances that share messages: when the next message is due, if one is, and when the last one was."""

gathered = Table(
    "gathered",
    metadata,
    Column("rule", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("firing", BigInteger, primary_key=True, autoincrement=False),
    Column("time", BigInteger, nullable=False),
    Column("gone", Integer, nullable=False),
    Column("inline", LargeBinary, nullable=False),
)
"""Rows of firings that wait for their group's message, as Arrow IPC."""

continuous_query = Table(
    "continuous_query",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger),
    Column("due", BigInteger),
    Column("widened", Integer, nullable=False),
    Column("ran", BigInteger),
    Column("took", BigInteger),
    Column("error", Text),
)
"""Continuous queries as they were written: from when on their answers count (``since``) and up to when they are known
(``until``, NULL before the first run), when the next run is due, how many times its interval was widened, and how long
the last run took.  What they have delivered is in a table of the same name."""

applied = Table(
    "applied",
    metadata,
    Column("id", Text, primary_key=True),
    Column("time", BigInteger, nullable=False),
    Index("applied_time", "time"),
)
"""The transactions that users gave an id, and when they were committed; an older catalog gets it with the first."""

RULE_TABLES = [
    outbox,
    endpoint,
    rule,
    firing,
    followed,
    instance,
    silence,
    gathering,
    gathered,
    continuous_query,
    applied,
]
"""The tables of rules, of what they send, and of continuous queries; a database in memory makes these when it gets its
first rule or continuous query."""


def _add_rules(connection: Connection) -> None:
    metadata.create_all(connection, RULE_TABLES)


def _add_layouts_groups_and_beginnings(connection: Connection) -> None:
    """Nothing had been dropped yet, and rules had begun when they were created.

    The table of silences is made anew: SQLite cannot let a column be NULL later.
    """
    _add_columns(connection, entry, "layout INTEGER NOT NULL DEFAULT 0")
    _add_columns(connection, base, "layout INTEGER NOT NULL DEFAULT 0")
    if _add_columns(connection, rule, "began BIGINT NOT NULL DEFAULT 0", "remembered TEXT"):
        connection.execute(rule.update().values(began=rule.c.created))
    columns = [c for c in silence.columns if c is not silence.c.rule_group]
    rows = [dict(row) for row in connection.execute(select(*columns)).mappings()]
    silence.drop(connection)
    silence.create(connection)
    if rows:
        connection.execute(silence.insert(), rows)


def _add_continuous_queries(connection: Connection) -> None:
    metadata.create_all(connection, [continuous_query])


def _add_checksums(connection: Connection) -> None:
    _add_columns(connection, base_file, "checksum BIGINT")


def _add_columns(connection: Connection, table: Table, *declarations: str) -> bool:
    """Add columns to a table, unless it was made with them by an earlier migration; whether they were added."""
    known = {column["name"] for column in inspect(connection).get_columns(table.name)}
    if declarations[0].split()[0] in known:
        return False
    for declaration in declarations:
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {declaration}"))
    return True


MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: _add_rules,
    2: _add_layouts_groups_and_beginnings,
    3: _add_continuous_queries,
    4: _add_checksums,
}
"""What turns a catalog of one version into the next."""


def prepare(connection: Connection) -> bool:
    """Create the tables in an empty catalog, or migrate those of an earlier version; whether it was empty."""
    if not inspect(connection).has_table("meta"):
        metadata.create_all(connection)
        connection.execute(meta.insert().values(key="version", value=str(VERSION)))
        connection.execute(meta.insert().values(key="epoch", value="0"))
        connection.execute(meta.insert().values(key="revision", value="0"))
        return True
    for version in range(_version(connection), VERSION):
        MIGRATIONS[version](connection)
    connection.execute(meta.update().where(meta.c.key == "version").values(value=str(VERSION)))
    return False


def check(connection: Connection, address: str) -> None:
    """Refuse a catalog that cannot be read as it is, or that is only being made."""
    if not inspect(connection).has_table("meta"):
        raise DatabaseMissing(path=address)
    version = _version(connection)
    if version < VERSION:
        raise CatalogFailed(reason=f"it is of version {version} and has to be opened for writing once")


def _version(connection: Connection) -> int:
    version = int(connection.execute(select(meta.c.value).where(meta.c.key == "version")).scalar_one())
    if version > VERSION:
        raise CatalogTooNew(found=version, known=VERSION)
    return version
