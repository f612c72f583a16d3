"""Whether the catalog's own file is sound, as SQLite says it; PostgreSQL looks after its files itself."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from tidings.store.catalog.transactions import CatalogTransactions


def catalog_problems(catalog: CatalogTransactions) -> list[str]:
    """What is wrong with the catalog; nothing is the rule."""
    with catalog.reading() as connection:
        if connection.dialect.name != "sqlite":
            return []
        try:
            found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check"))]
            orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
        except DatabaseError as error:
            return [str(error.orig)]
    problems = [line for line in found if line != "ok"]
    return [*problems, *(f"a row of {row[0]} refers to nothing" for row in orphans)]
