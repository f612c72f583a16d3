"""Checks procedures and the actions of rules when they are defined, so that they do not fail for their types later."""

from __future__ import annotations

from typing import assert_never

from tidings.errors import InvalidCall, InvalidSyntax, NotUpdatable, TypeMismatch
from tidings.lang.amosql import syntax
from tidings.lang.amosql.objectlog import Literal, Term
from tidings.lang.amosql.schema import Function, Parameter, Schema
from tidings.lang.amosql.translate import ClauseTranslator, parameters_of


def check_action(schema: Schema, parameters: tuple[Parameter, ...], action: syntax.Action) -> None:
    """Refuse an action that could not run."""
    translator = ClauseTranslator(schema, is_definition=True)
    parameters_of(translator, parameters, [])
    _check(translator, action)


def _check(translator: ClauseTranslator, action: syntax.Action) -> None:
    body: list[Literal] = []
    match action:
        case syntax.UpdateFunction():
            _declared(translator, action.declarations, action.where)
            updated_function(translator, action, body)
        case syntax.DeleteObjects():
            _declared(translator, action.declarations, action.where)
            object_term(translator, action, body)
        case syntax.ForEach():
            outer = dict(translator.scope)
            _declared(translator, action.declarations, action.where)
            _check(translator, action.body)
            translator.scope = outer
        case syntax.ActionBlock():
            for part in action.actions:
                _check(translator, part)
        case syntax.If():
            translator.predicate(action.condition, body)
            _check(translator, action.then)
            if action.otherwise is not None:
                _check(translator, action.otherwise)
        case syntax.CallStatement():
            called_procedure(translator, action.call, body)
        case syntax.Assign():
            raise InvalidSyntax(action.place, reason="interface variables belong to a session, not to a procedure")
        case syntax.SelectQuery():
            raise InvalidSyntax(action.place, reason="a query does nothing in a procedure", hint="use for each … do")
        case _:
            assert_never(action)


def _declared(
    translator: ClauseTranslator, declarations: tuple[syntax.VariableDeclaration, ...], where: syntax.Expression | None
) -> None:
    body: list[Literal] = []
    translator.declare(declarations, body)
    if where is not None:
        translator.predicate(where, body)


def updated_function(
    translator: ClauseTranslator, update: syntax.UpdateFunction, body: list[Literal]
) -> tuple[Function, list[Function], tuple[Term, ...], Term | None]:
    """The function that is updated, the resolvents that objects may have instead, its arguments and the value."""
    call = update.call
    arguments = translator.arguments(call, body)
    function, late = translator.resolved(call, arguments)
    check_updatable(function, update)
    value = None
    if update.value is not None:
        value = translator.term(update.value, body)
        assert function.result is not None
        translator.check(value, function.result.type, update.value.place, "the value")
    return function, late, arguments, value


def check_updatable(function: Function, update: syntax.UpdateFunction) -> None:
    """Refuse to update a function that has no values of its own, or to add to one that has one value."""
    if not function.is_stored:
        kind = "foreign" if function.foreign else "a procedure" if function.is_procedure else "derived"
        hint = "update the stored functions that it is made of"
        raise NotUpdatable(update.call.place, hint, name=function.name, reason=f"it is {kind}")
    if update.kind == "add" and not function.many:
        reason = "it has one value for each object, so none can be added"
        raise NotUpdatable(update.call.place, "use set", name=function.name, reason=reason)


def object_term(translator: ClauseTranslator, action: syntax.DeleteObjects, body: list[Literal]) -> Term:
    """The object that is deleted."""
    term = translator.term(action.object, body)
    if not translator.schema.is_object_type(term.type):
        raise TypeMismatch(action.object.place, what="what is deleted", found=term.type, expected="an object")
    return term


def called_procedure(
    translator: ClauseTranslator, call: syntax.FunctionCall, body: list[Literal]
) -> tuple[Function, tuple[Term, ...]]:
    """The procedure or foreign function that is called, and its arguments."""
    arguments = translator.arguments(call, body)
    function, _ = translator.resolved(call, arguments)
    if not function.is_procedure and function.foreign is None:
        reason = "its value would be lost"
        raise InvalidCall(call.place, "call a procedure or a foreign function", name=call.function, reason=reason)
    return function, arguments
