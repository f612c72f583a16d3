"""A session in AMOSQL: interface variables, and a transaction that goes on until ``commit`` or ``rollback``.

Updates wait for the commit, whose check phase fires rules.  Queries see them before.  Definitions and activations take
effect at once; what was updated before them is committed first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, assert_never

import pyarrow as pa

from tidings.errors import InvalidCall, InvalidSyntax, Place, SeveralValues, TypeMismatch, UnboundVariable
from tidings.front.amosql.actions import ActionRunner
from tidings.front.amosql.answer import Answerer
from tidings.front.amosql.definitions import Definitions
from tidings.front.amosql.explain import explain
from tidings.front.amosql.foreign import ForeignFunctions
from tidings.front.amosql.rows import Bindings
from tidings.front.functions import Functions
from tidings.front.statement_runner import StatementRunner
from tidings.lang.amosql import syntax
from tidings.lang.amosql.objectlog import ConstantTerm, HornClause, Literal
from tidings.lang.amosql.parse import read
from tidings.lang.amosql.schema import OBJECT, Schema
from tidings.lang.amosql.sql_update import Values, activation_text, highest_text, switch_text
from tidings.lang.amosql.translate import ClauseTranslator
from tidings.lang.sql import statement as sql
from tidings.result import Result
from tidings.write.transaction import Transaction
from tidings.write.workspace import Workspace

_ARROW = {"integer": pa.int64(), "real": pa.float64(), "charstring": pa.string(), "boolean": pa.bool_()}


@dataclass(slots=True)
class AmosqlSession:
    """The session of one open database."""

    statements: StatementRunner
    functions: Functions
    foreign: ForeignFunctions = field(default_factory=ForeignFunctions)
    definitions: Definitions = field(init=False)
    variables: dict[str, ConstantTerm] = field(init=False, default_factory=dict)
    _workspace: Workspace | None = field(init=False, default=None)
    """The transaction that waits for a commit."""
    _variables_before: dict[str, ConstantTerm] = field(init=False, default_factory=dict)
    """The interface variables as they were when the transaction began."""
    _numbers: count[int] | None = field(init=False, default=None)
    """The numbers of objects that come next."""

    def __post_init__(self) -> None:
        self.definitions = Definitions(self.statements, self.foreign, self.functions)

    @property
    def schema(self) -> Schema:
        return self.definitions.schema

    @property
    def is_in_transaction(self) -> bool:
        """Whether there are updates that wait for a commit."""
        return self._workspace is not None and self._workspace.ended_by is None

    def run(self, text: str) -> Result | None:
        """Run statements; the rows of the last one if it is a query."""
        self.definitions.load()
        result = None
        for statement in read(text):
            result = self._run(statement)
        return result

    def _run(self, statement: syntax.Statement) -> Result | None:
        match statement:
            case syntax.CreateType() | syntax.CreateFunction() | syntax.DefineRule():
                self.commit()
                self.definitions.add(statement)
            case syntax.DropDefinition():
                self.commit()
                self.definitions.drop(statement)
            case syntax.Activate():
                self._activate(statement)
            case syntax.Explain():
                return Result(pa.table({"explanation": [explain(self.schema, statement.name, statement.place)]}))
            case syntax.Commit():
                self.commit()
            case syntax.Rollback():
                self.rollback()
            case syntax.CreateInstances():
                self._create(statement)
            case syntax.SelectQuery():
                return self._query(statement)
            case syntax.Assign():
                self._assign(statement)
            case syntax.CallStatement() if self._is_function(statement.call):
                place = statement.place
                return self._query(syntax.SelectQuery((statement.call,), (), (), None, False, place))
            case (
                syntax.UpdateFunction()
                | syntax.DeleteObjects()
                | syntax.ForEach()
                | syntax.ActionBlock()
                | syntax.If()
                | syntax.CallStatement()
            ):
                self._act(statement)
            case _:
                assert_never(statement)
        return None

    # the transaction

    def _begun(self) -> Transaction:
        if not self.is_in_transaction:
            self.rollback()  # of one that a rule has refused
            self._workspace = self.statements.transactions.begin()
            self._variables_before = dict(self.variables)
        assert self._workspace is not None
        return Transaction(self._workspace)

    def commit(self) -> None:
        """Make the updates count, and fire rules; if they are refused, all is as before."""
        workspace, self._workspace = self._workspace, None
        if workspace is None:
            return
        try:
            workspace.commit()
        except BaseException:
            self.variables = self._variables_before
            raise

    def rollback(self) -> None:
        """Forget the updates, and the variables that came with them."""
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            self.variables = self._variables_before
            if workspace.ended_by is None:
                workspace.rollback()

    def _act(self, action: syntax.Action) -> None:
        self.statements.maintenance.storage.require_writer()
        runner = ActionRunner(self.schema, self._begun(), self.foreign, self.variables)
        runner.run(action, Bindings())
        objects = runner.deleted
        self.variables = {
            name: term
            for name, term in self.variables.items()
            if not (self.schema.is_object_type(term.type) and term.value in objects)
        }

    # objects and variables

    def _create(self, statement: syntax.CreateInstances) -> None:
        schema = self.schema
        type = schema.check_type(statement.type, statement.place)
        if not schema.is_object_type(type):
            raise TypeMismatch(statement.place, what=type, found="plain values", expected="a type of objects")
        self.statements.maintenance.storage.require_writer()
        transaction = self._begun()
        if self._numbers is None:
            highest = transaction.query(highest_text()).rows()[0]["oid"]
            self._numbers = count((highest or 0) + 1)
        for variable in statement.variables:
            number = next(self._numbers)
            for above in schema.supertypes(type):
                transaction.insert(above, [(number, type) if above == OBJECT else (number,)])
            self.variables = {**self.variables, variable.name: ConstantTerm(number, type)}

    def _assign(self, statement: syntax.Assign) -> None:
        value = statement.value
        query = (
            value
            if isinstance(value, syntax.SelectQuery)
            else syntax.SelectQuery((value,), (), (), None, False, value.place)
        )
        if len(query.expressions) != 1:
            raise InvalidSyntax(query.place, reason="a variable takes one value")
        self._set_variables((statement.variable,), query)

    def _set_variables(self, variables: tuple[syntax.InterfaceVariable, ...], query: syntax.SelectQuery) -> None:
        if len(variables) != len(query.expressions):
            reason = f"{len(query.expressions)} values for {len(variables)} variables"
            raise InvalidSyntax(query.place, reason=reason)
        clause, rows = self._answer(query)
        if len(set(rows)) != 1:
            raise SeveralValues(query.place, count=len(set(rows)))
        for variable, term, value in zip(variables, clause.head, rows[0], strict=True):
            self.variables = {**self.variables, variable.name: ConstantTerm(value, term.type)}

    # queries

    def _is_function(self, call: syntax.FunctionCall) -> bool:
        """Whether a call on its own asks for a value."""
        if call.function not in self.schema.functions:
            return True
        function = self.schema.functions[call.function][0]
        return not function.is_procedure

    def _query(self, query: syntax.SelectQuery) -> Result | None:
        if query.into:
            self._set_variables(query.into, query)
            return None
        clause, rows = self._answer(query)
        rows.sort()
        names = _column_names(query)
        types = [_ARROW.get(term.type, pa.int64()) for term in clause.head]
        columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        arrays = [pa.array(list(column), type) for column, type in zip(columns, types, strict=True)]
        return Result(pa.Table.from_arrays(arrays, names=names))

    def _answer(self, query: syntax.SelectQuery) -> tuple[HornClause, list[Values]]:
        clause = ClauseTranslator(self.schema, self.variables).query(query)
        return clause, self._rows(clause, query.place)

    def _rows(self, clause: HornClause, place: Place) -> list[Values]:
        """The rows of a clause with what waits for the commit."""
        waiting = self._workspace if self.is_in_transaction else None
        transaction = Transaction(waiting or self.statements.transactions.begin())
        try:
            return Answerer(transaction, self.foreign).rows(clause, Bindings())
        except UnboundVariable as unbound:
            raise UnboundVariable(place, unbound.hint, **unbound.parameters) from None

    # rules

    def _activate(self, statement: syntax.Activate) -> None:
        rule = self.schema.rule(statement.name, statement.place)
        arguments = self._arguments(statement)
        if len(arguments) != len(rule.parameters):
            reason = f"it takes {len(rule.parameters)} arguments, not {len(arguments)}"
            raise InvalidCall(statement.place, name=rule.name, reason=reason)
        translator = ClauseTranslator(self.schema)
        for term, parameter, written in zip(arguments, rule.parameters, statement.arguments, strict=True):
            translator.check(term, parameter.type, written.place, "the argument")
        self.commit()
        on = statement.on
        text = activation_text(rule.name, arguments, on=on) if rule.parameters else switch_text(rule.name, on=on)
        for one in sql.read(text):
            self.statements.run(one)

    def _arguments(self, statement: syntax.Activate) -> list[ConstantTerm]:
        """The values of the arguments of a rule."""
        body: list[Literal] = []
        translator = ClauseTranslator(self.schema, self.variables)
        written = [a for a in statement.arguments if not isinstance(a, syntax.SelectQuery)]
        if len(written) < len(statement.arguments):
            raise InvalidCall(statement.place, name=statement.name, reason="it takes values, not a query")
        terms = [translator.term(argument, body) for argument in written]
        if not terms:
            return []
        clause = translator.clause("arguments", terms, body, 0)
        rows = set(self._rows(clause, statement.place))
        if len(rows) != 1:
            raise SeveralValues(statement.place, count=len(rows))
        (row,) = rows
        return [ConstantTerm(value, term.type) for value, term in zip(row, terms, strict=True)]


def _column_names(query: syntax.SelectQuery) -> list[str]:
    """What the columns of a query are called: by the variable or function, or ``value``."""
    names: list[str] = []
    for expression in query.expressions:
        match expression:
            case syntax.Name(name=name) | syntax.FunctionCall(function=name) | syntax.InterfaceVariable(name=name):
                base = name
            case _:
                base = "value"
        taken = sum(1 for name in names if name == base or name.startswith(f"{base}_"))
        names.append(base if base not in names else f"{base}_{taken + 1}")
    return names
