"""Making, altering and dropping tables.

A table is altered in the catalog alone: what was written before is read as if it had the new columns
(:mod:`tidings.store.relation.schema_evolution`).  Views that read it are bound again.  One that would break, or would
have other columns, is named and nothing is altered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidings.constraints.evaluate import Evaluator
from tidings.define.views import AnyView, Views
from tidings.errors import (
    BreaksViews,
    DependentObjects,
    DuplicateColumn,
    DuplicateRelation,
    InvalidExpression,
    TidingsError,
    UnknownColumn,
    UnknownRelation,
    UnsupportedType,
    closest,
)
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.lang.sql import statement
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.stored_text import condition_text, expression_text, with_column_renamed
from tidings.store.alter import alter, drop
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.schema_evolution import noted
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline

Alteration = statement.AddColumns | statement.RenameColumn | statement.RenameTable


@dataclass(slots=True)
class Tables:
    """The tables of a database."""

    storage: Storage
    evaluator: Evaluator
    views: Views
    timeline: Timeline

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def create(self, read: statement.CreateTable) -> None:
        """Make a table; its conditions and defaults are tried first."""
        self.relations.check_free(read.name)
        for condition in read.checks:
            self.evaluator.check(read.name, read.columns, condition, read.text)
        kinds = {c.name: c.type for c in read.columns}
        for name, value in read.defaults:
            self.evaluator.constant(at_instant(value, self.timeline.now()), kinds[name], read.text)
        constraints = Constraints(
            key=read.key,
            required=read.required,
            checks=tuple(condition_text(c, read.name, kinds) for c in read.checks),
            defaults=tuple((name, expression_text(v)) for name, v in read.defaults),
            append_only=read.append_only,
            time_column=read.time_column,
        )
        self.storage.define(Table(read.name, read.columns, constraints=constraints))

    # dropping

    def to_drop(self, name: str, kind: str, *, cascade: bool) -> list[Table | AnyView]:
        """A table or view, after the views that read it, which must go first; there are none without CASCADE."""
        found = self.relations.find(name)
        if found is None or isinstance(found, Table) != (kind == "TABLE"):
            raise UnknownRelation(name=name)
        readers = self.relations.readers(found.name)
        if readers and not cascade:
            self.relations.droppable(name, kind)
            raise DependentObjects(name=found.name, dependents=", ".join(sorted(v.name for v in readers)))
        return [*reversed(readers), found]

    def drop(self, relations: list[Table | AnyView]) -> None:
        drop(self.storage, relations)

    # altering

    def alter(self, read: Alteration) -> None:
        """Give a table another name, other names of columns, or more columns."""
        try:
            table = self.relations.table(read.table)
        except UnknownRelation as unknown:
            raise UnknownRelation(read.place, unknown.hint, name=read.table) from None
        match read:
            case statement.AddColumns():
                name, (columns, constraints) = table.name, self._with_more(table, read)
            case statement.RenameColumn():
                name, (columns, constraints) = table.name, _renamed(table, read)
            case statement.RenameTable():
                name, columns, constraints = read.new, table.columns, table.constraints
                if self.relations.find(name) not in (None, table):
                    raise DuplicateRelation(read.place, name=name)
        altered = Table(name, columns, constraints=constraints, id=table.id, role=table.role)
        readers = self._bound_again(table, altered)
        alter(self.storage, table, altered)
        self.relations.replace(readers)

    def _with_more(self, table: Table, read: statement.AddColumns) -> tuple[tuple[Column, ...], Constraints]:
        known = {c.name.lower() for c in table.columns}
        for column in read.columns:
            if column.name.lower() in known:
                raise DuplicateColumn(read.place, "choose another name", name=column.name)
        kinds = {c.name: c.type for c in read.columns}
        added = []
        for name, value in read.defaults:
            found = self.evaluator.constant(at_instant(value, self.timeline.now()), kinds[name], read.text)
            if found is not None and (types.is_nested(kinds[name]) or kinds[name] == "binary"):
                hint = "add it without a default, then UPDATE"
                raise UnsupportedType(read.place, hint, type=kinds[name])
            if found is not None:
                added.append((name, noted(found)))
        lacking = [n for n in read.required if n not in dict(added)]
        if lacking and table.size(self.timeline.time):
            reason = f"the rows {table.name} has would have no value for {', '.join(lacking)}"
            raise InvalidExpression(read.place, "give it a DEFAULT", reason=reason)
        old = table.constraints
        constraints = replace(
            old,
            required=(*old.required, *read.required),
            defaults=(*old.defaults, *((n, expression_text(v)) for n, v in read.defaults)),
            added=(*old.added, *added),
        )
        return (*table.columns, *read.columns), constraints

    def _bound_again(self, table: Table, altered: Table) -> list[AnyView]:
        """The views that read a table, bound to what it is to be; a refusal if one would not be the same."""
        trial = self.relations.copy()
        trial.remove(table)
        trial.add(altered)
        found: list[AnyView] = []
        broken: dict[str, str] = {}
        for reader in self.relations.readers(table.name):
            plain = reader.view if isinstance(reader, StoredView) else reader
            try:
                again = self.views.bound(plain.name, plain.query, plain.named, trial)
            except TidingsError as error:
                broken[plain.name] = error.message
                continue
            if again.columns != plain.columns:
                broken[plain.name] = "its columns would be others"
                continue
            new = self.views.over_again(reader, again, trial) if isinstance(reader, StoredView) else again
            trial.replace([new])
            found.append(new)
        if broken:
            raise BreaksViews(name=table.name, dependents=", ".join(broken), reason="; ".join(broken.values()))
        return found


def _renamed(table: Table, read: statement.RenameColumn) -> tuple[tuple[Column, ...], Constraints]:
    names = {c.name.lower(): c.name for c in table.columns}
    old = names.get(read.old.lower())
    if old is None:
        raise UnknownColumn(read.place, closest(read.old, names.values()), name=read.old)
    if read.new.lower() in names and read.new.lower() != old.lower():
        raise DuplicateColumn(read.place, "choose another name", name=read.new)
    columns = tuple(Column(read.new, c.type) if c.name == old else c for c in table.columns)
    constraints = table.constraints.renamed(old, read.new)
    return columns, replace(
        constraints, checks=tuple(with_column_renamed(c, old, read.new) for c in constraints.checks)
    )
