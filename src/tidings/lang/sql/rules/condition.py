"""Binds the condition of a rule: a query that may read ``CHANGES(…)`` and the parameters of the rule.

- ``CHANGES(t)`` is replaced by a relation with a row per change of a table, view or query: the old values in columns
  ``old_…``, the new ones in ``new_…``, paired by key.
- Parameters are the columns of a table with a row per activation.  It is joined into every SELECT, so that one query
  answers for all activations, and each row of the result says which activation it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from tidings.errors import InvalidRule, Place, UnknownColumn, UnknownRelation, closest
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation, Scan
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer, Namespace
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.event import Event, SignalEvent, TableEvent, name_of, walk
from tidings.lang.sql.statements.rule import CreateRule

CHANGE = "change"
"""The column of ``WHEN CHANGED`` that says what happened to a row: ``came``, ``went`` or, by key, ``changed``."""


@dataclass(frozen=True, slots=True)
class ExtendedNamespace:
    """A namespace with a few more relations, which hide those of the same name."""

    namespace: Namespace
    more: Mapping[str, tuple[Column, ...]]

    def names(self) -> list[str]:
        return [*self.namespace.names(), *self.more]

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        name = next((n for n in self.more if n.lower() == relation.lower()), None)
        return self.namespace.columns(relation) if name is None else (name, self.more[name])


@dataclass(frozen=True, slots=True)
class ChangesOf:
    """The argument of ``CHANGES(…)``: a table, view or query, and the columns by which old and new rows are paired."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    plan: Relation

    @property
    def relation(self) -> str:
        """The name of the relation of changes in the condition."""
        return f"changes_of_{self.name}"

    @property
    def side_by_side(self) -> tuple[Column, ...]:
        """The columns of the relation of changes: the old ones, then the new ones."""
        return tuple(Column(f"{age}_{c.name}", c.type) for age in ("old", "new") for c in self.columns)


@dataclass(frozen=True, slots=True)
class EventRows:
    """The rows of a named part of an event, as a relation of the condition."""

    event: Event
    name: str
    columns: tuple[Column, ...]

    @property
    def relation(self) -> str:
        """The name of the relation in the condition."""
        return f"rows_of_event_{self.name}"


