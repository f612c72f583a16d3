"""Runs actions: statements that change functions and objects, and procedures made of them.

Actions are set-oriented.  A statement runs for all rows of the variables around it at once: its expressions are
evaluated first, for every row, and then it takes effect.  So nothing depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, assert_never

from tidings.errors import InvalidCall, InvalidSyntax, SeveralValues
from tidings.front.amosql.answer import Answerer
from tidings.front.amosql.foreign import ForeignFunctions
from tidings.front.amosql.rows import Bindings
from tidings.lang.amosql import syntax
from tidings.lang.amosql.check_action import called_procedure, check_updatable, object_term, updated_function
from tidings.lang.amosql.objectlog import Alternatives, ConstantTerm, Literal, Term, Variable
from tidings.lang.amosql.schema import OID, Function, Schema
from tidings.lang.amosql.sql_update import Values, delete_text, delete_where_text, merge_text, types_text
from tidings.lang.amosql.translate import ClauseTranslator
from tidings.write.transaction import Transaction

DEPTH = 50
"""How many calls of procedures may be inside of each other."""


@dataclass(slots=True)
class ActionRunner:
    """Runs actions in one transaction."""

    schema: Schema
    transaction: Transaction
    foreign: ForeignFunctions
    interface: dict[str, ConstantTerm] = field(default_factory=dict)
    """The interface variables of the session; none in procedures of rules."""
    depth: int = 0
    """How many procedures called each other to get here."""
    deleted: set[int] = field(init=False, default_factory=set)
    """The objects that were deleted."""

    @property
    def answerer(self) -> Answerer:
        return Answerer(self.transaction, self.foreign)

    def run(self, action: syntax.Action, bindings: Bindings) -> None:
        """Run an action for all rows of the variables around it."""
        if not bindings.rows:
            return
        match action:
            case syntax.UpdateFunction():
                self._update(action, bindings)
            case syntax.DeleteObjects():
                self._delete(action, bindings)
            case syntax.ForEach():
                self.run(action.body, self._for_each(action, bindings))
            case syntax.ActionBlock():
                for part in action.actions:
                    self.run(part, bindings)
            case syntax.If():
                chosen = self._where(action.condition, bindings)
                self.run(action.then, chosen)
                if action.otherwise is not None:
                    rest = set(bindings.rows) - set(chosen.rows)
                    self.run(action.otherwise, Bindings.of(bindings.variables, rest))
            case syntax.CallStatement():
                self._call(action.call, bindings)
            case syntax.Assign() | syntax.SelectQuery():
                raise InvalidSyntax(action.place, reason="this belongs to a session, not into an action")
            case _:
                assert_never(action)

    def call(self, function: Function, rows: Iterable[Values]) -> None:
        """Run a procedure for rows of arguments."""
        body = function.definition.body
        assert body is not None
        if isinstance(body, syntax.Foreign):
            result = None if function.result is None else function.result.type
            for row in sorted(set(rows)):
                self.foreign.call(body.name, row, result)
            return
        if self.depth == DEPTH:
            reason = f"procedures that call each other go {DEPTH} deep, and it is in the next call"
            raise InvalidCall(name=function.name, reason=reason)
        procedure = ActionRunner(self.schema, self.transaction, self.foreign, depth=self.depth + 1)
        procedure.run(body, Bindings.of((Variable(p.name, p.type) for p in function.parameters), rows))
        self.deleted |= procedure.deleted

    # rows

    def _translator(self, bindings: Bindings) -> ClauseTranslator:
        scope: dict[str, Term] = {variable.name: variable for variable in bindings.variables}
        return ClauseTranslator(self.schema, self.interface, scope)

    def _rows(
        self, translator: ClauseTranslator, head: Iterable[Term], body: list[Literal], bindings: Bindings
    ) -> list[Values]:
        clause = translator.clause("action", list(head), body, 0)
        return self.answerer.rows(clause, bindings)

    def _for_each(self, loop: syntax.ForEach, bindings: Bindings) -> Bindings:
        translator, body = self._translator(bindings), list[Literal]()
        declared = translator.declare(loop.declarations, body)
        if loop.where is not None:
            translator.predicate(loop.where, body)
        variables = (*bindings.variables, *declared)
        return Bindings.of(variables, self._rows(translator, variables, body, bindings))

    def _where(self, condition: syntax.Expression, bindings: Bindings) -> Bindings:
        """The rows for which a condition is true."""
        translator, body = self._translator(bindings), list[Literal]()
        translator.predicate(condition, body)
        if len(bindings.rows) > 1:
            body = [Alternatives((tuple(body),))]
        return Bindings.of(bindings.variables, self._rows(translator, bindings.variables, body, bindings))

    # calls

    def _call(self, call: syntax.FunctionCall, bindings: Bindings) -> None:
        translator, body = self._translator(bindings), list[Literal]()
        function, arguments = called_procedure(translator, call, body)
        self.call(function, self._rows(translator, arguments, body, bindings))

    # updates

    def _update(self, update: syntax.UpdateFunction, bindings: Bindings) -> None:
        translator, body = self._translator(bindings), list[Literal]()
        translator.declare(update.declarations, body)
        if update.where is not None:
            translator.predicate(update.where, body)
        function, late, arguments, value = updated_function(translator, update, body)
        head = arguments if value is None else (*arguments, value)
        rows = sorted(set(self._rows(translator, head, body, bindings)))
        for resolvent, its_rows in self._by_resolvent(function, late, rows):
            check_updatable(resolvent, update)
            self._apply(update, resolvent, its_rows)

    def _by_resolvent(
        self, function: Function, late: list[Function], rows: list[Values]
    ) -> Iterable[tuple[Function, list[Values]]]:
        """The rows of arguments for each resolvent: that of the most specific type of the object."""
        if not late:
            return [(function, rows)]
        objects = sorted({int(row[0]) for row in rows})
        known = self.transaction.query(types_text(objects)).rows() if objects else []
        types = {row["oid"]: row["type"] for row in known}

        def resolvent(row: Values) -> int:
            found, _ = self.schema.resolve(function.name, types.get(row[0], function.dispatches_on), None)
            return self.schema.functions[function.name].index(found or function)

        numbered = sorted(rows, key=lambda row: (resolvent(row), row))
        return [(self.schema.functions[function.name][at], list(part)) for at, part in groupby(numbered, key=resolvent)]

    def _apply(self, update: syntax.UpdateFunction, function: Function, rows: list[Values]) -> None:
        """Set, add or remove values of one resolvent."""
        if not rows:
            return
        relation, width, sql = function.relation, len(function.parameters), self.transaction.sql
        match update.kind:
            case "add":
                sql(merge_text(relation, _typed(function, rows), width + 1))
            case "remove":
                sql(delete_text(relation, rows))
            case _ if function.many or not width:
                if not function.many and len(rows) > 1:
                    raise SeveralValues(update.place, count=len(rows))
                sql(delete_text(relation, sorted({row[:width] for row in rows})))
                self.transaction.insert(relation.name, _typed(function, rows))
            case _:
                keys = {row[:width] for row in rows}
                if len(keys) < len(rows):
                    several = max(len(list(part)) for _, part in groupby(rows, key=lambda row: row[:width]))
                    raise SeveralValues(update.place, count=several)
                sql(merge_text(relation, _typed(function, rows), width))

    def _delete(self, action: syntax.DeleteObjects, bindings: Bindings) -> None:
        translator, body = self._translator(bindings), list[Literal]()
        translator.declare(action.declarations, body)
        if action.where is not None:
            translator.predicate(action.where, body)
        term = object_term(translator, action, body)
        objects = sorted({int(row[0]) for row in self._rows(translator, [term], body, bindings)})
        if not objects:
            return
        related = {*self.schema.supertypes(term.type), *self.schema.subtypes(term.type)}
        for function in (f for fs in self.schema.functions.values() for f in fs if f.is_stored):
            for column, type in zip(function.relation.columns, function.relation.types, strict=True):
                if type in related:
                    self.transaction.sql(delete_where_text(function.relation.name, column, objects))
        for type in related:
            self.transaction.sql(delete_where_text(type, OID, objects))
        self.deleted |= set(objects)


def _typed(function: Function, rows: list[Values]) -> list[Any]:
    """Rows with numbers of the types that the function has."""
    reals = [type == "real" for type in function.relation.types]
    return [tuple(float(v) if real else v for v, real in zip(row, reals, strict=True)) for row in rows]
