"""From what a statement says of fragments to the tree of them, with names as they are declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tidings.errors import InvalidFragmentation, UnknownColumn, closest
from tidings.ir.expression import Expression
from tidings.ir.fragments import FragmentTree
from tidings.ir.relation import Column
from tidings.lang.sql.statements.fragmented import WrittenPart
from tidings.lang.sql.stored_text import columns_mentioned, condition_text
from tidings.store.relation.table import Table


@dataclass(slots=True)
class TreeBuilder:
    """Builds the tree of one table."""

    name: str
    columns: Mapping[str, Column]
    """Those of the whole, in order."""
    key: tuple[str, ...]
    tables: Mapping[str, Table] | None = None
    """The fragments, where they are there already."""
    written: list[tuple[tuple[Column, ...], Expression]] = field(init=False, default_factory=list)
    """The conditions, and the columns that each may read."""
    joins: bool = field(init=False, default=False)
    _above: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    """The conditions that the rows of a fragment meet: its own, and those of parts that it belongs to."""
    _seen: set[str] = field(init=False, default_factory=set)

    def tree(self, whole: WrittenPart) -> FragmentTree:
        """The tree of the whole."""
        self._read_keys(whole)
        return self._part(whole, tuple(self.columns), ())

    def conditions(self, leaf: FragmentTree) -> tuple[str, ...]:
        """The conditions that a fragment can hold its rows to, each never NULL."""
        names = {name.lower() for name in leaf.columns}
        held = []
        for condition in self._above[leaf.table]:
            if columns_mentioned(condition) <= names:
                held.append(f"coalesce({condition}, FALSE)")
        return tuple(held)

    def _read_keys(self, part: WrittenPart) -> None:
        if part.kind == "join":
            key = tuple(self._known(name, part) for name in part.key)
            if (self.joins or self.key) and set(key) != set(self.key):
                reason = f"{', '.join(key)} is not the primary key, ({', '.join(self.key)}): a join is by the key"
                raise InvalidFragmentation(part.place, reason=reason)
            self.key = self.key or key
            self.joins = True
        for below in part.parts:
            self._read_keys(below)

    def _part(self, part: WrittenPart, given: tuple[str, ...] | None, above: tuple[str, ...]) -> FragmentTree:
        """A part; ``given`` are the columns that it has if it does not say, None if it must."""
        columns = self._columns(part, given)
        condition = None
        if part.where is not None:
            kinds = tuple(self.columns[name] for name in columns)
            self.written.append((kinds, part.where))
            condition = condition_text(part.where, self.name, columns)
            above = (*above, condition)
        if part.kind == "table":
            if part.table.lower() in self._seen:
                raise InvalidFragmentation(part.place, reason=f"{part.table} is two of its fragments")
            self._seen.add(part.table.lower())
            name = self.tables[part.table].name if self.tables is not None else part.table
            self._above[name] = above
            return FragmentTree("table", columns, condition, table=name, site=part.site)
        if len(part.parts) < 2:
            raise InvalidFragmentation(part.place, reason="there are fewer than two parts")
        below = columns if part.kind == "union" else None
        parts = tuple(self._part(p, below, above) for p in part.parts)
        return FragmentTree(part.kind, columns, condition, parts)

    def _columns(self, part: WrittenPart, given: tuple[str, ...] | None) -> tuple[str, ...]:
        """The columns of a part, in the order of the whole."""
        if part.kind == "table":
            names = set(self._leaf_columns(part, given))
        elif part.kind == "union":
            sets = [set(self._columns(p, given)) for p in part.parts]
            if any(s != sets[0] for s in sets):
                raise InvalidFragmentation(part.place, reason="the parts of a UNION have different columns")
            names = sets[0]
        else:
            names = set()
            for own in (set(self._columns(p, None)) - set(self.key) for p in part.parts):
                if own & names:
                    reason = f"two parts have {', '.join(sorted(own & names))}, which is not the key"
                    raise InvalidFragmentation(part.place, reason=reason)
                names |= own
            names |= set(self.key)
        return tuple(name for name in self.columns if name in names)

    def _leaf_columns(self, part: WrittenPart, given: tuple[str, ...] | None) -> Iterable[str]:
        named = [self._known(name, part) for name in part.columns]
        if self.tables is not None:
            own = [c.name for c in self.tables[part.table].columns]
            if named and set(named) != set(own):
                raise InvalidFragmentation(part.place, reason=f"{part.table} has the columns {', '.join(own)}")
            return own
        if not named and given is None:
            reason = f"it does not say which columns {part.table} has"
            raise InvalidFragmentation(part.place, "name them: fragment (columns)", reason=reason)
        return [*self.key, *named] if named and self.joins else named or list(given or ())

    def _known(self, name: str, part: WrittenPart) -> str:
        declared = {column.lower(): column for column in self.columns}
        if name.lower() not in declared:
            raise UnknownColumn(part.place, closest(name, list(self.columns)), name=name)
        return declared[name.lower()]


def written_tables(part: WrittenPart) -> Iterator[WrittenPart]:
    """The fragments that are written, from left to right."""
    if part.kind == "table":
        yield part
    for below in part.parts:
        yield from written_tables(below)


def table_columns(tables: Iterable[Table]) -> dict[str, Column]:
    """The columns of a whole, from those of its fragments; one name has one type."""
    columns: dict[str, Column] = {}
    for table in tables:
        for column in table.columns:
            known = columns.setdefault(column.name, column)
            if known.type != column.type:
                reason = f"{column.name} is {known.type} in one fragment and {column.type} in {table.name}"
                raise InvalidFragmentation(reason=reason)
    return columns
