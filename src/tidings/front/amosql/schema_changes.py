"""Makes the tables, views and rules that a schema asks for, of those that another has asked for.

Views and rules are replaced in place, so what reads them stays.  Only a stored function that comes to be overloaded
needs more: its table gets another name, and a view takes the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from tidings.errors import DependentObjects, DuplicateRelation, DuplicateRule, Place
from tidings.front.statement_runner import StatementRunner
from tidings.lang.amosql.sql_definition import Defined
from tidings.lang.amosql.sql_update import clear_text, copy_text, drop_text, renamed_text, switch_text
from tidings.lang.sql import statement as sql
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.rules.rule_store import RuleRecord
from tidings.write.transaction import Transaction


@dataclass(frozen=True, slots=True)
class SchemaChanges:
    """Changes what one database has."""

    statements: StatementRunner

    @property
    def relations(self) -> Relations:
        return self.statements.maintenance.storage.relations

    def run(self, text: str) -> None:
        """Run a statement of SQL."""
        for statement in sql.read(text):
            self.statements.run(statement)

    def is_there(self, wanted: Defined) -> bool:
        """Whether the database has a table, view or rule of this kind and name."""
        if wanted.kind == "rule":
            return self._rule(wanted.name) is not None
        relation = self.relations.find(wanted.name)
        return relation is not None and isinstance(relation, Table) == (wanted.kind == "table")

    def _rule(self, name: str) -> RuleRecord | None:
        return self.statements.transactions.context.registry.find(name)

    # what cannot be

    def check_free(self, old: list[Defined], new: list[Defined], place: Place) -> None:
        """Refuse names that tables, views or rules of SQL have already."""
        known = {(d.kind == "rule", d.name) for d in old}
        for wanted in new:
            if (wanted.kind == "rule", wanted.name) in known:
                continue
            if wanted.kind == "rule" and self._rule(wanted.name) is not None:
                raise DuplicateRule(place, name=wanted.name)
            if wanted.kind != "rule" and self.relations.find(wanted.name) is not None:
                raise DuplicateRelation(place, name=wanted.name)

    def check_movable(self, old: list[Defined], new: list[Defined]) -> None:
        """Refuse to give tables other names that views and rules of SQL read."""
        own = {d.name for d in old}
        for name, _ in self._moved(old, new, reverting=False):
            readers = [view.name for view in self.relations.readers(name)]
            readers += [rule.name for rule in self.statements.dependencies.dependents(name)]
            others = sorted(set(readers) - own)
            if others:
                hint = "drop those first: a function that is overloaded becomes a view"
                raise DependentObjects(None, hint, name=name, change="overloaded", dependents=", ".join(others))

    # changing

    def apply(
        self, old: list[Defined], new: list[Defined], *, reverting: bool = False, unfinished: bool = False
    ) -> None:
        """Make what a schema asks for of what another has asked for.

        If that was begun before and is ``unfinished``, or ``reverting`` to what was there, all views and rules are made
        again.
        """
        wanted = {d.name: d for d in new if d.kind != "rule"}
        rules = {d.name: d for d in new if d.kind == "rule"}
        for gone in (d for d in old if d.kind == "rule" and d.name not in rules):
            self._drop(gone)
        moved = self._moved(old, new, reverting=reverting)
        kept_views = [d for d in old if d.kind == "view" and d.name in wanted]
        for table, target in moved:
            self._move(table, target, kept_views, [d for d in old if d.kind == "rule" and d.name in rules])
        anew = reverting or unfinished or bool(moved)
        unchanged = set() if anew else {(d.name, d.text) for d in old}
        for relation in wanted.values():
            is_same = relation.kind == "table" or (relation.name, relation.text) in unchanged
            if not (is_same and self.is_there(relation)):
                self.run(relation.text)
        for rule in rules.values():
            if not ((rule.name, rule.text) in unchanged and self.is_there(rule)):
                self._put_rule(rule)
        for gone in reversed([d for d in old if d.kind != "rule" and d.name not in wanted]):
            self._drop(gone)

    def _drop(self, gone: Defined) -> None:
        if self.is_there(gone):
            self.run(drop_text(gone.kind, gone.name))

    def _put_rule(self, rule: Defined, change: Callable[[str], str] = str) -> None:
        """Make a rule, or replace it; it stays switched on if it was."""
        before = self._rule(rule.name)
        self.run(change(rule.text))
        after = self._rule(rule.name)
        if before is not None and before.enabled and after is not None and not after.enabled:
            self.run(switch_text(rule.name, on=True))

    # tables that get other names

    def _moved(self, old: list[Defined], new: list[Defined], *, reverting: bool) -> list[tuple[str, Defined]]:
        """The tables that are to have other names, because their functions are overloaded now, or not any more."""
        targets = {d.stands_for: d for d in new if d.kind == "table"}
        tables = [(d, targets[d.stands_for]) for d in old if d.kind == "table" and d.stands_for in targets]
        return [
            (table.name, target)
            for table, target in tables
            if table.name != target.name and self.is_there(table) and not (reverting and self.is_there(target))
        ]

    def _move(self, name: str, target: Defined, views: list[Defined], rules: Iterable[Defined]) -> None:
        """Give a table another name: its rows are copied, and whatever reads it reads the copy.

        If a view has the other name, it goes first; whatever reads that reads the table meanwhile.
        """

        def read_instead(old: str, new: str) -> None:
            for view in views:
                if view.name != old and self.is_there(view):
                    self.run(renamed_text(view.text, old, new))
            for rule in rules:
                if self.is_there(rule):
                    self._put_rule(rule, partial(renamed_text, old=old, new=new))

        if self.relations.find(target.name) is not None and not self.is_there(target):
            read_instead(target.name, name)
            self.run(drop_text("view", target.name))
        self.run(target.text)
        with self.statements.transactions.begin() as workspace:
            Transaction(workspace).sql(f"{clear_text(target.name)}; {copy_text(name, target.name)}")
        read_instead(name, target.name)
        self.run(drop_text("table", name))
