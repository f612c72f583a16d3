"""Standard form: a query over append-only tables as alternatives of plain terms and terms on time.

The form of Terry, Goldberg, Nichols and Oki's continuous queries.  An answer is a set of rows: those of any of the
alternatives.  An alternative joins tables and is true when all of its terms are.  A term is one of

- plain: an expression of the rows that reads neither the clock nor other tables; its truth never changes,
- a lower bound: an instant from which on the alternative may hold, ``e <= t`` or ``e < t``,
- an upper bound: an instant up to which it may, ``t <= e`` or ``t < e``,
- ``NOT EXISTS`` of another alternative, whose terms may mention the rows around it.

Time is discrete.  So every bound is an :class:`Instant`, which itself belongs to what it bounds: ``e < t`` is a lower
bound of ``e`` and one microsecond.  A row is there from the instant that the time column of its table tells.

All aliases of one form are distinct, those of subqueries included.  Data only: :mod:`tidings.lang.sql.continuous`
makes it from text, :mod:`tidings.rewrite.monotone` computes with it, :mod:`tidings.engine.sql.standard_text` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidings.ir.column import Column
from tidings.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Instant:
    """The value of an expression of type timestamp, and some microseconds."""

    expression: Expression
    shift: int = 0

    def later(self, microseconds: int = 1) -> Instant:
        return Instant(self.expression, self.shift + microseconds)


class After(NamedTuple):
    """A declared fact: no row comes before the row of a table, perhaps the same one, that it names."""

    name: str
    columns: tuple[str, ...]
    relation: str
    """The table of the rows that are named."""
    named: tuple[str, ...]
    """The columns of that table which have the same values."""
    enforced: bool = True
    """Whether that is checked; it is taken on trust else."""


@dataclass(frozen=True, slots=True)
class GrowingTable:
    """What is known about an append-only table that says when its rows came."""

    name: str
    columns: tuple[Column, ...]
    time: str
    key: tuple[str, ...] = ()
    after: tuple[After, ...] = ()


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table under the alias that its columns are mentioned by."""

    table: GrowingTable
    alias: str
    time: Expression
    """When a row came: an expression of type timestamp."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the answer."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Alternative:
    """Tables, terms that must all be true, and what is told of rows for which they are."""

    tables: tuple[TableUse, ...] = ()
    plain: tuple[Expression, ...] = ()
    lower: tuple[Instant, ...] = ()
    upper: tuple[Instant, ...] = ()
    absent: tuple[Alternative, ...] = ()
    """What no rows may satisfy: NOT EXISTS."""
    since: tuple[Instant, ...] = ()
    """Instants that must lie after the end of the last run; only incremental queries have them."""
    output: tuple[OutputColumn, ...] = ()
    """Nothing in a subquery."""

    def both(self, other: Alternative) -> Alternative:
        """The terms of both must be true."""
        return Alternative(
            self.tables + other.tables,
            self.plain + other.plain,
            self.lower + other.lower,
            self.upper + other.upper,
            self.absent + other.absent,
            self.since + other.since,
            self.output + other.output,
        )


@dataclass(frozen=True, slots=True)
class StandardForm:
    """A query whose answer has the rows of all alternatives, each once."""

    alternatives: tuple[Alternative, ...]
