"""The definitions of a database in AMOSQL: kept as texts in a table, and as the tables, views and rules they ask for.

The table of texts says what is defined.  A definition is first put into it, and then what it asks for is made; if that
is refused, it is taken out again.  A crash in between leaves it marked as not made, and what is missing is made when
the database is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tidings.errors import (
    DependentObjects,
    DuplicateRelation,
    TidingsError,
    UnknownFunction,
    UnknownType,
    closest,
)
from tidings.front.amosql.actions import ActionRunner
from tidings.front.amosql.foreign import ForeignFunctions, ForeignInSql
from tidings.front.amosql.rows import Bindings
from tidings.front.amosql.schema_changes import SchemaChanges
from tidings.front.functions import Functions
from tidings.front.statement_runner import StatementRunner
from tidings.lang.amosql import syntax
from tidings.lang.amosql.build import build
from tidings.lang.amosql.objectlog import Variable
from tidings.lang.amosql.parse import read
from tidings.lang.amosql.schema import RuleDefinition, Schema
from tidings.lang.amosql.sql_definition import Defined, defined
from tidings.store.storage import Storage
from tidings.write.transaction import Transaction

DEFINITIONS = "amosql_definitions"
"""The table of the texts of definitions, in order."""

_CREATE = (
    f"CREATE TABLE IF NOT EXISTS {DEFINITIONS} (number BIGINT PRIMARY KEY, text STRING NOT NULL, made BOOLEAN NOT NULL)"
)


@dataclass(slots=True)
class Definitions:
    """The definitions of one database."""

    statements: StatementRunner
    foreign: ForeignFunctions
    functions: Functions
    schema: Schema = field(init=False, default_factory=Schema)
    _defined: list[Defined] = field(init=False, default_factory=list)
    """What the schema asks for."""
    _numbered: dict[int, syntax.Definition] = field(init=False, default_factory=dict)
    _loaded: bool = field(init=False, default=False)

    @property
    def _storage(self) -> Storage:
        return self.statements.maintenance.storage

    @property
    def _changes(self) -> SchemaChanges:
        return SchemaChanges(self.statements)

    @property
    def _in_sql(self) -> ForeignInSql:
        return ForeignInSql(self.functions, self.foreign)

    # opening

    def load(self) -> None:
        """Read the definitions that the database has, and make what is missing of what they ask for."""
        if self._storage.relations.find(DEFINITIONS) is None or (self._loaded and not self._storage.is_reader):
            return
        rows = self.statements.queries.answer(DEFINITIONS).rows()
        self._numbered = {row["number"]: _definition(row["text"]) for row in sorted(rows, key=lambda r: r["number"])}
        definitions = list(self._numbered.values())
        self.schema, self._loaded = build(definitions), True
        self._defined = defined(self.schema)
        self._in_sql.declare(self.schema)
        unfinished = [row["number"] for row in rows if not row["made"]]
        if not self._storage.is_reader and (unfinished or not all(map(self._changes.is_there, self._defined))):
            self._changes.apply(defined(build(definitions[:-1])), self._defined, unfinished=True)
            self._record(made=unfinished)
        self._register()

    # changing

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """Register a foreign function, for queries too if it is defined."""
        self.foreign.register(name, function)
        self._in_sql.declare(self.schema)

    def add(self, definition: syntax.Definition) -> None:
        """Add a definition, or refuse it."""
        self._prepare()
        changed = {**self._numbered, max(self._numbered, default=0) + 1: definition}
        schema = build(list(changed.values()))
        wanted = defined(schema)
        self._changes.check_free(self._defined, wanted, definition.place)
        self._replace(schema, wanted, changed)

    def drop(self, drop: syntax.DropDefinition) -> None:
        """Drop a definition that no other needs."""
        self._prepare()
        kinds = {"type": syntax.CreateType, "function": syntax.CreateFunction, "rule": syntax.DefineRule}
        of_kind = {n: d for n, d in self._numbered.items() if isinstance(d, kinds[drop.kind])}
        gone = [n for n, d in of_kind.items() if d.name == drop.name]
        if not gone and drop.kind == "rule":
            self.schema.rule(drop.name, drop.place)
        if not gone:
            unknown = UnknownType if drop.kind == "type" else UnknownFunction
            raise unknown(drop.place, closest(drop.name, [d.name for d in of_kind.values()]), name=drop.name)
        changed = {n: d for n, d in self._numbered.items() if n not in gone}
        try:
            schema = build(list(changed.values()))
        except TidingsError:
            mention = re.compile(rf"\b{re.escape(drop.name)}\b", re.IGNORECASE)
            needed = ", ".join(dict.fromkeys(d.name for d in changed.values() if mention.search(d.text)))
            hint = "drop those first"
            raise DependentObjects(drop.place, hint, name=drop.name, change="dropped", dependents=needed) from None
        self._replace(schema, defined(schema), changed)

    def _prepare(self) -> None:
        """Make what is there before anything is defined."""
        self._storage.require_writer()
        if self._loaded:
            return
        self._defined = defined(self.schema)
        for wanted in self._defined:
            if self._storage.relations.find(wanted.name) is not None:
                raise DuplicateRelation(name=wanted.name)
        self._changes.run(_CREATE)
        self._changes.apply([], self._defined)
        self._loaded = True

    def _replace(self, schema: Schema, wanted: list[Defined], numbered: dict[int, syntax.Definition]) -> None:
        """Make what a schema asks for; if that is refused, all is as before."""
        added = [n for n in numbered if n not in self._numbered]
        self._changes.check_movable(self._defined, wanted)
        self._record(come={n: numbered[n].text for n in added})
        try:
            self._in_sql.declare(schema)
            self._changes.apply(self._defined, wanted)
        except TidingsError:
            self._changes.apply(wanted, self._defined, reverting=True)
            self._record(gone=added)
            raise
        self._record(made=added, gone=[n for n in self._numbered if n not in numbered])
        self.schema, self._defined, self._numbered = schema, wanted, numbered
        self._register()

    def _record(
        self, come: Mapping[int, str] | None = None, made: Iterable[int] = (), gone: Iterable[int] = ()
    ) -> None:
        """Put texts of definitions into their table, mark them as made, or take them out."""
        with self.statements.transactions.begin() as workspace:
            transaction = Transaction(workspace)
            new = [{"number": n, "text": text, "made": False} for n, text in (come or {}).items()]
            transaction.insert(DEFINITIONS, new)
            transaction.update(DEFINITIONS, [{"number": n, "made": True} for n in made])
            transaction.delete(DEFINITIONS, [{"number": n} for n in gone])

    # actions of rules

    def _register(self) -> None:
        """Register the actions of all rules, by which the rules of the database call them."""
        procedures = self.statements.transactions.context.actions.procedures
        for rule in self.schema.rules.values():
            procedures.register(rule.action_name, partial(self._act, rule), each=False)

    def _act(self, rule: RuleDefinition, rows: list[dict[str, Any]], tx: Transaction) -> None:
        """Run the action of a rule for its instances."""
        variables = tuple(Variable(p.name, p.type) for p in (*rule.parameters, *rule.variables))
        bindings = Bindings.of(variables, (tuple(row[v.name] for v in variables) for row in rows))
        ActionRunner(self.schema, tx, self.foreign).run(rule.definition.action, bindings)


def _definition(text: str) -> syntax.Definition:
    (statement,) = read(text)
    assert isinstance(statement, syntax.CreateType | syntax.CreateFunction | syntax.DefineRule)
    return statement
