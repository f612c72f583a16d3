"""From definitions to a schema.

All signatures are known before any body is read, so that a call is bound late where a later definition overloads what
it calls.  A schema is built from all definitions whenever one comes or goes; what it asks of the database is compared
with what there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidings.errors import (
    DuplicateDefinition,
    ForeignNotHere,
    InvalidCall,
    InvalidOverload,
    InvalidSyntax,
    Place,
    RecursiveFunction,
    TypeMismatch,
    UnboundVariable,
)
from tidings.lang.amosql import syntax
from tidings.lang.amosql.check_action import check_action
from tidings.lang.amosql.objectlog import Literal, RelationOf, foreign_calls
from tidings.lang.amosql.safety import unbound
from tidings.lang.amosql.schema import SQL_TYPES, Function, Parameter, RuleDefinition, Schema
from tidings.lang.amosql.translate import ClauseTranslator, parameters_of

VALUE = "value"
"""The column of a function's value that has no name."""


def build(definitions: Sequence[syntax.Definition]) -> Schema:
    """The schema that definitions make together, or a refusal of what does not go with the rest."""
    schema = Schema()
    for definition in definitions:
        match definition:
            case syntax.CreateType():
                _add_type(schema, definition)
            case syntax.CreateFunction():
                _add_signature(schema, definition)
    _name_resolvents(schema)
    _Bodies(schema).add_all()
    for function in (f for fs in schema.functions.values() for f in fs if f.is_procedure):
        body = function.definition.body
        if body is not None and not isinstance(body, syntax.Foreign):
            check_action(schema, function.parameters, body)
    for definition in definitions:
        if isinstance(definition, syntax.DefineRule):
            if definition.name in schema.rules:
                raise DuplicateDefinition(definition.place, kind="rule", name=definition.name)
            rule = schema.rules[definition.name] = _rule(schema, definition)
            check_action(schema, (*rule.parameters, *rule.variables), definition.action)
    return schema


def _add_type(schema: Schema, definition: syntax.CreateType) -> None:
    name = definition.name
    if name in schema.parents or name in SQL_TYPES:
        raise DuplicateDefinition(definition.place, kind="type", name=name)
    if name in schema.functions:
        raise DuplicateDefinition(definition.place, kind="function", name=name)
    parent = definition.parent or "object"
    schema.check_type(parent, definition.place)
    if not schema.is_object_type(parent):
        raise TypeMismatch(definition.place, what=parent, found="plain values", expected="a type of objects")
    schema.parents[name] = parent


def _add_signature(schema: Schema, definition: syntax.CreateFunction) -> None:
    name, place = definition.name, definition.place
    if definition.result is None and isinstance(definition.body, syntax.SelectQuery):
        raise InvalidSyntax(definition.body.place, "create function … as select …", reason="a procedure has no value")
    if schema.is_object_type(name):
        raise DuplicateDefinition(place, kind="type", name=name)
    parameters = _parameters(schema, definition.parameters)
    result = None
    if definition.result is not None:
        result_type = schema.check_type(definition.result.type, definition.result.place)
        result_name = definition.result.name or _free(VALUE, [p.name for p in parameters])
        if result_name in [p.name for p in parameters]:
            raise DuplicateDefinition(definition.result.place, kind="parameter", name=result_name)
        result = Parameter(result_name, result_type)
    all_columns = (*parameters, *([result] if result else []))
    relation = RelationOf(
        name,
        tuple(p.name for p in all_columns),
        tuple(p.type for p in all_columns),
        functional=definition.body is None and not definition.many,
        function=name,
    )
    function = Function(name, parameters, result, definition.many, definition, relation)
    resolvents = schema.functions.setdefault(name, [])
    if resolvents:
        _check_overload(schema, resolvents, function)
    resolvents.append(function)


def _parameters(schema: Schema, declarations: tuple[syntax.VariableDeclaration, ...]) -> tuple[Parameter, ...]:
    """Parameters with names: those without one are called by their types."""
    names: list[str] = []
    for declaration in declarations:
        if declaration.name in names:
            raise DuplicateDefinition(declaration.place, kind="parameter", name=declaration.name)
        names.append(declaration.name or _free(declaration.type, names))
    types = [schema.check_type(d.type, d.place) for d in declarations]
    return tuple(map(Parameter, names, types))


def _free(name: str, taken: list[str]) -> str:
    numbers = (f"{name}{n}" for n in range(2, len(taken) + 3))
    return name if name not in taken else next(n for n in numbers if n not in taken)


