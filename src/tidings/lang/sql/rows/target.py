"""The table that a statement changes, as the trees of the statement see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from tidings.errors import InvalidExpression, UnknownColumn, closest
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.parse import parsed, place
from tidings.lang.sql.statements.dml import RowStatement, Setting

Assignment: TypeAlias = tuple[Column, Expression]
"""A column of the table and the value it gets, with DEFAULT and the clock filled in."""


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement changes, at an instant."""

    statement: RowStatement
    name: str
    columns: tuple[Column, ...]
    defaults: Mapping[str, str]
    """The texts of the defaults, by column."""
    now: int

    @property
    def alias(self) -> str:
        """What the statement calls the table."""
        return self.statement.alias

    def column(self, node: Expression) -> Column:
        """The column of the table that a tree names."""
        column = next((c for c in self.columns if c.name.lower() == node.name.lower()), None)
        of_another_table = isinstance(node, exp.Column) and node.table and node.table.lower() != self.alias.lower()
        if column is None or of_another_table:
            hint = closest(node.name, [c.name for c in self.columns])
            raise UnknownColumn(place(self.statement.text, node) or self.statement.place, hint, name=node.sql("spark"))
        return column

    def assignments(self, settings: Sequence[Setting]) -> list[Assignment]:
        """What SET or a MERGE clause assigns, in the order it says so; each column gets one value."""
        by_column: dict[str, Assignment] = {}
        for node, value in settings:
            column = self.column(node)
            if column.name in by_column:
                raise InvalidExpression(place(self.statement.text, node), reason=f"{column.name} is given two values")
            by_column[column.name] = column, self.value(value, column)
        return list(by_column.values())

    def value(self, value: Expression, column: Column) -> Expression:
        """A value for a column, with DEFAULT and the clock filled in."""
        if self.is_default(value):
            value = parsed(self.defaults[column.name]) if column.name in self.defaults else exp.Null()
        return at_instant(value, self.now)

    def is_default(self, value: Expression) -> bool:
        """Whether a value is the word DEFAULT, and no column of that name."""
        if isinstance(value, exp.Var):
            return value.name.upper() == "DEFAULT"
        is_bare = isinstance(value, exp.Column) and not value.table and not value.this.args.get("quoted")
        is_column = any(c.name.lower() == "default" for c in self.columns)
        return is_bare and value.name.upper() == "DEFAULT" and not is_column

    def column_nodes(self) -> list[Expression]:
        """The columns of the table, to be selected."""
        return columns_of(self.alias, self.columns)

    def source(self) -> exp.Table:
        """The table, to be selected from."""
        name, alias = exp.to_identifier(self.name, quoted=True), exp.to_identifier(self.alias, quoted=True)
        return exp.Table(this=name, alias=exp.TableAlias(this=alias))


def columns_of(alias: str, columns: Sequence[Column]) -> list[Expression]:
    """Columns of a source, to be selected.

    >>> [node.sql() for node in columns_of("s", [Column("a b", "int")])]
    ['s."a b"']
    """
    return [exp.column(exp.to_identifier(c.name, quoted=True), table=alias) for c in columns]


def with_distinct_names(nodes: Sequence[Expression]) -> list[Expression]:
    """Items to be selected under names of which no two are the same.

    >>> [node.sql() for node in with_distinct_names([parsed("a"), parsed("a")])]
    ['a AS c0', 'a AS c1']
    """
    return [node.copy().as_(f"c{n}") for n, node in enumerate(nodes)]
