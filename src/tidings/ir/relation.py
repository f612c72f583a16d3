"""The relational IR: a small closed set of nodes, data only.

A relation is a bag of rows.  Nodes that give their rows names carry an ``alias``; a column is known by its alias
and its name, and expressions refer to it so (see :mod:`tidings.ir.expression`).  ``Filter``, ``Join`` and
the other joins and ``Restrict`` pass the columns of their inputs through.

The same nodes serve for views and for their deltas.  In a view plan every ``Scan`` reads the ``CURRENT`` version.
In a delta plan scans read the ``OLD`` state, the ``DELTA`` of the batch or both together (``NEW``), and carry more
columns: ``__w``, a row's signed multiplicity, and, where there are changes to tell apart, ``__t``, their instant.

Contract: a node that exists is valid.  Expressions mention only columns of the inputs, names do not clash, the
branches of a union fit.  Violations are programming errors and raise ``ValueError``; what users write wrongly is
refused earlier, in ``lang``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import TypeAlias

from tidings.ir.column import VERSION_COLUMNS as VERSION_COLUMNS  # these names are imported from here
from tidings.ir.column import Column as Column
from tidings.ir.column import Field as Field
from tidings.ir.column import Item as Item
from tidings.ir.column import Version as Version
from tidings.ir.column import version_columns as version_columns
from tidings.ir.expression import TIME, WEIGHT, Expression
from tidings.ir.rule import DatalogRule
from tidings.ir.rule import Member as Member
from tidings.ir.validate import require, require_distinct_names, require_known, require_two_sides


def _set_fields(node: object, fields: tuple[Field, ...]) -> None:
    """Keep the fields of a new node: plans are compiled by asking for them again and again."""
    object.__setattr__(node, "fields", fields)


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a table, a view or an earlier step."""

    relation: str
    alias: str
    columns: tuple[Column, ...]
    version: Version = Version.CURRENT
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_distinct_names(self.columns)
        columns = self.columns + version_columns(self.version)
        _set_fields(self, tuple(Field(self.alias, c.name, c.type) for c in columns))