@dataclass(frozen=True, slots=True)
class BoundCondition:
    """The condition of a rule with its names resolved."""

    plan: Relation
    changes_of: ChangesOf | None
    """What the condition reads the changes of, if anything."""
    activations: str | None
    """The table of the rule's activations, if it has parameters."""
    event_rows: tuple[EventRows, ...] = ()
    """The rows of parts of the rule's event that the condition reads."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the condition's rows."""
        return tuple(Column(f.name, f.type) for f in self.plan.fields)


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """A table or view whose changes can be read, and its primary key, if it has one."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]


FindSource = Callable[[str], ChangeSource | None]
"""Finds a table or view by its name."""


def activations_of(rule: str) -> str:
    """The name of the table with a row per activation of a rule."""
    return f"activations_of_{rule}"


def bind_condition(
    statement: CreateRule, namespace: Namespace, find_source: FindSource, analyzer: Analyzer
) -> BoundCondition:
    """Bind the condition of a rule, or say what is wrong with it and where."""
    return _ConditionBinder(statement, namespace, find_source, analyzer).bind()


def is_plain(tree: exp.Select) -> bool:
    """Whether every row of a SELECT is made of one row of each of its sources."""
    groups = any(tree.args.get(part) for part in ("group", "having", "distinct", "limit", "qualify"))
    computed = (exp.AggFunc, exp.Window, exp.UDTF)
    return not groups and not any(isinstance(n, computed) for item in tree.expressions for n in item.walk())


@dataclass(frozen=True, slots=True)
class _ConditionBinder:
    """Binds the condition of one rule."""

    statement: CreateRule
    namespace: Namespace
    find_source: FindSource
    analyzer: Analyzer

    def bind(self) -> BoundCondition:
        statement = self.statement
        tree, more = statement.query.copy(), dict[str, tuple[Column, ...]]()
        event_rows = self._replace_event_rows(tree)
        more |= {rows.relation: rows.columns for rows in event_rows}
        changes_of = self._replace_changes(tree)
        if changes_of is not None:
            more[changes_of.relation] = changes_of.side_by_side
        if statement.parameters:
            more[activations_of(statement.name)] = statement.parameters
            self._join_activations(tree)
        plan = bind(tree, statement.text, ExtendedNamespace(self.namespace, more), self.analyzer, statement.name)
        self._check_columns([f.name for f in plan.fields])
        activations = activations_of(statement.name) if statement.parameters else None
        return BoundCondition(plan, changes_of, activations, event_rows)

    def _check_columns(self, names: list[str]) -> None:
        """Check that the columns of the option ``key`` are there, and that the column ``change`` is free."""
        statement, lower_names = self.statement, {n.lower() for n in names}
        for key in statement.options.key:
            if key.lower() not in lower_names:
                raise UnknownColumn(statement.place, closest(key, names), name=key)
        if CHANGE in lower_names and statement.when == "changed":
            reason = f"the rows of WHEN CHANGED have a column {CHANGE} already"
            raise InvalidRule(statement.place, name=statement.name, reason=reason)

    # rows of events

    def _replace_event_rows(self, tree: Expression) -> tuple[EventRows, ...]:
        """Replace the names of events by relations with the rows of these events."""
        events = () if self.statement.event is None else walk(self.statement.event)
        named = {name.lower(): event for event in events if (name := name_of(event)) is not None}
        read: dict[str, EventRows] = {}
        for table in list(tree.find_all(exp.Table)):
            key = table.name.lower()
            if key in named and not table.db:
                rows = read.setdefault(key, EventRows(named[key], table.name, self._event_columns(named[key])))
                table.set("alias", table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name)))
                table.set("this", exp.to_identifier(rows.relation, quoted=True))
        return tuple(read.values())

    def _event_columns(self, event: Event) -> tuple[Column, ...]:
        """The columns of the rows of an event; those of an update have the values before, too."""
        if not isinstance(event, TableEvent | SignalEvent):
            return (Column("instant", "timestamp"),)
        source = self.find_source(event.table if isinstance(event, TableEvent) else event.event)
        columns = () if source is None else source.columns
        is_update = isinstance(event, TableEvent) and event.kind == "update"
        return (*columns, *(Column(f"old_{c.name}", c.type) for c in columns if is_update))

    # CHANGES

    def _replace_changes(self, tree: Expression) -> ChangesOf | None:
        """Replace ``CHANGES(relation or query[, key])`` by the relation of these changes; None if it is not there."""
        calls = [table for table in tree.find_all(exp.Table) if _is_changes(table)]
        if not calls:
            return None
        call, at = calls[0], place(self.statement.text, calls[0])
        if len(calls) > 1:
            self._refuse(at, "CHANGES stands more than once in its condition")
        changes_of = self._changes_of(call.this.expressions, at)
        alias = call.alias or "changes"
        name = exp.to_identifier(changes_of.relation, quoted=True)
        if isinstance(call.this.expressions[0], exp.Column):
            name.meta.update(call.this.expressions[0].this.meta)
        relation = exp.Table(this=name, alias=exp.TableAlias(this=exp.to_identifier(alias)))
        relation.set("joins", call.args.get("joins"))
        call.replace(relation)
        for column in list(tree.find_all(exp.Column)):
            if column.table.lower() in ("old", "new"):
                self._replace_old_or_new(column, changes_of, alias)
        return changes_of

    def _changes_of(self, arguments: list[Expression], at: Place | None) -> ChangesOf:
        first, *keys = arguments or [exp.Null()]
        query = first.this if isinstance(first, exp.Subquery) else first
        if not isinstance(query, exp.Column | exp.Query) or not all(isinstance(k, exp.Column) for k in keys):
            self._refuse(at, "CHANGES takes a table, a view or a query, and perhaps the columns of its key")
        primary_key: tuple[str, ...] = ()
        if isinstance(query, exp.Query):
            name = f"query of {self.statement.name}"
            plan = bind(query, self.statement.text, self.namespace, self.analyzer, name)
            columns = tuple(Column(f.name, f.type) for f in plan.fields)
        else:
            source = self.find_source(query.name)
            if source is None:
                hint = closest(query.name, self.namespace.names())
                raise UnknownRelation(place(self.statement.text, query), hint, name=query.name)
            name, columns, primary_key = source.name, source.columns, source.key
            plan = Scan(name, name, columns)
        names = {c.name.lower(): c.name for c in columns}
        for key in keys:
            if key.name.lower() not in names:
                hint = closest(key.name, names.values())
                raise UnknownColumn(place(self.statement.text, key), hint, name=key.name)
        return ChangesOf(name, columns, tuple(names[k.name.lower()] for k in keys) or primary_key, plan)

    def _replace_old_or_new(self, column: exp.Column, changes_of: ChangesOf, alias: str) -> None:
        """Replace ``new.x`` by the column ``new_x``; in the result it is called ``x``, and the old one ``old_x``."""
        age, names = column.table.lower(), {c.name.lower(): c.name for c in changes_of.columns}
        name = names.get(column.name.lower())
        if name is None:
            hint = closest(column.name, names.values())
            raise UnknownColumn(place(self.statement.text, column), hint, name=column.sql("spark"))
        is_item = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
        column.this.set("this", f"{age}_{name}")
        column.set("table", exp.to_identifier(alias))
        if is_item:
            column.replace(column.copy().as_(name if age == "new" else f"old_{name}", quoted=True))

    # parameters

    def _join_activations(self, tree: Expression) -> None:
        """Join the table of activations into every SELECT, and add the parameters to the columns of its result."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if isinstance(tree, exp.Union) and not tree.args.get("distinct"):
            for side in (tree.this, tree.expression):
                self._join_activations(side)
            return
        if not isinstance(tree, exp.Select) or not is_plain(tree):
            reason = "a condition with parameters is a SELECT without groups, windows, DISTINCT or LIMIT"
            self._refuse(place(self.statement.text, tree), reason, "put the rest of it in a view")
        table = exp.Table(this=exp.to_identifier(activations_of(self.statement.name), quoted=True))
        table.set("alias", exp.TableAlias(this=exp.to_identifier("activation")))
        if tree.args.get("from_") is None:
            tree.set("from_", exp.From(this=table))
        else:
            tree.append("joins", exp.Join(this=table, kind="CROSS"))
        if any(item.is_star for item in tree.expressions):
            return
        names = {item.alias_or_name.lower() for item in tree.expressions}
        for parameter in self.statement.parameters:
            if parameter.name.lower() not in names:
                column = exp.column(exp.to_identifier(parameter.name, quoted=True), table="activation")
                tree.append("expressions", column.as_(parameter.name, quoted=True))

    def _refuse(self, at: Place | None, reason: str, hint: str | None = None) -> NoReturn:
        raise InvalidRule(at, hint, name=self.statement.name, reason=reason)


def _is_changes(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Anonymous) and str(table.this.this).upper() == "CHANGES"