def _check_overload(schema: Schema, resolvents: list[Function], new: Function) -> None:
    """Refuse a resolvent that does not go with those that are there."""
    place, first = new.definition.place, resolvents[0]

    def refuse(reason: str, hint: str | None = None) -> None:
        raise InvalidOverload(place, hint, name=new.name, type=new.dispatches_on or "no argument", reason=reason)

    if any(f.dispatches_on == new.dispatches_on for f in resolvents):
        raise DuplicateDefinition(place, kind="function", name=new.name)
    if not all(schema.is_object_type(f.dispatches_on) for f in (first, new)):
        refuse("functions are told apart by the type of an object, their first argument")
    if new.is_procedure or first.is_procedure or new.foreign or first.foreign:
        refuse("procedures and foreign functions have one definition")
    if [p.type for p in new.parameters[1:]] != [p.type for p in first.parameters[1:]]:
        refuse("its other arguments are of other types", "only the first argument may differ")
    if new.result is None or first.result is None or new.result.type != first.result.type:
        refuse("its result is of another type")


def _name_resolvents(schema: Schema) -> None:
    """Resolvents of an overloaded function have relations of their own, named by the type too."""
    for name, resolvents in schema.functions.items():
        if len(resolvents) > 1:
            schema.functions[name] = [
                replace(f, relation=replace(f.relation, name=f"{name}_{f.dispatches_on}")) for f in resolvents
            ]


class _Bodies:
    """Adds the clauses of derived functions, each after those that it calls."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._path: list[str] = []
        self._done: set[tuple[str, str]] = set()

    def add_all(self) -> None:
        for name in list(self._schema.functions):
            self._add(name, None)

    def _add(self, name: str, place: Place | None) -> None:
        """Add the clauses of all resolvents of a function."""
        schema = self._schema
        if name in self._path:
            raise RecursiveFunction(place, name=name, path=" → ".join((*self._path, name)))
        self._path.append(name)
        for at, function in enumerate(schema.functions.get(name, ())):
            body = function.definition.body
            if isinstance(body, syntax.SelectQuery) and (name, function.dispatches_on) not in self._done:
                for called, where in _calls(body):
                    if called in schema.functions:
                        self._add(called, where)
                self._done.add((name, function.dispatches_on))
                schema.functions[name][at] = self._derived(function, body)
        self._path.pop()

    def _derived(self, function: Function, query: syntax.SelectQuery) -> Function:
        schema, place = self._schema, function.definition.place
        if len(query.expressions) != 1 or query.into:
            raise InvalidSyntax(query.place, reason="the query of a function has one value, and no into")
        translator, body = ClauseTranslator(schema, is_definition=True), list[Literal]()
        head = parameters_of(translator, function.parameters, body)
        inner = translator.query(query)
        assert function.result is not None
        translator.check(inner.head[0], function.result.type, query.expressions[0].place, "the value")
        short = translator.clause(function.relation.name, [*head, *inner.head], [*body, *inner.body], 0)
        clause = replace(short, distinct=inner.distinct)
        free, lost = unbound(clause.body, clause.head, [p.name for p in function.parameters])
        if lost:
            raise UnboundVariable(place, name=lost[0])
        is_view = not free and all(call.arguments for call in foreign_calls(clause.body))
        if not is_view and len(schema.functions[function.name]) > 1:
            reason = "it has no rows of its own, for it depends on given values or on a function without arguments"
            raise InvalidOverload(place, name=function.name, type=function.dispatches_on, reason=reason)
        if not is_view and clause.distinct:
            raise InvalidCall(place, name=function.name, reason="its query is distinct, but has no rows of its own")
        return replace(function, clause=clause, is_view=is_view)


def _calls(node: object) -> list[tuple[str, Place]]:
    """The functions that an expression or query calls, and where."""
    found: list[tuple[str, Place]] = []
    if isinstance(node, syntax.FunctionCall):
        found.append((node.function, node.place))
    if isinstance(node, tuple):
        parts: list[object] = list(node)
    else:
        parts = [getattr(node, slot) for slot in getattr(node, "__slots__", ()) if slot not in ("place", "text")]
    for part in parts:
        if not isinstance(part, str | int | float):
            found += _calls(part)
    return found


def _rule(schema: Schema, definition: syntax.DefineRule) -> RuleDefinition:
    parameters = _parameters(schema, definition.parameters)
    translator, body = ClauseTranslator(schema, is_definition=True), list[Literal]()
    head = parameters_of(translator, parameters, body)
    declared = translator.declare(definition.declarations, body)
    translator.predicate(definition.condition, body)
    name = f"cnd_{definition.name}"
    condition = translator.clause(name, [*head, *declared], body, len(declared))
    for call in foreign_calls(condition.body):
        if not call.arguments:
            where = "the condition of a rule, for it has no arguments"
            raise ForeignNotHere(definition.place, name=call.function, where=where)
    free, lost = unbound(condition.body, condition.head, [p.name for p in parameters])
    if lost:
        raise UnboundVariable(definition.place, name=lost[0])
    unbound_parameters = tuple(p for p in parameters if p.name in free)
    variables = tuple(Parameter(v.name, v.type) for v in declared)
    return RuleDefinition(definition, parameters, variables, condition, unbound_parameters)
