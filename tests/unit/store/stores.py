"""Stores without a database around them, and relations to put into them; they read the table ``u`` or are it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.unit.schema import TABLES, bound, normal
from tidings.engine.duckdb import DuckDB
from tidings.engine.location import Location
from tidings.engine.sql.row_queries import rows_query
from tidings.ir.relation import Version
from tidings.store import restore
from tidings.store.open import open_folder
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView, View, stored
from tidings.store.storage import Storage


def new_table(name: str = "u") -> Table:
    return Table(name, TABLES["u"])


def new_view(query: str, name: str = "v") -> View:
    return View(name, query, bound(query), query)


def new_stored_view(query: str, name: str = "v", at: int = 7) -> StoredView:
    """A stored view without rows."""
    return stored(new_view(query, name), normal(query), at, strict=False)


def rows_of_u(*values: tuple[int, int]) -> pa.Table:
    """Rows of ``u`` from their first two values."""
    return pa.Table.from_pylist([{"a": a, "c": c, "d": None} for a, c in values], schema=new_table().schema)


def rows(storage: Storage, table: Table) -> list[tuple[Any, ...]]:
    """The present rows of a table, in order."""
    query = rows_query(storage.backend, table.name, table.source(Version.CURRENT, 0, table.last))
    return sorted(tuple(r.values()) for r in storage.backend.fetch(query, table.columns).to_pylist())


@contextmanager
def folder(path: Path, *, read_only: bool = False) -> Iterator[Storage]:
    """The store in a folder, with what is recorded there."""
    storage = open_folder(DuckDB(), Location.local(path), None, read_only=read_only)
    try:
        restore.restore(storage, _bind, _store)
        yield storage
    finally:
        storage.close()


def _bind(name: str, query: str, _columns: tuple[str, ...]) -> View:
    return new_view(query, name)


def _store(view: View, strict: bool, refresh: Refresh, known: dict[str, str]) -> StoredView:
    return stored(view, normal(view.query), 0, strict=strict, refresh=refresh, known=known)
