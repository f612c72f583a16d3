"""Creates, alters and drops tables.

A table is altered in the catalog alone: what was written before is read as if it had the new columns
(:mod:`tidings.store.relation.schema_evolution`).  Views that read it are bound to what it is to be; if that breaks one,
the alteration is refused (:mod:`tidings.define.binder`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidings.constraints.evaluate import Evaluator
from tidings.define.after_constraints import checked_facts, of_renamed_table, require_unmentioned, require_unnamed
from tidings.define.binder import AnyView, ViewBinder
from tidings.define.column_use import users
from tidings.define.widening import require_same_stored, widened, without_length
from tidings.errors import (
    ColumnInUse,
    DependentObjects,
    DuplicateColumn,
    DuplicateRelation,
    InvalidExpression,
    UnknownColumn,
    UnknownRelation,
    UnsupportedStatement,
    UnsupportedType,
    WrongKind,
    closest,
)
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.lang.sql import statement
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.statements.text_lengths import checked_length
from tidings.lang.sql.stored_text import condition_text, expression_text, with_column_renamed
from tidings.store.alter import alter, drop
from tidings.store.define import define
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.schema_evolution import value_text
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline

_FRAGMENTED = "drop the fragmented table, alter its fragments, and make it over them again"

Alteration = (
    statement.AddColumns
    | statement.DropColumns
    | statement.WidenColumn
    | statement.RenameColumn
    | statement.RenameTable
)


@dataclass(slots=True)
class Tables:
    """The tables of a database."""

    storage: Storage
    evaluator: Evaluator
    binder: ViewBinder
    timeline: Timeline

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def create(self, create: statement.CreateTable) -> None:
        """Create a table; its conditions and defaults are evaluated once before, so that bad ones are refused."""
        self.relations.check_free(create.name)
        for condition in create.checks:
            self.evaluator.check(create.name, create.columns, condition, create.text)
        column_types = {c.name: c.type for c in create.columns}
        for name, value in create.defaults:
            self.evaluator.constant(at_instant(value, self.timeline.now()), column_types[name], create.text)
        constraints = Constraints(
            key=create.key,
            required=create.required,
            checks=tuple(condition_text(c, create.name, column_types) for c in create.checks),
            defaults=tuple((name, expression_text(v)) for name, v in create.defaults),
            append_only=create.append_only,
            time_column=create.time_column,
            after=checked_facts(self.relations, create),
        )
        define(self.storage, Table(create.name, create.columns, constraints=constraints))

    # dropping

    def to_drop(self, name: str, kind: str, *, cascade: bool) -> list[Table | AnyView]:
        """A table or view, after the views that read it, which must go first; there are none without CASCADE."""
        relation = self.relations.find(name)
        if relation is None:
            raise UnknownRelation(None, closest(name, self.relations.names()), name=name)
        scheme = self.relations.fragments(name)
        is_table = isinstance(relation, Table) or scheme is not None
        if is_table != (kind == "TABLE"):
            other = "TABLE" if is_table else "VIEW"
            kinds = {"kind": f"a {other.lower()}", "expected": f"a {kind.lower()}"}
            raise WrongKind(None, f"DROP {other} drops it", name=relation.name, **kinds)
        if isinstance(relation, Table):
            require_unnamed(self.relations, relation, "dropped")
        fragments = [self.relations.table(n) for n in scheme.tables()] if scheme and scheme.owns_tables else []
        below = {relation.name, *(fragment.name for fragment in fragments)}
        found = {r.name: r for n in sorted(below) for r in self.relations.readers(n) if r.name not in below}
        readers = [r for r in self.relations.views() if r.name in found]
        if readers and not cascade:
            names = ", ".join(sorted(v.name for v in readers))
            raise DependentObjects(name=relation.name, change="dropped", dependents=names)
        return [*reversed(readers), relation, *fragments]

    def drop(self, relations: list[Table | AnyView]) -> None:
        """Drop tables and views, in this order."""
        drop(self.storage, relations)

    # altering

    def alter(self, alteration: Alteration) -> None:
        """Give a table another name, other names or types of columns, more columns or fewer."""
        if self.relations.fragments(alteration.table) is not None:
            statement_name = f"ALTER TABLE of {alteration.table}, which is fragmented"
            raise UnsupportedStatement(alteration.place, _FRAGMENTED, statement=statement_name)
        try:
            table = self.relations.table(alteration.table)
        except UnknownRelation as unknown:
            raise UnknownRelation(alteration.place, unknown.hint, name=alteration.table) from None
        whole = self.relations.fragment_of(table.name)
        if whole is not None:
            raise DependentObjects(None, _FRAGMENTED, name=table.name, change="altered", dependents=whole)
        match alteration:
            case statement.AddColumns():
                name, (columns, constraints) = table.name, self._with_added(table, alteration)
            case statement.DropColumns():
                name, (columns, constraints) = table.name, self._without_dropped(table, alteration)
            case statement.WidenColumn():
                name, (columns, constraints) = table.name, widened(self.relations, table, alteration)
            case statement.RenameColumn():
                name, (columns, constraints) = table.name, _renamed(self.relations, table, alteration)
            case statement.RenameTable():
                name, columns, constraints = alteration.new, table.columns, table.constraints
                require_unnamed(self.relations, table, "renamed")
                constraints = of_renamed_table(constraints, table.name, name)
                if self.relations.find(name) not in (None, table):
                    raise DuplicateRelation(alteration.place, name=name)
        altered = Table(name, columns, constraints=constraints, id=table.id, role=table.role)
        changed = self.relations.copy()
        changed.remove(table)
        changed.add(altered)
        readers = self.binder.rebound_readers(table.name, changed)
        require_same_stored(table.name, readers)
        alter(self.storage, table, altered)
        self.relations.replace([reader for _, reader in readers])

    def _with_added(self, table: Table, alteration: statement.AddColumns) -> tuple[tuple[Column, ...], Constraints]:
        """The columns and constraints of a table with the columns that are added; earlier rows have the defaults."""
        names = {c.name.lower() for c in table.columns}
        for column in alteration.columns:
            if column.name.lower() in names:
                raise DuplicateColumn(alteration.place, "choose another name", name=column.name)
        column_types = {c.name: c.type for c in alteration.columns}
        added = []
        for name, value in alteration.defaults:
            type = column_types[name]
            constant = self.evaluator.constant(at_instant(value, self.timeline.now()), type, alteration.text)
            if constant is not None and (types.is_nested(type) or type == "binary"):
                hint = "add it without a default, then UPDATE"
                raise UnsupportedType(alteration.place, hint, type=type)
            if constant is not None:
                added.append((name, value_text(constant)))
            lengths = (checked_length(expression_text(check), name) for check in alteration.checks)
            if any(length is not None and constant is not None and len(constant) > length for length in lengths):
                raise InvalidExpression(alteration.place, reason=f"the default of {name} is too long for it")
        lacking = [n for n in alteration.required if n not in dict(added)]
        if lacking and table.history.size(self.timeline.time):
            reason = f"the rows {table.name} has would have no value for {', '.join(lacking)}"
            raise InvalidExpression(alteration.place, "give it a DEFAULT", reason=reason)
        old = table.constraints
        constraints = replace(
            old,
            required=(*old.required, *alteration.required),
            defaults=(*old.defaults, *((n, expression_text(v)) for n, v in alteration.defaults)),
            checks=(*old.checks, *(condition_text(c, table.name, column_types) for c in alteration.checks)),
            added=(*old.added, *added),
        )
        return (*table.columns, *alteration.columns), constraints

    def _without_dropped(
        self, table: Table, alteration: statement.DropColumns
    ) -> tuple[tuple[Column, ...], Constraints]:
        """The columns and constraints of a table without the columns that are dropped, which nobody may use."""
        columns, constraints = table.columns, table.constraints
        for column in columns_to_drop(table, alteration):
            names = [c.name for c in columns]
            in_use = users(self.storage, table, column)
            if in_use:
                raise ColumnInUse(alteration.place, column=column, table=table.name, users=", ".join(in_use))
            place = names.index(column)
            columns, constraints = (*columns[:place], *columns[place + 1 :]), constraints.without(column, place)
            constraints = without_length(constraints, column)
        if not columns:
            hint = f"DROP TABLE {table.name} drops the table"
            raise UnsupportedStatement(alteration.place, hint, statement="ALTER TABLE DROP COLUMN of all columns")
        return columns, constraints


def columns_to_drop(table: Table, alteration: statement.DropColumns) -> list[str]:
    """The columns that a statement drops, as they are declared, each once; refused if one is not there."""
    names = {c.name.lower(): c.name for c in table.columns}
    for column, if_exists in alteration.columns:
        if column.lower() not in names and not if_exists:
            raise UnknownColumn(alteration.place, closest(column, names.values()), name=column)
    return list(dict.fromkeys(names[c.lower()] for c, _ in alteration.columns if c.lower() in names))


def _renamed(
    relations: Relations, table: Table, alteration: statement.RenameColumn
) -> tuple[tuple[Column, ...], Constraints]:
    """The columns and constraints of a table with one column under another name."""
    names = {c.name.lower(): c.name for c in table.columns}
    old = names.get(alteration.old.lower())
    if old is None:
        raise UnknownColumn(alteration.place, closest(alteration.old, names.values()), name=alteration.old)
    if alteration.new.lower() in names and alteration.new.lower() != old.lower():
        raise DuplicateColumn(alteration.place, "choose another name", name=alteration.new)
    require_unmentioned(relations, table, old, alteration.place)
    columns = tuple(Column(alteration.new, c.type) if c.name == old else c for c in table.columns)
    constraints = table.constraints.renamed(old, alteration.new)
    return columns, replace(
        constraints, checks=tuple(with_column_renamed(c, old, alteration.new) for c in constraints.checks)
    )
