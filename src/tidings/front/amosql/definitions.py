"""The definitions of a database in AMOSQL: kept as texts in a table, and as the tables, views and rules they ask for.

The table of texts says what is defined.  A definition is first put into it, and then what it asks for is made; if that
is refused, it is taken out again.  After a crash in between, what is missing is made when the database is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tidings.errors import (
    DependentObjects,
    DuplicateRelation,
    DuplicateRule,
    TidingsError,
    UnknownFunction,
    UnknownType,
    closest,
)
from tidings.front.amosql.actions import ActionRunner
from tidings.front.amosql.foreign import ForeignFunctions
from tidings.front.amosql.rows import Bindings
from tidings.front.statement_runner import StatementRunner
from tidings.lang.amosql import syntax
from tidings.lang.amosql.build import build
from tidings.lang.amosql.objectlog import Variable
from tidings.lang.amosql.parse import read
from tidings.lang.amosql.schema import RuleDefinition, Schema
from tidings.lang.amosql.sql_definition import Defined, defined
from tidings.lang.amosql.sql_update import copy_text, drop_text, renamed_text, switch_text
from tidings.lang.sql import statement as sql
from tidings.rules.action.procedures import Procedures
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.write.transaction import Transaction

DEFINITIONS = "amosql_definitions"
"""The table of the texts of definitions, in order."""

_CREATE = f"CREATE TABLE IF NOT EXISTS {DEFINITIONS} (number BIGINT PRIMARY KEY, text STRING NOT NULL)"


@dataclass(slots=True)
class Definitions:
    """The definitions of one database."""

    statements: StatementRunner
    foreign: ForeignFunctions
    schema: Schema = field(init=False, default_factory=Schema)
    _defined: list[Defined] = field(init=False, default_factory=list)
    """What the schema asks for."""
    _numbered: dict[int, syntax.Definition] = field(init=False, default_factory=dict)
    _loaded: bool = field(init=False, default=False)

    @property
    def relations(self) -> Relations:
        return self.statements.maintenance.storage.relations

    @property
    def _procedures(self) -> Procedures:
        return self.statements.transactions.context.actions.procedures

    # opening

    def load(self) -> None:
        """Read the definitions that the database has, and make what is missing of what they ask for."""
        if self.relations.find(DEFINITIONS) is None:
            return
        is_reader = self.statements.maintenance.storage.is_reader
        if self._loaded and not is_reader:
            return
        rows = self.statements.queries.answer(DEFINITIONS).rows()
        self._numbered = {row["number"]: _definition(row["text"]) for row in sorted(rows, key=lambda r: r["number"])}
        self.schema, self._loaded = build(list(self._numbered.values())), True
        self._defined = defined(self.schema)
        if not is_reader:
            for wanted in self._defined:
                if not self._is_there(wanted):
                    self._run(wanted.text)
        self._register()

    def _is_there(self, wanted: Defined) -> bool:
        if wanted.kind == "rule":
            return self.statements.transactions.context.registry.find(wanted.name) is not None
        return self.relations.find(wanted.name) is not None

    # changing

    def add(self, definition: syntax.Definition) -> None:
        """Add a definition, or refuse it."""
        self._prepare()
        number = max(self._numbered, default=0) + 1
        changed = {**self._numbered, number: definition}
        schema = build(list(changed.values()))
        wanted = defined(schema)
        self._check_free(wanted, definition)
        self._replace(schema, wanted, changed, [("insert", {"number": number, "text": definition.text})])

    def drop(self, drop: syntax.DropDefinition) -> None:
        """Drop a definition that no other needs."""
        self._prepare()
        kinds = {"type": syntax.CreateType, "function": syntax.CreateFunction, "rule": syntax.DefineRule}
        gone = [n for n, d in self._numbered.items() if isinstance(d, kinds[drop.kind]) and d.name == drop.name]
        if not gone:
            known = [d.name for d in self._numbered.values() if isinstance(d, kinds[drop.kind])]
            if drop.kind == "rule":
                self.schema.rule(drop.name, drop.place)
            unknown = UnknownType if drop.kind == "type" else UnknownFunction
            raise unknown(drop.place, closest(drop.name, known), name=drop.name)
        changed = {n: d for n, d in self._numbered.items() if n not in gone}
        schema = build(list(changed.values()))
        self._replace(schema, defined(schema), changed, [("delete", {"number": n}) for n in gone])

    def _prepare(self) -> None:
        """Make what is there before anything is defined."""
        self.statements.maintenance.storage.require_writer()
        if self._loaded:
            return
        self._defined = defined(self.schema)
        for wanted in self._defined:
            if self.relations.find(wanted.name) is not None:
                raise DuplicateRelation(name=wanted.name)
        self._run(_CREATE)
        for wanted in self._defined:
            self._run(wanted.text)
        self._loaded = True

    def _check_free(self, new: list[Defined], definition: syntax.Definition) -> None:
        """Refuse names that tables, views or rules of SQL have already."""
        known = {(d.kind == "rule", d.name) for d in self._defined}
        for wanted in new:
            if (wanted.kind == "rule", wanted.name) not in known and self._is_there(wanted):
                duplicate = DuplicateRule if wanted.kind == "rule" else DuplicateRelation
                raise duplicate(definition.place, name=wanted.name)

    def _replace(
        self,
        schema: Schema,
        wanted: list[Defined],
        numbered: dict[int, syntax.Definition],
        changes: list[tuple[str, dict[str, Any]]],
    ) -> None:
        """Make what a schema asks for; if that is refused, all is as before."""
        self._check_movable(wanted)
        self._record(changes)
        try:
            self._apply(self._defined, wanted)
        except TidingsError:
            self._apply(wanted, self._defined, anew=True)
            opposite = {"insert": "delete", "delete": "insert"}
            texts = {n: d.text for n, d in self._numbered.items()}
            undone = [(opposite[how], {**row, "text": row.get("text") or texts[row["number"]]}) for how, row in changes]
            self._record(undone)
            raise
        self.schema, self._defined, self._numbered = schema, wanted, numbered
        self._register()

    def _record(self, changes: list[tuple[str, dict[str, Any]]]) -> None:
        with self.statements.transactions.begin() as workspace:
            transaction = Transaction(workspace)
            for how, row in changes:
                if how == "insert":
                    transaction.insert(DEFINITIONS, [row])
                else:
                    transaction.delete(DEFINITIONS, [{"number": row["number"]}])

    def _apply(self, old: list[Defined], new: list[Defined], *, anew: bool = False) -> None:
        """Make what a schema asks for of what another has asked for; ``anew`` makes all views and rules again."""
        before = {d.name: d for d in old if d.kind != "rule"}
        wanted = {d.name: d for d in new if d.kind != "rule"}
        rules_before = {d.name: d for d in old if d.kind == "rule"}
        rules = {d.name: d for d in new if d.kind == "rule"}
        for name in [name for name in rules_before if name not in rules]:
            self._run(drop_text("rule", name), only_if=self._is_there(rules_before[name]))
        moved = self._moved(old, new)
        for table, target in moved:
            self._move(table, target, [d for d in old if d.kind == "view" and d.name in wanted], rules_before.values())
        anew = anew or bool(moved)
        for name, relation in wanted.items():
            if relation.kind == "table" and self.relations.find(name) is None:
                self._run(relation.text)
        for name, relation in wanted.items():
            is_same = not anew and name in before and before[name].text == relation.text
            if relation.kind == "view" and not (is_same and self._is_there(relation)):
                self._run(relation.text)
        for name, rule in rules.items():
            is_same = not anew and name in rules_before and rules_before[name].text == rule.text
            if not (is_same and self._is_there(rule)):
                self._put_rule(rule)
        for name in reversed([name for name in before if name not in wanted]):
            self._run(drop_text(before[name].kind, name), only_if=self._is_there(before[name]))

    def _moved(self, old: list[Defined], new: list[Defined]) -> list[tuple[str, Defined]]:
        """The tables that are to have other names, because their functions are overloaded now, or not any more."""
        targets = {d.stands_for: d for d in new if d.kind == "table"}
        tables = [(d.name, targets[d.stands_for]) for d in old if d.kind == "table" and d.stands_for in targets]
        return [
            (name, target)
            for name, target in tables
            if name != target.name and not isinstance(self.relations.find(target.name), Table)
        ]

    def _move(self, name: str, target: Defined, views: list[Defined], rules: Iterable[Defined]) -> None:
        """Give a table another name: its rows are copied, and whatever reads it reads the copy."""
        for taken in (target.name, name):  # a view that has the new name goes first
            if taken == target.name and self.relations.find(target.name) is None:
                continue
            if taken == name:
                self._run(target.text)
                self._run(copy_text(name, target.name))
            other = target.name if taken == name else name
            for view in views:
                if view.name != taken and self._is_there(view):
                    self._run(renamed_text(view.text, taken, other))
            for rule in rules:
                if self._is_there(rule):
                    self._put_rule(rule, partial(renamed_text, old=taken, new=other))
            self._run(drop_text("table" if taken == name else "view", taken))

    def _check_movable(self, new: list[Defined]) -> None:
        """Refuse to give tables other names that views and rules of SQL read."""
        own = {d.name for d in self._defined}
        for name, _ in self._moved(self._defined, new):
            readers = [view.name for view in self.relations.readers(name)]
            readers += [rule.name for rule in self.statements.dependencies.dependents(name)]
            others = sorted(set(readers) - own)
            if others:
                hint = "drop those first: a function that is overloaded becomes a view"
                raise DependentObjects(None, hint, name=name, change="overloaded", dependents=", ".join(others))

    def _put_rule(self, rule: Defined, change: Callable[[str], str] = str) -> None:
        """Make a rule, or replace it; it stays switched on if it was."""
        record = self.statements.transactions.context.registry.find(rule.name)
        was_on = record is not None and record.enabled
        self._run(change(rule.text))
        record = self.statements.transactions.context.registry.find(rule.name)
        if was_on and record is not None and not record.enabled:
            self._run(switch_text(rule.name, on=True))

    def _run(self, text: str, *, only_if: bool = True) -> None:
        for statement in sql.read(text) if only_if else []:
            self.statements.run(statement)

    # actions of rules

    def _register(self) -> None:
        """Register the actions of all rules, by which the rules of the database call them."""
        for rule in self.schema.rules.values():
            self._procedures.register(rule.action_name, partial(self._act, rule), each=False)

    def _act(self, rule: RuleDefinition, rows: list[dict[str, Any]], tx: Transaction) -> None:
        """Run the action of a rule for its instances."""
        variables = tuple(Variable(p.name, p.type) for p in (*rule.parameters, *rule.variables))
        bindings = Bindings.of(variables, (tuple(row[v.name] for v in variables) for row in rows))
        ActionRunner(self.schema, tx, self.foreign).run(rule.definition.action, bindings)


def _definition(text: str) -> syntax.Definition:
    (statement,) = read(text)
    assert isinstance(statement, syntax.CreateType | syntax.CreateFunction | syntax.DefineRule)
    return statement