@dataclass(frozen=True, slots=True)
class Values:
    """Constant rows.  Without columns and with one row it is what a SELECT without FROM reads."""

    alias: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Expression, ...], ...]

    def __post_init__(self) -> None:
        require_distinct_names(self.columns)
        require(all(len(r) == len(self.columns) for r in self.rows), "a row of another width")
        for row in self.rows:
            require_known(row, ())

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, c.name, c.type) for c in self.columns)


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which every condition is true."""

    input: Relation
    conditions: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(bool(self.conditions), "a filter without conditions")
        require_known(self.conditions, self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True, slots=True)
class Project:
    """One row out per row in, with the columns the items compute."""

    input: Relation
    alias: str
    items: tuple[Item, ...]
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_distinct_names(self.items)
        require_known((i.expression for i in self.items), self.input.fields)
        _set_fields(self, tuple(Field(self.alias, i.name, i.type) for i in self.items))


@dataclass(frozen=True, slots=True)
class Join:
    """All combinations of one row per input for which every condition is true; no condition: the product."""

    inputs: tuple[Relation, ...]
    conditions: tuple[Expression, ...]
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(len(self.inputs) >= 2, "a join of fewer than two inputs")
        _set_fields(self, tuple(chain.from_iterable(i.fields for i in self.inputs)))
        owned = [{f.alias for f in i.fields} for i in self.inputs]
        require(sum(map(len, owned)) == len(set().union(*owned)), "an alias in two inputs of a join")
        require_known(self.conditions, self.fields)


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all inputs, duplicates kept; columns correspond by position."""

    inputs: tuple[Relation, ...]
    alias: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        require(bool(self.inputs), "a union of nothing")
        require_distinct_names(self.columns)
        types = [c.type for c in self.columns]
        require(all([f.type for f in i.fields] == types for i in self.inputs), "union branches that do not fit")

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, c.name, c.type) for c in self.columns)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per distinct combination of the keys, with what the aggregates compute over its rows.

    NULL keys form a group.  Without keys there is exactly one row, also for an empty input.  Without aggregates it is
    the distinct rows of the keys.
    """

    input: Relation
    alias: str
    keys: tuple[Item, ...]
    aggregates: tuple[Item, ...]

    def __post_init__(self) -> None:
        require(bool(self.keys or self.aggregates), "an aggregate without columns")
        require_distinct_names(self.keys + self.aggregates)
        require_known((i.expression for i in self.keys + self.aggregates), self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, i.name, i.type) for i in self.keys + self.aggregates)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of the input, each with what window functions say about it."""

    input: Relation
    alias: str
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        require_distinct_names(self.items)
        require(self.alias not in {f.alias for f in self.input.fields}, "a window alias that is taken")
        require_known((i.expression for i in self.items), self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(Field(self.alias, i.name, i.type) for i in self.items)


@dataclass(frozen=True, slots=True)
class Unnest:
    """The rows of the input, each once per element of an array, with the element as one more column.

    A row whose array is empty or NULL is gone.
    """

    input: Relation
    alias: str
    element: Column
    array: Expression

    def __post_init__(self) -> None:
        require(self.alias not in {f.alias for f in self.input.fields}, "an alias of elements that is taken")
        require_known((self.array,), self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*self.input.fields, Field(self.alias, self.element.name, self.element.type))


@dataclass(frozen=True, slots=True)
class During:
    """The rows for which a condition is true at the present instant.

    The condition reads the clock as ``__NOW()``, in microseconds.  ``instants`` are all those at which its truth for a
    row may change, each an expression of the row (NULL for never), so that time needs no search.
    """

    input: Relation
    condition: Expression
    instants: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(bool(self.instants), "a condition on time that no instant changes")
        require_known((self.condition, *self.instants), self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True, slots=True)
class OuterJoin:
    """The matching combinations of both inputs, and the rows of the left one that match nothing, padded with NULL."""

    left: Relation
    right: Relation
    conditions: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require_two_sides(self.left.fields, self.right.fields, self.conditions)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.left.fields + self.right.fields


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """The rows of the left input that match some row of the right one; with ``anti`` those that match none."""

    left: Relation
    right: Relation
    conditions: tuple[Expression, ...]
    anti: bool = False

    def __post_init__(self) -> None:
        require_two_sides(self.left.fields, self.right.fields, self.conditions)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.left.fields


class SetKind(Enum):
    """The set operations that are not unions."""

    EXCEPT = "except"
    INTERSECT = "intersect"


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Bag difference or intersection; without ``all`` on distinct rows.  Columns correspond by position."""

    kind: SetKind
    all: bool
    left: Relation
    right: Relation
    alias: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        require_distinct_names(self.columns)
        types = [c.type for c in self.columns]
        fit = all([f.type for f in i.fields] == types for i in (self.left, self.right))
        require(fit, "inputs of a set operation that do not fit")

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, c.name, c.type) for c in self.columns)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Each row of the input as often as ``times`` says."""

    input: Relation
    times: Expression

    def __post_init__(self) -> None:
        require_known((self.times,), self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True, slots=True)
class Restrict:
    """The rows of the input whose ``expression`` occurs in the single column of ``keys``.

    It never changes an answer: it stands below a join that asks for the same.  With ``null_safe`` a NULL matches
    a NULL key.
    """

    input: Relation
    expression: Expression
    keys: Relation
    null_safe: bool = False

    def __post_init__(self) -> None:
        require(len(self.keys.fields) == 1, "keys of more than one column")
        require_known((self.expression,), self.input.fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True, slots=True)
class Consolidate:
    """One row per distinct row and instant, weights summed, zeros gone."""

    input: Relation
    alias: str

    def __post_init__(self) -> None:
        names = [f.name for f in self.input.fields]
        require(names[-2:] == [TIME, WEIGHT], "a relation without __t and __w at its end")
        require(len(set(names)) == len(names), "columns of the same name")

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, f.name, f.type) for f in self.input.fields)


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """The least rows of recursive predicates for which all rules hold; one of them is what it gives.

    Rules name the inputs by ``names``, in their order.  ``group`` is a name for members, rules and inputs together.
    """

    inputs: tuple[Relation, ...]
    names: tuple[str, ...]
    members: tuple[Member, ...]
    rules: tuple[DatalogRule, ...]
    output: str
    group: str
    alias: str

    def __post_init__(self) -> None:
        widths = {m.name: len(m.columns) for m in self.members}
        widths |= {n: len(i.fields) for n, i in zip(self.names, self.inputs, strict=True)}
        require(self.output in {m.name for m in self.members}, "a fixpoint that gives none of its members")
        require(len(widths) == len(self.members) + len(self.names), "predicates of the same name")
        for rule in self.rules:
            atoms = (rule.head, *(i.atom for i in rule.body))
            require(all(widths.get(a.predicate) == len(a.terms) for a in atoms), "an atom of another width")

    @property
    def name(self) -> str:
        return f"{self.group}.{self.output}"

    @property
    def columns(self) -> tuple[Column, ...]:
        return next(m.columns for m in self.members if m.name == self.output)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, c.name, c.type) for c in self.columns)


Relation: TypeAlias = (
    Scan
    | Values
    | Filter
    | Project
    | Join
    | Union
    | Aggregate
    | Window
    | Unnest
    | During
    | OuterJoin
    | SemiJoin
    | SetOperation
    | Repeat
    | Restrict
    | Consolidate
    | Fixpoint
)

Keyed: TypeAlias = Aggregate | Window | OuterJoin | SemiJoin | SetOperation
"""Operators whose answer for a row depends on other rows: those with the same key."""
