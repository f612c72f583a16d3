"""``CONSTRAINT name (columns) AFTER table (columns)``: what may be declared, and what depends on it.

Both tables only grow and say when their rows came.  The constraint is enforced by looking rows up by the primary key of
the table that is named; other columns can be named only by a constraint that is ``NOT ENFORCED``.
"""

from __future__ import annotations

from dataclasses import replace

from tidings.errors import (
    ColumnInUse,
    DependentObjects,
    InvalidSyntax,
    Place,
    UnknownColumn,
    UnknownRelation,
    closest,
)
from tidings.ir.column import Column
from tidings.ir.standard_form import After
from tidings.lang.sql.statement import CreateTable
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


def checked_facts(relations: Relations, create: CreateTable) -> tuple[After, ...]:
    """The AFTER constraints of a table that is made, with all names as they were declared."""
    return tuple(_checked(relations, create, fact) for fact in create.after)


def _checked(relations: Relations, create: CreateTable, fact: After) -> After:
    if fact.relation.lower() == create.name.lower():
        name, columns, key, time = create.name, create.columns, create.key, create.time_column
    else:
        try:
            named = relations.table(fact.relation)
        except UnknownRelation as unknown:
            raise UnknownRelation(_place(create, fact.relation), unknown.hint, name=fact.relation) from None
        name, columns = named.name, named.columns
        key, time = named.constraints.key, named.constraints.time_column
    if create.time_column is None or time is None:
        reason = f"{name if create.time_column else create.name} does not say when its rows came"
        hint = "AFTER is for tables made WITH (append_only, time = column)"
        raise InvalidSyntax(_place(create, fact.name), hint, reason=reason)
    declared = tuple(_declared(create, column, columns) for column in fact.named)
    types = {c.name: c.type for c in (*create.columns, *columns)}
    for own, other in zip(fact.columns, declared, strict=True):
        if types[own] != types[other]:
            reason = f"{own} is {types[own]} and {other} is {types[other]}"
            raise InvalidSyntax(_place(create, fact.name), reason=reason)
    if fact.enforced and declared != key:
        reason = f"{', '.join(declared)} is not the primary key of {name}, by which rows are looked up"
        raise InvalidSyntax(_place(create, fact.name), "declare it NOT ENFORCED", reason=reason)
    return After(fact.name, fact.columns, name, declared, fact.enforced)


def _declared(create: CreateTable, column: str, columns: tuple[Column, ...]) -> str:
    declared = next((c.name for c in columns if c.name.lower() == column.lower()), None)
    if declared is None:
        raise UnknownColumn(_place(create, column), closest(column, [c.name for c in columns]), name=column)
    return declared


def _place(create: CreateTable, word: str) -> Place | None:
    start = create.text.lower().find(word.lower())
    return None if start < 0 else Place(create.text, start, start + len(word))


def facts_about(relations: Relations, table: Table, column: str) -> list[After]:
    """The AFTER constraints, of a table and of others, that mention a column of it."""
    own = [fact for fact in table.constraints.after if column in fact.columns]
    naming = [fact for fact in _facts(relations) if fact.relation == table.name and column in fact.named]
    return list(dict.fromkeys([*own, *naming]))


def require_unmentioned(relations: Relations, table: Table, column: str, place: Place | None) -> None:
    """Refuse to rename a column that AFTER constraints mention."""
    facts = facts_about(relations, table, column)
    if facts:
        names = ", ".join(f"CONSTRAINT {fact.name}" for fact in facts)
        raise ColumnInUse(place, column=column, table=table.name, users=names)


def require_unnamed(relations: Relations, table: Table, change: str) -> None:
    """Refuse to drop or rename a table that AFTER constraints of other tables name."""
    own = set(table.constraints.after)
    facts = [fact for fact in _facts(relations) if fact.relation == table.name and fact not in own]
    if facts:
        names = ", ".join(f"CONSTRAINT {fact.name}" for fact in facts)
        raise DependentObjects(name=table.name, change=change, dependents=names)


def of_renamed_table(constraints: Constraints, old: str, new: str) -> Constraints:
    """The constraints of a table that gets another name, which its own AFTER constraints may mention."""
    if not constraints.after:
        return constraints
    facts = (fact._replace(relation=new) if fact.relation == old else fact for fact in constraints.after)
    return replace(constraints, after=tuple(facts))


def _facts(relations: Relations) -> list[After]:
    tables = (relations.find(name) for name in relations.names())
    return [fact for table in tables if isinstance(table, Table) for fact in table.constraints.after]
