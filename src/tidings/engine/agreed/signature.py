"""How a call of a function of Spark finds its line in the table of functions, and its arguments their types.

The left side of a line is a call as users write it, with types for arguments: ``array_contains(array<T>, T)``.  The
parser that reads their text reads it too, so whatever it makes of a call, it makes of the line.  Arguments are matched
with these kinds:

===============  ===================================================================
a type           a value of it, or one that Spark converts to it without being told
``T``, ``K``     any type; the same one everywhere in the line
``whole``        a whole number of any size; the words may ask for its type as ``{T}``
``constant``     a text as it is written
``number``       a whole number as it is written
===============  ===================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.casts import cast
from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.term import NotAgreed, TypedExpression, braced, converted, duckdb_type, quoted_name, words
from tidings.engine.agreed.written import written_text, written_whole
from tidings.ir import types
from tidings.ir.expression import Expression, template

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator

VARIABLES = ("T", "K", "V")
_CONVERTED: dict[str, tuple[str, ...]] = {
    "string": (*types.INTEGRAL, "boolean", "date", "timestamp", "timestamp_ntz", "double"),
    "date": ("timestamp", "timestamp_ntz", "string"),
    "timestamp": ("date", "timestamp_ntz", "string"),
    "double": (*types.INTEGRAL, "float", "string"),
    "int": ("tinyint", "smallint", "string"),
    "bigint": ("tinyint", "smallint", "int", "string"),
}
"""From which types Spark converts an argument to another without being told; also from decimals to texts and floats."""


@dataclass(frozen=True, slots=True)
class FunctionLine:
    """One line of the table."""

    form: str
    """The call, with the kinds of its arguments."""
    type: str
    """The type of its values, which may name that of an argument: ``T``, ``array<T>``."""
    words: str
    """How DuckDB says it, with ``{0}``, ``{1}``, … for the arguments."""
    is_strict: bool = False
    """Whether Spark converts no argument to what the line asks for."""

    @property
    def name(self) -> str:
        return self.form.partition("(")[0]

    @property
    def kinds(self) -> list[str]:
        """The kinds of its arguments.

        >>> FunctionLine("f(map<K,V>, K)", "V", "").kinds
        ['map<K,V>', 'K']
        """
        return [k for k in self.form.partition("(")[2].removesuffix(")").split(", ") if k]


Lines = dict[type[Expression], list[tuple[Expression, FunctionLine]]]


def lines_by_node(functions: tuple[FunctionLine, ...]) -> Lines:
    """The lines of a table by the node that the parser makes of their calls."""
    lines: Lines = {}
    for function in functions:
        call = template(f"{function.name}({', '.join(f'p{n}' for n in range(len(function.kinds)))})")
        lines.setdefault(type(call), []).append((call, function))
    return lines


def said(translator: Translator, node: Expression, lines: Lines) -> TypedExpression:
    """A call by the first line of the table that it fits."""
    for call, function in lines.get(type(node), ()):
        arguments: dict[str, Expression] = {}
        if _matches(call, node, arguments):
            term = _by_line(translator, node, function, [arguments[f"p{n}"] for n in range(len(function.kinds))])
            if term is not None:
                return term
    raise NotAgreed(node)


def _matches(call: Expression, node: Expression, arguments: dict[str, Expression]) -> bool:
    """Whether a node is such a call; its arguments are found on the way."""
    if isinstance(call, exp.Column):
        arguments[call.name] = node
        return True
    if type(call) is not type(node):
        return False
    for name in call.args.keys() | node.args.keys():
        expected, given = call.args.get(name), node.args.get(name)
        if isinstance(expected, list) and isinstance(given, list):
            if len(expected) != len(given) or not all(
                _matches(e, g, arguments) for e, g in zip(expected, given, strict=True)
            ):
                return False
        elif isinstance(expected, exp.Expr) and isinstance(given, exp.Expr):
            if not _matches(expected, given, arguments):
                return False
        elif (str(expected or "").lower()) != (str(given or "").lower()):
            return False
    return True


def _by_line(
    translator: Translator, node: Expression, function: FunctionLine, arguments: list[Expression]
) -> TypedExpression | None:
    def reads_text(argument: Expression, kind: str) -> bool:
        converts = kind in _CONVERTED and kind != "string"
        return converts and translator.term(argument).type == "string"

    known: dict[str, str] = {}
    terms = []
    for kind, argument in zip(function.kinds, arguments, strict=True):
        term = _argument(translator, node, argument, kind, known)
        if term is None or (
            function.is_strict and not types.is_nested(kind) and _is_converted(translator, argument, kind)
        ):
            return None
        terms.append(term)
    if any(a.find(exp.Null) is not None for a in arguments) and any(map(reads_text, arguments, function.kinds)):
        return None  # of a constant NULL DuckDB makes NULL, and does not see the text that Spark cannot read
    if known.get("K") in ("float", "double"):  # keys of maps have one zero
        return None
    text = function.words
    for variable, type in known.items():
        text = text.replace(f"{{{variable}}}", braced(duckdb_type(type)))
    return TypedExpression(words(text, *terms), _typed(function.type, known))


def _is_converted(translator: Translator, argument: Expression, kind: str) -> bool:
    """Whether an argument is of another type than a line asks for."""
    is_named = kind in (*VARIABLES, "whole", "constant", "number")
    return not is_named and translator.term(argument).type not in (kind, "void")


def _typed(kind: str, known: dict[str, str]) -> str:
    return re.sub(r"\b[TKV]\b", lambda variable: known[variable[0]], kind)


def _argument(
    translator: Translator, node: Expression, argument: Expression, kind: str, known: dict[str, str]
) -> TypedExpression | None:
    """An argument as a kind; None if it is none of it."""
    if kind == "constant":
        return TypedExpression(exp.Literal.string(written_text(node, argument)), "string")
    if kind == "number":
        return TypedExpression(words(f"({written_whole(node, argument)})"), "int")
    term = translator.term(argument)
    if kind == "whole":
        known["T"] = term.type
        return term if term.type in types.INTEGRAL else None
    if kind in VARIABLES:
        if term.type == "void" and (kind == "K" or kind not in known):
            return None
        known.setdefault(kind, term.type)
        return converted(term, known[kind]) if term.type in (known[kind], "void") else None
    if types.is_nested(kind):
        return term if _bind_type(kind, term.type, known) else None
    return fitted(node, term, kind)


def _bind_type(kind: str, type: str, known: dict[str, str]) -> bool:
    """Whether a nested type is of a kind; what stands for its variables is found on the way."""
    if kind in VARIABLES:
        return known.setdefault(kind, type) == type and type != "void"
    if not types.is_nested(kind):
        return kind == type
    outer, _, inner = kind.removesuffix(">").partition("<")
    parts = types.elements(type)
    kinds = [inner] if outer == "array" else inner.split(",")
    if not type.startswith(f"{outer}<") or len(kinds) != len(parts):
        return False
    return all(_bind_type(k, t, known) for k, t in zip(kinds, parts, strict=True))


def fitted(node: Expression, term: TypedExpression, type: str) -> TypedExpression | None:
    """A term as a type that a function takes, where Spark converts it without being told."""
    if term.type == type:
        return term
    if term.type == "void":
        return converted(term, type)
    from_decimal = term.decimal is not None and type in ("string", "double")
    if from_decimal or term.type in _CONVERTED.get(type, ()):
        return cast(node, term, type)
    if types.is_nested(type):
        return None
    return converted(term, type) if common_type([term.type, type]) == type else None


def added(translator: Translator, node: exp.Anonymous, name: str) -> TypedExpression:
    """A call of a user's function; what it is given becomes what it takes."""
    takes, returns = translator.own[name]
    if len(node.expressions) != len(takes):
        raise NotAgreed(node)
    parts = []
    for argument, type in zip(node.expressions, takes, strict=True):
        part = fitted(node, translator.term(argument), type)
        if part is None:
            raise NotAgreed(node)
        parts.append(part)
    places = ", ".join(f"{{{n}}}" for n, _ in enumerate(parts))
    return TypedExpression(words(f"{braced(quoted_name(name))}({places})", *parts), returns)
