"""From expressions to clauses: names are resolved, types checked, calls become literals.

``consume_freq(i) * delivery_time(i, s)`` becomes ``consume_freq(I,G1) ∧ delivery_time(I,S,G2) ∧ G3 = G1 * G2``.
An expression that has no value, such as a division by zero, makes its body false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import assert_never

from tidings.errors import (
    DuplicateDefinition,
    InvalidCall,
    Place,
    TypeMismatch,
    UnknownVariable,
    closest,
)
from tidings.lang.amosql import syntax
from tidings.lang.amosql.objectlog import (
    Aggregated,
    Alternatives,
    Atom,
    Body,
    Compare,
    Compute,
    ConstantTerm,
    ForeignCall,
    HornClause,
    Literal,
    Not,
    RelationOf,
    Term,
    Variable,
    substituted,
    variables,
)
from tidings.lang.amosql.schema import AGGREGATES, QUANTIFIERS, Function, Parameter, Schema
from tidings.lang.amosql.simplify import simplified

_TYPES = {bool: "boolean", int: "integer", float: "real", str: "charstring"}
_TRUE = ConstantTerm(True, "boolean")


@dataclass(slots=True)
class ClauseTranslator:
    """Translates what is written in one place, where some variables are known."""

    schema: Schema
    interface: Mapping[str, ConstantTerm] = field(default_factory=dict)
    """The interface variables of the session."""
    scope: dict[str, Term] = field(default_factory=dict)
    """The variables that are declared around, by name."""
    is_definition: bool = False
    """Whether a definition is translated, which outlives the session."""
    prefix: str = "?"
    """What the names of variables begin with that are made here."""
    _numbers: count[int] = field(init=False, default_factory=lambda: count(1))
    _created: list[str] = field(init=False, default_factory=list)
    """The variables made so far, in order."""

    # declarations

    def declare(self, declarations: tuple[syntax.VariableDeclaration, ...], body: list[Literal]) -> list[Variable]:
        """Declare variables; their types become literals."""
        declared = []
        for declaration in declarations:
            assert declaration.name is not None
            type = self.schema.check_type(declaration.type, declaration.place)
            if declaration.name in self.scope:
                raise DuplicateDefinition(declaration.place, kind="variable", name=declaration.name)
            variable = Variable(declaration.name, type)
            self._created.append(variable.name)
            self.scope[declaration.name] = variable
            declared.append(variable)
            self.require_type(variable, body)
        return declared

    def require_type(self, term: Term, body: list[Literal]) -> None:
        """Add the literal that says that a term is an object of its type."""
        if self.schema.is_object_type(term.type):
            body.append(Atom(self.schema.extent(term.type), (term,)))

    def fresh(self, type: str) -> Variable:
        """A variable of which nothing is known but its type."""
        variable = Variable(f"{self.prefix}{next(self._numbers)}", type)
        self._created.append(variable.name)
        return variable

    # queries

    def query(self, query: syntax.SelectQuery, name: str = "result") -> HornClause:
        """The clause of a query, whose head has its values."""
        outer, mark = dict(self.scope), len(self._created)
        body: list[Literal] = []
        self.declare(query.declarations, body)
        head = [self.term(expression, body) for expression in query.expressions]
        if query.where is not None:
            self.predicate(query.where, body)
        self.scope = outer
        return self.clause(name, head, body, mark, distinct=query.distinct)

    def clause(
        self, name: str, head: list[Term], body: list[Literal], mark: int, *, distinct: bool = False
    ) -> HornClause:
        """A clause whose local variables are those made since a mark."""
        short, terms = simplified(tuple(body), self._created[mark:], self.schema)
        values = tuple(terms.get(t.name, t) if isinstance(t, Variable) else t for t in head)
        return HornClause(name, values, short, distinct)

    # expressions

    def term(self, expression: syntax.Expression, body: list[Literal]) -> Term:
        """What stands for the value of an expression; the literals that make it are added to the body."""
        match expression:
            case syntax.ConstantExpression(value=value):
                return ConstantTerm(value, _TYPES[type(value)])
            case syntax.Name(name=name):
                if name not in self.scope:
                    raise UnknownVariable(expression.place, closest(name, self.scope), name=name)
                return self.scope[name]
            case syntax.InterfaceVariable(name=name):
                if name not in self.interface:
                    hint = closest(f":{name}", [f":{known}" for known in self.interface])
                    if self.is_definition:
                        hint = "a definition has no interface variables: give it a parameter"
                    raise UnknownVariable(expression.place, hint, name=f":{name}")
                return self.interface[name]
            case syntax.Arithmetic():
                return self._arithmetic(expression, body)
            case syntax.FunctionCall(function=function) if self._is_aggregate(function):
                return self._aggregate(expression, body)
            case syntax.FunctionCall():
                return self._call(expression, body)
            case syntax.ComparisonExpression() | syntax.Negation() | syntax.Conjunction() | syntax.Disjunction():
                what, expected = "this condition", "a value"
                raise TypeMismatch(expression.place, what=what, found="true or false", expected=expected)
            case _:
                assert_never(expression)

    def _arithmetic(self, expression: syntax.Arithmetic, body: list[Literal]) -> Term:
        left, right = self.term(expression.left, body), self.term(expression.right, body)
        for term, operand in ((left, expression.left), (right, expression.right)):
            if not self.schema.is_a(term.type, "real"):
                raise TypeMismatch(operand.place, what=_written(operand), found=term.type, expected="a number")
        is_whole = left.type == right.type == "integer" and expression.operator != "/"
        result = self.fresh("integer" if is_whole else "real")
        if expression.operator == "/":
            body.append(Compare("<>", right, ConstantTerm(0, "integer")))
        body.append(Compute(result, expression.operator, left, right))
        return result

    def _is_aggregate(self, function: str) -> bool:
        return function in AGGREGATES and function not in self.schema.functions

    def _aggregate(self, call: syntax.FunctionCall, body: list[Literal]) -> Term:
        (query,) = self._one_argument(call)
        inner = self.query(_as_query(query))
        if len(inner.head) != 1:
            raise InvalidCall(call.place, name=call.function, reason="its query has several columns")
        (value,) = inner.head
        if call.function in ("sum", "avg") and not self.schema.is_a(value.type, "real"):
            raise TypeMismatch(query.place, what="what is added", found=value.type, expected="a number")
        types = {"count": "integer", "avg": "real"}
        result = self.fresh(types.get(call.function, value.type))
        body.append(Aggregated(result, call.function, inner.distinct, value, inner.body))
        return result

    def _one_argument(self, call: syntax.FunctionCall) -> tuple[syntax.Expression | syntax.SelectQuery]:
        if len(call.arguments) != 1:
            raise InvalidCall(call.place, name=call.function, reason="it takes one query, or one expression")
        return (call.arguments[0],)

    def _call(self, call: syntax.FunctionCall, body: list[Literal]) -> Term:
        arguments = self.arguments(call, body)
        function, late = self.resolved(call, arguments)
        if function.is_procedure or function.result is None:
            raise InvalidCall(call.place, "call it as a statement", name=call.function, reason="it is a procedure")
        if function.foreign is not None:
            result = self.fresh(function.result.type)
            types = tuple(p.type for p in function.parameters)
            body.append(ForeignCall(result, function.name, function.foreign, arguments, types))
            return result
        if late:
            return self._read(self.schema.generic(function.name), arguments, body)
        if function.clause is not None and not function.is_view:
            return self._expanded(function.clause, arguments, body)
        return self._read(function.relation, arguments, body)

    def arguments(self, call: syntax.FunctionCall, body: list[Literal]) -> tuple[Term, ...]:
        """What stands for the arguments of a call."""
        for argument in call.arguments:
            if isinstance(argument, syntax.SelectQuery):
                reason = "it takes values, not a query"
                raise InvalidCall(argument.place, name=call.function, reason=reason)
        return tuple(self.term(a, body) for a in call.arguments if not isinstance(a, syntax.SelectQuery))

    def resolved(self, call: syntax.FunctionCall, arguments: tuple[Term, ...]) -> tuple[Function, list[Function]]:
        """The resolvent that a call means by the types of its arguments, and those that objects may have instead."""
        known = self.schema.resolvents(call.function, call.place)
        if len(known[0].parameters) != len(arguments):
            reason = f"it takes {len(known[0].parameters)} arguments, not {len(arguments)}"
            raise InvalidCall(call.place, name=call.function, reason=reason)
        function, late = self.schema.resolve(call.function, arguments[0].type if arguments else "", call.place)
        if function is None:
            names = ", ".join(f.dispatches_on for f in known)
            place = call.arguments[0].place
            raise TypeMismatch(place, what="the argument", found=arguments[0].type, expected=names)
        for argument, term, parameter in zip(call.arguments, arguments, function.parameters, strict=True):
            self.check(term, parameter.type, argument.place, "the argument")
        return function, late

    def check(self, term: Term, expected: str, place: Place, what: str) -> None:
        """Refuse a term that may not be of a type."""
        if not self.schema.is_a(term.type, expected):
            raise TypeMismatch(place, what=what, found=term.type, expected=expected)

    def _read(self, relation: RelationOf, arguments: tuple[Term, ...], body: list[Literal]) -> Term:
        """The value of a function by a literal that reads its relation; one that is there already will do."""
        if relation.functional:
            for literal in body:
                if isinstance(literal, Atom) and literal.relation == relation and literal.terms[:-1] == arguments:
                    return literal.terms[-1]
        result = self.fresh(relation.types[-1])
        body.append(Atom(relation, (*arguments, result)))
        return result

    def _expanded(self, clause: HornClause, arguments: tuple[Term, ...], body: list[Literal]) -> Term:
        """The value of a derived function by its own body, in the place of a literal."""
        result = self.fresh(clause.head[-1].type)
        body += inlined(clause, (*arguments, result), self)
        return result

    # conditions

    def predicate(self, expression: syntax.Expression, body: list[Literal]) -> None:
        """Add the literals that are true where a condition is."""
        match expression:
            case syntax.ComparisonExpression():
                self._comparison(expression, body)
            case syntax.Conjunction(operands=operands):
                for operand in operands:
                    self.predicate(operand, body)
            case syntax.Disjunction(operands=operands):
                body.append(Alternatives(tuple(self._inner(operand) for operand in operands)))
            case syntax.Negation(operand=operand):
                body.append(Not(self._inner(operand)))
            case syntax.FunctionCall(function=name) if name in QUANTIFIERS and name not in self.schema.functions:
                (query,) = self._one_argument(expression)
                inner = self.query(_as_query(query)).body
                body.append(Alternatives((inner,)) if name == "some" else Not(inner))
            case _:
                term = self.term(expression, body)
                self.check(term, "boolean", expression.place, _written(expression))
                body.append(Compare("=", term, _TRUE))

    def _comparison(self, comparison: syntax.ComparisonExpression, body: list[Literal]) -> None:
        left, right = self.term(comparison.left, body), self.term(comparison.right, body)
        schema = self.schema
        both_numbers = schema.is_a(left.type, "real") and schema.is_a(right.type, "real")
        if not (both_numbers or schema.is_a(left.type, right.type) or schema.is_a(right.type, left.type)):
            raise TypeMismatch(comparison.right.place, what="the right side", found=right.type, expected=left.type)
        is_ordered = comparison.operator in ("=", "<>") or not (
            schema.is_object_type(left.type) or left.type == "boolean"
        )
        if not is_ordered:
            expected = "something that has an order"
            raise TypeMismatch(comparison.place, what="each side", found=left.type, expected=expected)
        body.append(Compare(comparison.operator, left, right))

    def _inner(self, expression: syntax.Expression) -> Body:
        mark, inner = len(self._created), list[Literal]()
        self.predicate(expression, inner)
        return simplified(tuple(inner), self._created[mark:], self.schema)[0]


def inlined(clause: HornClause, terms: tuple[Term, ...], translator: ClauseTranslator) -> Body:
    """The body of a clause for other terms in its head, with variables of its own."""
    replaced: dict[str, Term] = {}
    equalities: list[Literal] = []
    for inside, outside in zip(clause.head, terms, strict=True):
        if isinstance(inside, Variable) and inside.name not in replaced:
            replaced[inside.name] = outside
        else:
            value = replaced[inside.name] if isinstance(inside, Variable) else inside
            equalities.append(Compare("=", outside, value))
    for variable in variables(clause.body):
        if variable.name not in replaced:
            replaced[variable.name] = translator.fresh(variable.type)
    return (*substituted(clause.body, replaced), *equalities)


def _as_query(argument: syntax.Expression | syntax.SelectQuery) -> syntax.SelectQuery:
    """An expression is the query that has its values."""
    if isinstance(argument, syntax.SelectQuery):
        return argument
    return syntax.SelectQuery((argument,), (), (), None, False, argument.place)


def _written(expression: syntax.Expression) -> str:
    place = expression.place
    return place.text[place.start : place.end]


def parameters_of(translator: ClauseTranslator, parameters: tuple[Parameter, ...], body: list[Literal]) -> list[Term]:
    """Declare parameters as variables."""
    terms: list[Term] = []
    for parameter in parameters:
        variable = Variable(parameter.name, parameter.type)
        translator.scope[parameter.name] = variable
        translator.require_type(variable, body)
        terms.append(variable)
    return terms
