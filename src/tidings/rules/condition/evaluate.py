"""Conditions: queries whose rows are the instances of a rule.

A condition is a plan like a view's, and its instances are found by the same differentials.  Three things are its own:

- ``CHANGES(t)`` stands for a relation with a row per change of a table, view or query, the old values in ``old_…`` and
  the new ones in ``new_…``, paired by key.  It has no rows but those of the stretch that is judged.
- Parameters are the columns of a table, with a row per activation, that is joined in: one join for all activations.
- Rows that come true because an activation came, or false because one went, do not count, unless the rule takes what
  holds already (``initial``).

An instance is a row, or what the columns of the option ``key`` say it is: then other values in the rest of the row do
not make it another one.

Strict: the rows that the query has after the stretch and did not have before.  Nervous: also those that it has and
would not have without the rows that came.  An instance that was true and is touched is one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import (
    at_instant,
    came,
    consolidated,
    larger_bag,
    paired,
    rows_that_came,
    rows_that_went,
    went,
    without_version,
)
from tidings.engine.row_values import row_keys
from tidings.errors import InvalidRule, Place, UnknownColumn, UnknownRelation, closest
from tidings.ir.expression import TIME, WEIGHT, Expression
from tidings.ir.relation import Column, Relation, Scan
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.rule import CreateRule
from tidings.read import in_transaction
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.rule import CHANGE, ChangesOf, Rule
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.waves.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class ExtendedNamespace:
    """A catalog, and a few relations that are known here alone."""

    relations: Relations
    more: Mapping[str, tuple[Column, ...]]

    def names(self) -> list[str]:
        return [*self.relations.names(), *self.more]

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        found = next((n for n in self.more if n.lower() == relation.lower()), None)
        return self.relations.columns(relation) if found is None else (found, self.more[found])


@dataclass(frozen=True, slots=True)
class BoundCondition:
    """A bound condition, the table whose changes it looks at, and the table of its parameters."""

    plan: Relation
    changes_of: ChangesOf | None
    activations: str | None


def activations_of(rule: str) -> str:
    """The name of the table with a row per activation of a rule."""
    return f"activations_of_{rule}"


def bound(read: CreateRule, relations: Relations, analyzer: Analyzer) -> BoundCondition:
    """The condition of a rule, its names resolved."""
    tree, more = read.query.copy(), dict[str, tuple[Column, ...]]()
    changes = _changes(tree, read, relations, analyzer)
    if changes is not None:
        more[changes.relation] = changes.side_by_side
    if read.parameters:
        more[activations_of(read.name)] = read.parameters
        _join_activations(tree, read)
    plan = bind(tree, read.text, ExtendedNamespace(relations, more), analyzer, read.name)
    names = [f.name for f in plan.fields]
    for key in read.options.key:
        if key.lower() not in {n.lower() for n in names}:
            raise UnknownColumn(read.place, closest(key, names), name=key)
    if any(f.name.lower() == CHANGE for f in plan.fields) and read.when == "changed":
        raise InvalidRule(read.place, name=read.name, reason=f"the rows of WHEN CHANGED have a column {CHANGE} already")
    return BoundCondition(plan, changes, activations_of(read.name) if read.parameters else None)


# CHANGES


def _is_changes(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Anonymous) and str(table.this.this).upper() == "CHANGES"


def _changes(tree: Expression, read: CreateRule, relations: Relations, analyzer: Analyzer) -> ChangesOf | None:
    """Put a relation in the place of ``CHANGES(relation or query[, key])``; what it is of, if there is one."""
    calls = [n for n in tree.find_all(exp.Table) if _is_changes(n)]
    if not calls:
        return None
    at = place(read.text, calls[0])
    if len(calls) > 1:
        raise InvalidRule(at, name=read.name, reason="CHANGES stands more than once in its condition")
    of = _changes_of(calls[0].this.expressions, at, read, relations, analyzer)
    alias = calls[0].alias or "changes"
    name = exp.to_identifier(of.relation, quoted=True)
    if isinstance(calls[0].this.expressions[0], exp.Column):
        name.meta.update(calls[0].this.expressions[0].this.meta)
    stood = exp.Table(this=name, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    stood.set("joins", calls[0].args.get("joins"))
    calls[0].replace(stood)
    for column in list(tree.find_all(exp.Column)):
        if column.table.lower() in ("old", "new"):
            _old_or_new(column, of, alias, read)
    return of


def _changes_of(
    arguments: list[Expression], at: Place | None, read: CreateRule, relations: Relations, analyzer: Analyzer
) -> ChangesOf:
    first, *keys = arguments or [exp.Null()]
    query = first.this if isinstance(first, exp.Subquery) else first
    if not isinstance(query, exp.Column | exp.Query) or not all(isinstance(k, exp.Column) for k in keys):
        reason = "CHANGES takes a table, a view or a query, and perhaps the columns of its key"
        raise InvalidRule(at, name=read.name, reason=reason)
    own: tuple[str, ...] = ()
    if isinstance(query, exp.Query):
        name = f"query of {read.name}"
        plan = bind(query, read.text, relations, analyzer, name)
        columns = tuple(Column(f.name, f.type) for f in plan.fields)
    else:
        found = relations.find(query.name)
        if found is None:
            hint = closest(query.name, relations.names())
            raise UnknownRelation(place(read.text, query), hint, name=query.name)
        name, columns, plan = found.name, found.columns, Scan(found.name, found.name, found.columns)
        own = found.constraints.key if isinstance(found, Table) else ()
    names = {c.name.lower(): c.name for c in columns}
    for wanted in keys:
        if wanted.name.lower() not in names:
            raise UnknownColumn(place(read.text, wanted), closest(wanted.name, names.values()), name=wanted.name)
    return ChangesOf(name, columns, tuple(names[k.name.lower()] for k in keys) or own, plan)


def _old_or_new(column: exp.Column, of: ChangesOf, alias: str, read: CreateRule) -> None:
    """``new.x`` is one of the columns side by side; as a column of the result it is called ``x``, the old ``old_x``."""
    age, names = column.table.lower(), {c.name.lower(): c.name for c in of.columns}
    own = names.get(column.name.lower())
    if own is None:
        raise UnknownColumn(place(read.text, column), closest(column.name, names.values()), name=column.sql("spark"))
    is_item = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
    column.this.set("this", f"{age}_{own}")
    column.set("table", exp.to_identifier(alias))
    if is_item:
        column.replace(column.copy().as_(own if age == "new" else f"old_{own}", quoted=True))


def changes_entry(of: ChangesOf, entry: pa.Table, time: int) -> pa.Table:
    """The rows of ``CHANGES(…)`` for some changes of the table or view."""
    rows = without_version(entry)
    pairs = paired(entry, of.key)
    arrays = []
    for side in (0, 1):
        places = pa.array([pair[side] for pair in pairs], pa.int64())
        arrays += [c.combine_chunks().take(places) for c in rows.columns]
    found = pa.Table.from_arrays(arrays, schema=arrow_schema(of.side_by_side))
    return consolidated(of.side_by_side, found, [1] * found.num_rows, time)


# parameters


def _join_activations(tree: Expression, read: CreateRule) -> None:
    """Join the table of activations into every SELECT of a condition, and let its rows say which one they are of."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        if isinstance(tree, exp.Union) and not tree.args.get("distinct"):
            for side in (tree.this, tree.expression):
                _join_activations(side, read)
            return
        _not_with_parameters(tree, read)
    if not isinstance(tree, exp.Select):
        _not_with_parameters(tree, read)
    assert isinstance(tree, exp.Select)
    if not is_plain(tree):
        _not_with_parameters(tree, read)
    name = exp.Table(this=exp.to_identifier(activations_of(read.name), quoted=True))
    name.set("alias", exp.TableAlias(this=exp.to_identifier("activation")))
    if tree.args.get("from_") is None:
        tree.set("from_", exp.From(this=name))
    else:
        tree.append("joins", exp.Join(this=name, kind="CROSS"))
    given = {item.alias_or_name.lower() for item in tree.expressions}
    if any(item.is_star for item in tree.expressions):
        return
    for parameter in read.parameters:
        if parameter.name.lower() not in given:
            own = exp.column(exp.to_identifier(parameter.name, quoted=True), table="activation")
            tree.append("expressions", own.as_(parameter.name, quoted=True))


