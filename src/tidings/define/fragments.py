"""Creates fragmented tables: a view over the fragments, whose changes are routed to them.

What the statement declares of the whole becomes constraints of the fragments: the key and NOT NULL of the columns that
each has, and the condition of a fragment as a CHECK, so that rows which are written to a fragment itself fit as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tidings.constraints.evaluate import Evaluator
from tidings.constraints.fragment_keys import check_all_keys
from tidings.define.binder import ViewBinder
from tidings.define.fragment_tree import TreeBuilder, table_columns, written_tables
from tidings.errors import FragmentHasOtherRows, InvalidFragmentation
from tidings.ir.fragments import FragmentScheme, FragmentTree
from tidings.lang.sql import statement
from tidings.lang.sql.fragment_text import relation_text, whole_query
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.stored_text import columns_mentioned, condition_text, expression_text
from tidings.rewrite.pipeline import normalise
from tidings.store.define import define_together
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class FragmentedTables:
    """Makes the fragmented tables of one database."""

    scheduler: Scheduler
    evaluator: Evaluator
    binder: ViewBinder
    timeline: Timeline

    @property
    def relations(self) -> Relations:
        return self.scheduler.relations

    def create(self, create: statement.CreateFragmented) -> None:
        """Create the whole, and its fragments if their columns are given."""
        self.relations.check_free(create.name)
        if create.declared is None:
            self._over_tables(create)
        else:
            self._with_tables(create, create.declared)

    def _with_tables(self, create: statement.CreateFragmented, declared: statement.CreateTable) -> None:
        builder = TreeBuilder(create.name, {c.name: c for c in declared.columns}, declared.key)
        tree = builder.tree(create.whole)
        missing = [c.name for c in declared.columns if c.name not in tree.columns]
        if missing:
            raise InvalidFragmentation(create.whole.place, reason=f"no fragment has {', '.join(missing)}")
        self._check_conditions(create, builder)
        if declared.time_column is not None or declared.after:
            reason = "time = column and AFTER are for tables that are in one place"
            raise InvalidFragmentation(create.whole.place, reason=reason)
        self._check_declared(declared, tree, builder.key)
        scheme = FragmentScheme(tree, builder.key, owns_tables=True)
        tables = [self._table(leaf, builder, declared) for leaf in tree.leaves()]
        for table in tables:
            self.relations.check_free(table.name)
        self._define(create.name, scheme, tables)

    def _table(self, leaf: FragmentTree, builder: TreeBuilder, declared: statement.CreateTable) -> Table:
        """A new fragment."""
        checks = [condition_text(c, declared.name, builder.columns) for c in declared.checks]
        constraints = Constraints(
            key=builder.key,
            required=tuple(dict.fromkeys([*builder.key, *(c for c in declared.required if c in leaf.columns)])),
            checks=(*(c for c in checks if columns_mentioned(c) <= _lower(leaf)), *builder.conditions(leaf)),
            defaults=tuple((name, expression_text(v)) for name, v in declared.defaults if name in leaf.columns),
            append_only=declared.append_only,
        )
        return Table(leaf.table, tuple(builder.columns[name] for name in leaf.columns), constraints=constraints)

    def _check_declared(self, declared: statement.CreateTable, tree: FragmentTree, key: tuple[str, ...]) -> None:
        """Refuse constraints and defaults that are wrong, and those that no fragment can hold alone."""
        for condition in declared.checks:
            self.evaluator.check(declared.name, declared.columns, condition, declared.text)
            text = condition_text(condition, declared.name, [c.name for c in declared.columns])
            if not _covers(tree, columns_mentioned(text)):
                raise InvalidFragmentation(reason=f"CHECK ({text}) reads columns of several fragments")
        column_types = {c.name: c.type for c in declared.columns}
        for name, value in declared.defaults:
            self.evaluator.constant(at_instant(value, self.timeline.now()), column_types[name], declared.text)
        if declared.key and set(declared.key) != set(key):
            reason = f"its fragments are joined by {', '.join(key)}, which is not the primary key"
            raise InvalidFragmentation(reason=reason)

    def _over_tables(self, create: statement.CreateFragmented) -> None:
        tables = {leaf.table: self._existing(leaf.table, create) for leaf in written_tables(create.whole)}
        columns = table_columns(tables.values())
        keys = {frozenset(table.constraints.key) for table in tables.values()}
        key = next(iter(tables.values())).constraints.key if len(keys) == 1 else ()
        builder = TreeBuilder(create.name, columns, key, tables)
        tree = builder.tree(create.whole)
        self._check_conditions(create, builder)
        for table in tables.values():
            if builder.joins and set(table.constraints.key) != set(builder.key):
                reason = f"the primary key of {table.name} is not {', '.join(builder.key)}, by which it is joined"
                raise InvalidFragmentation(create.whole.place, reason=reason)
        demanded = {leaf.table: builder.conditions(leaf) for leaf in tree.leaves()}
        for name, conditions in demanded.items():
            for condition in conditions:
                self._check_rows(tables[name], condition)
        constrained = [(tables[name], _demanding(tables[name], conditions)) for name, conditions in demanded.items()]
        scheme = FragmentScheme(tree, builder.key)
        check_all_keys(create.name, scheme, self._rows)
        self._define(create.name, scheme, [], constrained)

    def _existing(self, name: str, create: statement.CreateFragmented) -> Table:
        table = self.relations.table(name)
        if table.role != "table" or table.constraints.time_column is not None:
            raise InvalidFragmentation(create.whole.place, reason=f"{name} is no plain table")
        return table

    def _check_conditions(self, create: statement.CreateFragmented, builder: TreeBuilder) -> None:
        for columns, where in builder.written:
            self.evaluator.check(create.name, columns, where, create.text)

    def _check_rows(self, table: Table, condition: str) -> None:
        """Refuse a table with rows for which the condition of the fragment is not true."""
        rows = self._rows(f"SELECT * FROM {relation_text(table.name)} WHERE NOT ({condition})")
        if rows.num_rows:
            raise FragmentHasOtherRows(table=table.name, condition=condition, row=rows.slice(0, 1).to_pylist()[0])

    def _rows(self, query: str) -> pa.Table:
        """The rows of a query over tables that are there."""
        view = self.binder.view("rows of fragments", query, ())
        at, executor = self.timeline.time, self.scheduler.executor
        rows: pa.Table = executor.engines.query(normalise(view.plan, {}), executor.sources(0, at), at)
        return rows

    def _define(
        self,
        name: str,
        scheme: FragmentScheme,
        tables: list[Table],
        constrained: Sequence[tuple[Table, Constraints]] = (),
    ) -> None:
        among = self.relations.copy()
        for table in tables:
            among.add(table)
        view = self.binder.view(name, whole_query(scheme.tree, scheme.key), (), among)
        define_together(self.scheduler.storage, tables, replace(view, fragments=scheme), constrained)


def _demanding(table: Table, conditions: tuple[str, ...]) -> Constraints:
    """The constraints of a table that is to have only rows that meet conditions."""
    old = table.constraints
    return replace(old, checks=(*old.checks, *(c for c in conditions if c not in old.checks)))


def _covers(tree: FragmentTree, columns: frozenset[str]) -> bool:
    """Whether each row is judged by a condition at some fragment."""
    match tree.kind:
        case "table":
            return columns <= _lower(tree)
        case "union":
            return all(_covers(part, columns) for part in tree.parts)
        case "join":
            return any(_covers(part, columns) for part in tree.parts)


def _lower(tree: FragmentTree) -> set[str]:
    return {name.lower() for name in tree.columns}
