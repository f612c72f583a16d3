"""Columns as relations declare them, as expressions see them and as projections compute them, and those of versions.

:mod:`tidings.ir.relation` is the door to these names: import them from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from tidings.ir.expression import TIME, WEIGHT, Expression, Ref, column


@dataclass(frozen=True, slots=True)
class Column:
    """A name and a Spark type in its short text form, such as ``decimal(10,2)``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Field:
    """A column as expressions above a node see it."""

    alias: str
    name: str
    type: str

    @property
    def ref(self) -> Ref:
        return self.alias, self.name

    @property
    def expression(self) -> Expression:
        return column(self.alias, self.name)


@dataclass(frozen=True, slots=True)
class Item:
    """One output column of a projection."""

    name: str
    type: str
    expression: Expression


class Version(Enum):
    """Which rows of a relation a scan reads, in a batch over ``(since, until]``."""

    CURRENT = "current"
    OLD = "old"
    DELTA = "delta"
    NEW = "new"


VERSION_COLUMNS = (Column(TIME, "bigint"), Column(WEIGHT, "bigint"))
"""What a relation of changes has beside its own columns."""


def version_columns(version: Version) -> tuple[Column, ...]:
    """What a scan of this version has beside its own columns; rows of an old state need no instant."""
    match version:
        case Version.CURRENT:
            return ()
        case Version.OLD:
            return VERSION_COLUMNS[1:]
        case Version.DELTA | Version.NEW:
            return VERSION_COLUMNS
        case _:
            assert_never(version)
