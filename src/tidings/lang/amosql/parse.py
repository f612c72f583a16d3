"""From text to statements, by the grammar in ``grammar.lark``; names are taken in lower case.

What cannot be read is refused at its place, with what was expected there and the word that was perhaps meant.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, VisitError
from lark.tree import Meta
from lark.visitors import v_args

from tidings.errors import InvalidSyntax, Place, closest
from tidings.lang.amosql import syntax


def read(text: str) -> list[syntax.Statement]:
    """The statements of a text, in order.

    >>> [type(statement).__name__ for statement in read("create type item; commit;")]
    ['CreateType', 'Commit']
    """
    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    try:
        statements: list[syntax.Statement] = _Reader(text).transform(tree)
    except VisitError as error:
        raise error.orig_exc from None
    return statements


def is_complete(text: str) -> bool:
    """Whether a text can be run as it is: it ends a statement, and is not to go on.

    >>> is_complete("create type item"), is_complete("create type item;")
    (False, True)
    """
    without_comments = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).strip()
    if not without_comments.endswith(";"):
        return not without_comments
    try:
        _grammar().parse(text)
    except UnexpectedToken as error:
        return str(error.token.type) != "$END"
    except UnexpectedInput:
        return True
    return True


@cache
def _grammar() -> Lark:
    return Lark.open_from_package(
        "tidings.lang.amosql", "grammar.lark", parser="lalr", propagate_positions=True, maybe_placeholders=True
    )


def _syntax_error(text: str, error: UnexpectedInput) -> InvalidSyntax:
    match error:
        case UnexpectedToken(token=token) if token.type == "$END":
            place, seen, names = Place(text, len(text), len(text)), "the text ends too early", error.accepts
        case UnexpectedToken(token=token):
            place = Place(text, token.start_pos or 0, token.end_pos or 0)
            seen, names = f"{str(token)!r} does not fit here", error.accepts
        case UnexpectedCharacters():
            at = error.pos_in_stream or 0
            place, seen, names = Place(text, at, at + 1), f"{text[at]!r} does not fit here", error.allowed
        case _:
            assert isinstance(error, UnexpectedEOF)
            place, seen, names = Place(text, len(text), len(text)), "the text ends too early", set(error.expected)
    words = sorted(word for name in names or () for word in _words(name))
    keywords = [word for word in words if word.isalpha()]
    hint = _meant(text[place.start : place.end], keywords)
    if hint is None and (word := re.search(r"(\w+)\s*$", text[: place.start])) is not None:
        hint = _meant(word.group(1), _KEYWORDS)
    return InvalidSyntax(place, hint, reason=f"{seen}; expected {' or '.join(words) or 'nothing more'}")


_KEYWORDS = "create type function procedure rule activate deactivate commit rollback explain drop select delete".split()


def _meant(word: str, keywords: list[str]) -> str | None:
    """A hint that names the keyword that a word resembles."""
    hint = closest(word, keywords) if word.isalpha() and word.lower() not in keywords else None
    return hint if hint is not None and hint.startswith("did you mean") else None


_TERMS = {
    "NAME": ["a name"],
    "VARIABLE": ["an interface variable such as :x"],
    "INTEGER": ["a number"],
    "REAL": [],
    "STRING": ["a text in quotes"],
    "COMPARE": ["a comparison"],
    "SIGN": ["+", "-"],
    "FACTOR": ["*", "/"],
    "UPDATE": ["set", "add", "remove"],
    "SEMANTICS": ["strict", "nervous"],
    "KIND": ["type", "function", "rule"],
    "DISTINCT": ["distinct"],
    "MANY": ["set of"],
    "$END": ["the end"],
    "SEMICOLON": [";"],
    "LPAR": ["("],
    "RPAR": [")"],
    "COMMA": [","],
    "EQUAL": ["="],
    "MINUS": [],
}


def _words(terminal: str) -> list[str]:
    """How a terminal of the grammar is written."""
    if terminal in _TERMS:
        return _TERMS[terminal]
    return ["->"] if terminal.startswith("__ANON") else [terminal.lower()]


@v_args(meta=True)
class _Reader(Transformer[Token, Any]):
    """Makes statements of what was parsed; the children of a rule come in the order in which the grammar has them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def _place(self, meta: Meta) -> Place:
        if meta.empty:
            return Place(self._text, 0, 0)
        return Place(self._text, meta.start_pos, meta.end_pos)

    def _written(self, meta: Meta) -> str:
        return self._text[meta.start_pos : meta.end_pos]

    def start(self, meta: Meta, children: list[Any]) -> list[syntax.Statement]:
        return [child for child in children if child is not None]

    # definitions

    def create_type(self, meta: Meta, children: list[Any]) -> syntax.CreateType:
        name, parent = children
        place = _of(self._text, name)
        return syntax.CreateType(_lower(name), parent and _lower(parent), place, self._written(meta))

    def create_function(self, meta: Meta, children: list[Any]) -> syntax.CreateFunction:
        name, parameters, (many, result), body = children
        place, text = _of(self._text, name), self._written(meta)
        return syntax.CreateFunction(_lower(name), parameters or (), result, many, body, place, text)

    def create_procedure(self, meta: Meta, children: list[Any]) -> syntax.CreateFunction:
        name, parameters, body = children
        place, text = _of(self._text, name), self._written(meta)
        return syntax.CreateFunction(_lower(name), parameters or (), None, False, body, place, text)

    def create_rule(self, meta: Meta, children: list[Any]) -> syntax.DefineRule:
        semantics, name, parameters, priority, declarations, condition, action = children
        return syntax.DefineRule(
            _lower(name),
            parameters or (),
            declarations or (),
            condition,
            action,
            nervous=semantics is not None and semantics.lower() == "nervous",
            priority=priority or 0,
            place=_of(self._text, name),
            text=self._written(meta),
        )

    def foreign(self, meta: Meta, children: list[Any]) -> syntax.Foreign:
        return syntax.Foreign(_unquoted(children[0]))

    def parameters(self, meta: Meta, children: list[Any]) -> tuple[syntax.VariableDeclaration, ...]:
        return tuple(children)

    declarations = parameters

    def parameter(self, meta: Meta, children: list[Any]) -> syntax.VariableDeclaration:
        type, name = children
        return syntax.VariableDeclaration(_lower(type), name and _lower(name), self._place(meta))

    declaration = parameter

    def result(self, meta: Meta, children: list[Any]) -> tuple[bool, syntax.VariableDeclaration]:
        many, type, name = children
        return many is not None, syntax.VariableDeclaration(_lower(type), name and _lower(name), self._place(meta))

    def signed(self, meta: Meta, children: list[Any]) -> int:
        return int(children[0])

    def negative(self, meta: Meta, children: list[Any]) -> int:
        return -int(children[0])

    def drop(self, meta: Meta, children: list[Any]) -> syntax.DropDefinition:
        kind, name = children
        return syntax.DropDefinition(kind.lower(), _lower(name), _of(self._text, name))

    def activate(self, meta: Meta, children: list[Any], on: bool = True) -> syntax.Activate:
        name, arguments = children
        return syntax.Activate(_lower(name), arguments or (), on, _of(self._text, name))

    def deactivate(self, meta: Meta, children: list[Any]) -> syntax.Activate:
        return self.activate(meta, children, on=False)

    def explain(self, meta: Meta, children: list[Any]) -> syntax.Explain:
        return syntax.Explain(_lower(children[0]), _of(self._text, children[0]))

    def commit(self, meta: Meta, children: list[Any]) -> syntax.Commit:
        return syntax.Commit(self._place(meta))

    def rollback(self, meta: Meta, children: list[Any]) -> syntax.Rollback:
        return syntax.Rollback(self._place(meta))

    # what is done

    def create_instances(self, meta: Meta, children: list[Any]) -> syntax.CreateInstances:
        name, *variables = children
        return syntax.CreateInstances(_lower(name), tuple(map(self._variable, variables)), _of(self._text, name))

    def update(self, meta: Meta, children: list[Any]) -> syntax.UpdateFunction:
        kind, call, value, declarations, where = children
        return syntax.UpdateFunction(kind.lower(), call, value, declarations or (), where, self._place(meta))

    def remove_all(self, meta: Meta, children: list[Any]) -> syntax.UpdateFunction:
        kind, call, declarations, where = children
        if kind.lower() != "remove":
            raise InvalidSyntax(self._place(meta), reason=f"{kind.lower()} needs = and a value")
        return syntax.UpdateFunction("remove", call, None, declarations or (), where, self._place(meta))

    def assign(self, meta: Meta, children: list[Any]) -> syntax.Assign:
        kind, variable, value = children
        if kind.lower() != "set":
            raise InvalidSyntax(_of(self._text, kind), reason="an interface variable is given a value by set")
        return syntax.Assign(self._variable(variable), value, self._place(meta))

    def delete(self, meta: Meta, children: list[Any]) -> syntax.DeleteObjects:
        object, declarations, where = children
        return syntax.DeleteObjects(object, declarations or (), where, self._place(meta))

    def for_each(self, meta: Meta, children: list[Any]) -> syntax.ForEach:
        declarations, where, body = children
        return syntax.ForEach(declarations, where, body, self._place(meta))

    def block(self, meta: Meta, children: list[Any]) -> syntax.ActionBlock:
        return syntax.ActionBlock(tuple(c for c in children if c is not None), self._place(meta))

    def if_then(self, meta: Meta, children: list[Any]) -> syntax.If:
        condition, then = children
        return syntax.If(condition, then, None, self._place(meta))

    def if_else(self, meta: Meta, children: list[Any]) -> syntax.If:
        condition, then, otherwise = children
        return syntax.If(condition, then, otherwise, self._place(meta))

    def expression_statement(self, meta: Meta, children: list[Any]) -> syntax.CallStatement:
        return syntax.CallStatement(children[0], self._place(meta))

    def query(self, meta: Meta, children: list[Any]) -> syntax.SelectQuery:
        distinct, expressions, into, declarations, where = children
        place = self._place(meta)
        return syntax.SelectQuery(expressions, into or (), declarations or (), where, distinct is not None, place)

    def expressions(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    arguments = expressions

    def variables(self, meta: Meta, children: list[Any]) -> tuple[syntax.InterfaceVariable, ...]:
        return tuple(map(self._variable, children))

    # expressions

    def disjunction(self, meta: Meta, children: list[Any]) -> syntax.Disjunction:
        return syntax.Disjunction(tuple(children), self._place(meta))

    def conjunction(self, meta: Meta, children: list[Any]) -> syntax.Conjunction:
        return syntax.Conjunction(tuple(children), self._place(meta))

    def negation(self, meta: Meta, children: list[Any]) -> syntax.Negation:
        return syntax.Negation(children[0], self._place(meta))

    def comparison(self, meta: Meta, children: list[Any]) -> syntax.ComparisonExpression:
        left, operator, right = children
        return syntax.ComparisonExpression("<>" if operator == "!=" else str(operator), left, right, self._place(meta))

    def equality(self, meta: Meta, children: list[Any]) -> syntax.ComparisonExpression:
        left, right = children
        return syntax.ComparisonExpression("=", left, right, self._place(meta))

    def sum(self, meta: Meta, children: list[Any]) -> syntax.Arithmetic:
        left, operator, right = children
        return syntax.Arithmetic(str(operator), left, right, self._place(meta))

    product = sum

    def minus(self, meta: Meta, children: list[Any]) -> syntax.Expression:
        operand, place = children[0], self._place(meta)
        if isinstance(operand, syntax.ConstantExpression) and type(operand.value) in (int, float):
            return syntax.ConstantExpression(-operand.value, place)  # type: ignore[operator]
        return syntax.Arithmetic("-", syntax.ConstantExpression(0, place), operand, place)

    def integer(self, meta: Meta, children: list[Any]) -> syntax.ConstantExpression:
        if int(children[0]) >= 2**63:
            raise InvalidSyntax(self._place(meta), reason="this number is too large for an integer")
        return syntax.ConstantExpression(int(children[0]), self._place(meta))

    def real(self, meta: Meta, children: list[Any]) -> syntax.ConstantExpression:
        return syntax.ConstantExpression(float(children[0]), self._place(meta))

    def string(self, meta: Meta, children: list[Any]) -> syntax.ConstantExpression:
        return syntax.ConstantExpression(_unquoted(children[0]), self._place(meta))

    def true(self, meta: Meta, children: list[Any]) -> syntax.ConstantExpression:
        return syntax.ConstantExpression(True, self._place(meta))

    def false(self, meta: Meta, children: list[Any]) -> syntax.ConstantExpression:
        return syntax.ConstantExpression(False, self._place(meta))

    def call(self, meta: Meta, children: list[Any]) -> syntax.FunctionCall:
        function, arguments = children
        return syntax.FunctionCall(_lower(function), arguments or (), self._place(meta))

    def name(self, meta: Meta, children: list[Any]) -> syntax.Name:
        return syntax.Name(_lower(children[0]), self._place(meta))

    def variable(self, meta: Meta, children: list[Any]) -> syntax.InterfaceVariable:
        return self._variable(children[0])

    def _variable(self, token: Token) -> syntax.InterfaceVariable:
        return syntax.InterfaceVariable(token[1:].lower(), _of(self._text, token))


def _of(text: str, token: Token) -> Place:
    return Place(text, token.start_pos or 0, token.end_pos or 0)


def _lower(token: Token) -> str:
    return str(token).lower()


def _unquoted(token: Token) -> str:
    quote = token[0]
    return str(token[1:-1]).replace(quote * 2, quote)
