"""A small catalog, and short ways from SQL text to plans, for tests that need no database.

The tables are ``t``, ``u`` and ``w``; views can be given by their queries.  DuckDB is the analyzer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from textwrap import dedent

from tidings.delta.plan import Program, Term, compile_program
from tidings.engine.duckdb import DuckDB
from tidings.ir import text
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.bind import bind
from tidings.lang.sql.parse import statements
from tidings.rewrite.pipeline import normalise

TABLES = {
    "t": (
        Column("a", "int"),
        Column("b", "string"),
        Column("s", "struct<x:int,y:struct<z:string>>"),
        Column("arr", "array<struct<x:int>>"),
    ),
    "u": (Column("a", "int"), Column("c", "bigint"), Column("d", "decimal(10,2)")),
    "w": (Column("c", "bigint"), Column("e", "string")),
    "Odd Table": (Column("we ird", "int"), Column("d.e", "int"), Column("q`z", "int"), Column("SELECT", "int")),
}
Definitions = Mapping[str, Relation]


class Known:
    """The tables, and views with their plans; what the binder asks a catalog."""

    def __init__(self, views: Definitions) -> None:
        self._columns = dict(TABLES)
        self._columns |= {n: tuple(Column(f.name, f.type) for f in p.fields) for n, p in views.items()}

    def names(self) -> list[str]:
        return list(self._columns)

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        found = next((n for n in self._columns if n.lower() == relation.lower()), None)
        return None if found is None else (found, self._columns[found])


@cache
def analyzer() -> DuckDB:
    return DuckDB()


def bound(query: str, views: Definitions | None = None, name: str = "result") -> Relation:
    """The plan the binder makes of a query."""
    (tree,) = statements(query)
    return bind(tree, query, Known(views or {}), analyzer(), name)


def view_plans(**queries: str) -> dict[str, Relation]:
    """The bound plans of views, each of which may read those before it."""
    plans: dict[str, Relation] = {}
    for name, query in queries.items():
        plans[name] = bound(query, plans, name)
    return plans


def normal(query: str, views: Definitions | None = None) -> Relation:
    """The normalised plan of a query."""
    return normalise(bound(query, views), views or {})


def program(query: str, *changed: str, views: Definitions | None = None, share: tuple[str, ...] = ()) -> Program:
    """The delta program of a query for a set of changed tables."""
    plan = bound(query, views)
    return compile_program("result", plan, frozenset(changed), views or {}, frozenset(share))


def only_term(query: str, *changed: str, views: Definitions | None = None) -> Term:
    """The single term of a query's delta."""
    (step,) = program(query, *changed, views=views).steps
    (term,) = step.terms
    return term


def plan(lines: str) -> Relation:
    """A plan from its text, indentation of the whole removed."""
    return text.parse(dedent(lines).strip("\n"))


def names(relation: Relation) -> list[str]:
    return [f.name for f in relation.fields]


def types(relation: Relation) -> list[str]:
    return [f.type for f in relation.fields]
