"""Queries about the constraints of a table, as syntax trees: what they say of a row, which rows break them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.lang.sql.parse import parsed


def condition_query(table: str, condition: Expression) -> exp.Select:
    """A query for whether a condition holds for each row of a table.

    >>> condition_query("t", parsed("x > 0")).sql()
    'SELECT x > 0 AS holds FROM "t"'
    """
    return exp.select(condition.copy().as_("holds")).from_(_table(table))


def value_query(value: Expression) -> exp.Select:
    """A query for the value of an expression without columns.

    >>> value_query(parsed("1 + 1")).sql()
    'SELECT 1 + 1 AS value'
    """
    return exp.select(value.copy().as_("value"))


def columns_in(condition: str, columns: Sequence[str]) -> list[str]:
    """Those of some columns that a condition mentions, in their order.

    >>> columns_in("B > a + 1", ["a", "b", "c"])
    ['a', 'b']
    """
    mentioned = {c.name.lower() for c in parsed(condition).find_all(exp.Column)}
    return [name for name in columns if name.lower() in mentioned]


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