def is_plain(tree: exp.Select) -> bool:
    """Whether every row of a SELECT comes of rows of its sources, one each."""
    grouped = any(tree.args.get(part) for part in ("group", "having", "distinct", "limit", "qualify"))
    made = (exp.AggFunc, exp.Window, exp.UDTF)
    return not grouped and not any(isinstance(n, made) for item in tree.expressions for n in item.walk())


def _not_with_parameters(tree: Expression, read: CreateRule) -> None:
    reason = "a condition with parameters is a SELECT without groups, windows, DISTINCT or LIMIT"
    raise InvalidRule(place(read.text, tree), "put the rest of it in a view", name=read.name, reason=reason)


# instances


Judge = Callable[[Rule, TransactionSlice, NetEntries, NetEntries, bool], pa.Table]
"""What some changes on top of others make of the rows of a rule's condition, in a stretch: all that was done, or only
the rows that came, on top of those that stayed."""


def instances(scheduler: Scheduler, rule: Rule, tx_slice: TransactionSlice, judge: Judge) -> pa.Table:
    """The rows for which a rule is triggered by a stretch of a transaction, each as often as it is there."""
    before, changes = _as_seen(scheduler, rule, tx_slice)
    heard = rule.influents | ({rule.changes_of.relation} if rule.changes_of is not None else set())
    if not changes.keys() & heard:
        return arrow_schema(rule.columns).empty_table()
    found = judge(rule, tx_slice, before, changes, False)
    if not found.num_rows and not rule.options.nervous:
        return found
    if rule.options.nervous and rule.when == "begins":
        gone = {n: went(e) for n, e in changes.items()}
        common = {n: _together(before.get(n), e) for n, e in gone.items()}
        arrived = {n: rows for n, e in changes.items() if (rows := came(e)).num_rows}
        touched = judge(rule, tx_slice, before | common, arrived, True)
        return larger_bag(rule.columns, told(rule, found), rows_that_came(touched))
    return told(rule, found)


