"""Changes that matter: rows that a query's conditions select, found or made.

A random row of a benchmark's tables is seldom one that a query asks for, and a delta that is empty proves little.  So a
change takes aim at one SELECT of one query.  Its conditions say which rows of each table it wants and how the tables
hang together.  Either a combination of rows that meets them is there: then one of them is deleted, altered or
doubled.  Or one is made: for each table a row that meets the conditions on that table alone, fitted to the others by
the equalities between them, and put in.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

Schema: TypeAlias = Mapping[str, Mapping[str, str]]
Row: TypeAlias = list[Any]

FACTS = frozenset(
    "catalog_returns catalog_sales inventory store_returns store_sales web_returns web_sales lineitem orders".split()
)
"""Tables whose rows refer to the rows of others."""

CALENDAR = "date_dim"

FEW = 50
"""A table with fewer rows than this grows by what a query wants of it; in a larger one a row is altered."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The tables of one SELECT by alias, and its conditions."""

    tables: Mapping[str, str]
    conditions: tuple[exp.Expr, ...]
    equalities: tuple[tuple[exp.Column, exp.Column], ...]

    def chosen(self, rng: random.Random) -> list[exp.Expr]:
        """The conditions about tables alone, with one branch taken of every OR."""
        out: list[exp.Expr] = []
        rest = list(self.conditions)
        while rest:
            condition = rest.pop().unnest()
            if isinstance(condition, exp.And):
                rest += condition.flatten()
            elif isinstance(condition, exp.Or):
                rest.append(rng.choice(list(condition.flatten())))
            elif condition.find(exp.Query) is None and _aliases(condition) <= set(self.tables):
                out.append(condition)
        return out

    def found(self, plain: duckdb.DuckDBPyConnection, rng: random.Random) -> dict[str, Row] | None:
        """Rows that meet all conditions together, each with its place in front; by alias."""
        conditions = self.chosen(rng)
        tables = ", ".join(f'{table} AS "{alias}"' for alias, table in self.tables.items())
        places = ", ".join(f'"{alias}".rowid' for alias in self.tables)
        order = f"hash({places}, {rng.randrange(1 << 30)})"
        rows = plain.execute(f"SELECT {places} FROM {tables} {_where(conditions)} ORDER BY {order} LIMIT 1").fetchall()
        if not rows:
            return None
        return {
            alias: list(_one(plain, f"SELECT rowid, * FROM {table} WHERE rowid = {place}") or [])
            for (alias, table), place in zip(self.tables.items(), rows[0], strict=True)
        }


@dataclass(slots=True)
class Made:
    """A row of a table as it is, and as a query wants it."""

    table: str
    place: int
    old: Row
    values: Row


def made(aims: list[Aim], plain: duckdb.DuckDBPyConnection, rng: random.Random, schema: Schema) -> list[Made]:
    """Rows that meet the conditions of a query's SELECTs, as far as single rows can; those there already unaltered.

    The SELECTs share the rows of tables other than facts, where they call them by the same name and ask for the same
    or for nothing.  Now and then one is left out: a query may ask for what is not there.
    """
    shared: dict[tuple[str, str, str], Made] = {}
    by_alias: dict[str, Made] = {}
    rows: list[Made] = []
    links: list[tuple[dict[str, Made], exp.Column, exp.Column]] = []
    for aim in aims:
        if len(aims) > 1 and rng.random() < 0.15:
            continue
        conditions = aim.chosen(rng)
        own: dict[str, Made] = {}
        for alias, table in aim.tables.items():
            about = [c for c in conditions if _aliases(c) == {alias}]
            asked = " AND ".join(sorted(c.sql("duckdb") for c in about))
            row = shared.get((alias, table, asked)) or _candidate(plain, rng, schema, alias, table, about)
            if row is None:
                return []
            if table not in FACTS:
                shared[alias, table, asked] = shared[alias, table, ""] = row
            own[alias] = row
        rows += own.values()
        by_alias |= own
        links += [(own, *columns) for columns in aim.equalities]
    for own, left, right in links * 3:
        both = [(own.get(c.table) or by_alias.get(c.table), c.name) for c in (left, right)]
        ends = [(row, list(schema[row.table]).index(name)) for row, name in both if row and name in schema[row.table]]
        if len(ends) == 2:
            (giver, given), (taker, taken) = sorted(ends, key=lambda end: (end[0].table in FACTS, end[1]))
            taker.values[taken] = giver.values[given]
    return list({id(row): row for row in rows}.values())


