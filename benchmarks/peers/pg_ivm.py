"""pg_ivm: PostgreSQL with a materialized view that each transaction brings up to date before it commits.

The condition is such a view over five tables, all with an index on the item.  A transaction updates one row by its key,
in the table that the view reads and in a copy that nothing reads: the difference is what the view costs.  The server
does not wait for the disk, for both alike.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pyarrow as pa
import pyarrow.csv as csv

from benchmarks.data.inventory import RECOMPUTE
from benchmarks.measure import Figure, Work, nothing
from benchmarks.peers.peer import LeftOut
from tests.postgresql import installed, server

UNWATCHED, WATCHED = "PostgreSQL, update of one row", "PostgreSQL, the same with a view of pg_ivm"
OVERHEAD = "pg_ivm's overhead"


@contextmanager
def pg_ivm(tables: Mapping[str, pa.Table]) -> Iterator[PgIvm]:
    """A server with the inventory and the condition as a view."""
    if not installed():
        raise LeftOut("PostgreSQL is not installed: pg_ivm is left out")
    with server() as url, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_ivm'").fetchall():
            raise LeftOut("pg_ivm is not installed: left out")
        connection.execute("CREATE EXTENSION pg_ivm")
        for name, rows in tables.items():
            _fill(connection, name, rows)
        connection.execute("CREATE TABLE unwatched (LIKE quantity INCLUDING ALL)")
        connection.execute("INSERT INTO unwatched SELECT * FROM quantity")
        connection.execute("SELECT pgivm.create_immv('low_stock', %s)", (RECOMPUTE,))
        connection.execute("CREATE INDEX ON low_stock (item)")
        connection.execute("VACUUM ANALYZE")
        yield PgIvm(connection, tables["quantity"].num_rows)


def _fill(connection: psycopg.Connection, name: str, rows: pa.Table) -> None:
    types = {pa.int64(): "BIGINT", pa.int32(): "INT"}
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'{f.name} {types[f.type]}' for f in rows.schema)})")
    text = io.BytesIO()
    csv.write_csv(rows, text, csv.WriteOptions(include_header=False))
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN WITH (FORMAT csv)") as copy:
        copy.write(text.getvalue())
    index = f"ALTER TABLE {name} ADD PRIMARY KEY (item)" if name == "quantity" else f"CREATE INDEX ON {name} (item)"
    connection.execute(index)


@dataclass(slots=True)
class PgIvm:
    """Transactions on both tables, by one client."""

    connection: psycopg.Connection
    items: int
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def works(self, transactions: int) -> dict[str, Work]:
        """One transaction: many take as many times as long."""
        if transactions > 1:
            return {}
        return {UNWATCHED: (nothing, lambda: self._update("unwatched")), WATCHED: (nothing, self.update)}

    def update(self) -> None:
        """One transaction on the table that the view reads."""
        self._update("quantity")

    def _update(self, table: str) -> None:
        given = (self.rng.randrange(300), self.rng.randrange(self.items))
        self.connection.execute(f"UPDATE {table} SET qty = %s WHERE item = %s", given, prepare=True)


def overhead(figures: Mapping[str, Figure]) -> Figure | None:
    """What the view costs each transaction, if it was measured."""
    if WATCHED not in figures:
        return None
    pairs = zip(figures[WATCHED].times, figures[UNWATCHED].times, strict=True)
    return Figure(OVERHEAD, tuple(watched - unwatched for watched, unwatched in pairs))
