"""Queries for the rows of a table that break its constraints, as syntax trees."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tidings.lang.sql.parse import parsed


def rows_that_break(table: str, required: Sequence[str], checks: Sequence[str]) -> exp.Select | None:
    """A query for the rows that are NULL in a required column or for which a CHECK is false; None if none can.

    >>> rows_that_break("t", ["x"], ["x > 0"]).sql()
    'SELECT * FROM "t" WHERE "x" IS NULL OR NOT (x > 0)'
    """
    missing = [exp.column(exp.to_identifier(name, quoted=True)).is_(exp.null()) for name in required]
    false = [exp.Not(this=exp.paren(parsed(check))) for check in checks]
    broken = [*missing, *false]
    return exp.select("*").from_(_table(table)).where(exp.or_(*broken)) if broken else None


def repeated_keys(table: str, key: Sequence[str]) -> exp.Select:
    """A query for the keys that more than one row has.

    >>> repeated_keys("t", ["a", "b"]).sql()
    'SELECT "a", "b" FROM "t" GROUP BY "a", "b" HAVING COUNT(*) > 1'
    """
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in key]
    several = exp.Count(this=exp.Star()) > 1
    return exp.select(*columns).from_(_table(table)).group_by(*columns).having(several)


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))