def _as_seen(scheduler: Scheduler, rule: Rule, tx_slice: TransactionSlice) -> tuple[NetEntries, NetEntries]:
    """What was done before a stretch and in it, as a rule sees it."""
    before, changes = dict(tx_slice.before), dict(tx_slice.changes)
    if rule.activations is not None and not rule.options.initial and rule.activations in changes:
        before[rule.activations] = _together(before.get(rule.activations), changes.pop(rule.activations))
    of = rule.changes_of
    if of is not None and changes:
        before[of.relation] = arrow_schema(of.side_by_side, versioned=True).empty_table()
        entry = changes.get(of.name)
        if not isinstance(scheduler.relations.find(of.name), Table):
            entry = in_transaction.delta(scheduler, of.relation, of.plan, tx_slice.at, before, changes)
        if entry is not None and entry.num_rows:
            changes[of.relation] = changes_entry(of, entry, tx_slice.at + 1)
    return before, changes


def _together(one: pa.Table | None, other: pa.Table) -> pa.Table:
    """Two log entries as one of no instant."""
    rows = other if one is None else pa.concat_tables([one, other])
    return at_instant(rows, 0)


def identified(rule: Rule, delta: pa.Table) -> pa.Table:
    """Changes without those in which an instance only takes other values: by its key it was there and still is."""
    if not rule.key or rule.when == "changed":
        return delta
    keys = row_keys(delta.select([*rule.key, TIME]))
    signs: dict[object, set[bool]] = {}
    for key, weight in zip(keys, delta.column(WEIGHT).to_pylist(), strict=True):
        signs.setdefault(key, set()).add(weight > 0)
    return delta.filter(pa.array([len(signs[key]) == 1 for key in keys], pa.bool_()))


def told(rule: Rule, delta: pa.Table) -> pa.Table:
    """The rows of a condition's changes that a rule is told of."""
    match rule.when:
        case "begins":
            return rows_that_came(identified(rule, delta))
        case "gone":
            return rows_that_went(identified(rule, delta))
        case "changed" if rule.key:
            return _beside(rule, delta)
        case "changed":
            old, new = rows_that_went(delta), rows_that_came(delta)
            marks = pa.array(["went"] * old.num_rows + ["came"] * new.num_rows, pa.string())
            return pa.concat_tables([old, new]).append_column(CHANGE, marks)


def _beside(rule: Rule, delta: pa.Table) -> pa.Table:
    """Changes by key, one row each: the values there are now, and what was there before."""
    own = tuple(Column(f.name, f.type) for f in rule.plan.fields)
    pairs = paired(delta, rule.key)
    rows = without_version(delta)
    there = rows.take(pa.array([old if new is None else new for old, new in pairs], pa.int64()))
    before = pa.array([None if new is None else old for old, new in pairs], pa.int64())
    marks = ["came" if old is None else "went" if new is None else "changed" for old, new in pairs]
    others = [c.name for c in own if c.name not in rule.key]
    arrays = [*there.columns, pa.array(marks, pa.string())]
    arrays += [rows.column(name).combine_chunks().take(before) for name in others]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(rule.columns))