def _candidate(
    plain: duckdb.DuckDBPyConnection,
    rng: random.Random,
    schema: Schema,
    alias: str,
    table: str,
    conditions: list[exp.Expr],
) -> Made | None:
    """A row of a table that meets conditions, or one that has been given the values they ask for."""
    select = f'SELECT rowid, * FROM {table} AS "{alias}"'
    order = f'ORDER BY hash("{alias}".rowid, {rng.randrange(1 << 30)}) LIMIT 1'
    if table == CALENDAR and not conditions:
        conditions = [exp.condition(f'"{alias}".d_year BETWEEN 1998 AND 2002', dialect="duckdb")]
    anew = table not in FACTS and table != CALENDAR and rng.random() < 0.3
    found = None if anew else _one(plain, f"{select} {_where(conditions)} {order}")
    row = found or _one(plain, f"{select} {order}")
    if row is None:
        return None
    wanted = {} if found else dict(_wanted(plain, conditions, rng))
    size, last = _one(plain, f"SELECT COUNT(*), MAX({next(iter(schema[table]))}) FROM {table}") or (0, 0)
    made = Made(table, row[0], list(row[1:]), [wanted.get(n, v) for n, v in zip(schema[table], row[1:], strict=True)])
    if wanted and size < FEW and table not in FACTS and isinstance(last, int):
        made.values[0] = last + 1
    return made


def aims(query: str, schema: Schema) -> list[Aim]:
    """One aim per SELECT that reads tables."""
    tree = qualify(
        _parsed(query), schema={t: dict(c) for t, c in schema.items()}, dialect="duckdb", validate_qualify_columns=False
    )
    out = []
    for scope in traverse_scope(tree):
        select = scope.expression
        tables = {a: s.name for a, (_, s) in scope.selected_sources.items() if isinstance(s, exp.Table)}
        if not tables or not isinstance(select, exp.Select):
            continue
        where = select.args.get("where")
        ons = [j.args["on"] for j in select.args.get("joins") or [] if j.args.get("on") is not None]
        conditions = (*([where.this] if where is not None else []), *ons)
        out.append(Aim(tables, conditions, tuple(_equalities(conditions))))
    return out


def _parsed(query: str) -> exp.Expr:
    return exp.maybe_parse(query, dialect="duckdb")


def _one(plain: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...] | None:
    return plain.execute(query).fetchone()


def _where(conditions: list[exp.Expr]) -> str:
    return f"WHERE {exp.and_(*conditions).sql('duckdb')}" if conditions else ""


def _aliases(condition: exp.Expr) -> set[str]:
    return {c.table for c in condition.find_all(exp.Column)}


def _equalities(conditions: tuple[exp.Expr, ...]) -> Iterator[tuple[exp.Column, exp.Column]]:
    """Columns set equal anywhere in conditions, also with those of the query around and of a list given by a query."""
    for condition in conditions:
        for found in condition.find_all(exp.EQ, exp.In):
            left = found.this
            right = found.args.get("expression") or found.args.get("query")
            if isinstance(right, exp.Subquery):
                right = right.unnest()
            if isinstance(right, exp.Select) and right.selects:
                right = right.selects[0].unalias()
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                yield left, right


def _wanted(
    plain: duckdb.DuckDBPyConnection, conditions: list[exp.Expr], rng: random.Random
) -> Iterator[tuple[str, Any]]:
    """Values that a row's columns must have, where a condition names constants for them."""
    for c in conditions:
        column = c.this
        if not isinstance(column, exp.Column):
            continue
        match c:
            case exp.EQ():
                constants = [c.expression]
            case exp.In():
                constants = c.expressions
            case exp.Between():
                constants = [c.args["low"], c.args["high"]]
            case _:
                continue
        if constants and not any(x.find(exp.Column) for x in constants):
            value = _one(plain, f"SELECT {rng.choice(constants).sql('duckdb')}")
            assert value is not None
            yield column.name, value[0]
