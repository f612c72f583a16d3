"""From the text of a program to its parsed form."""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from sqlglot import exp

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression, operand
from tidings.ir.rule import variable
from tidings.lang.datalog.syntax import (
    Argument,
    Declaration,
    ParsedAtom,
    ParsedComparison,
    ParsedLiteral,
    ParsedProgram,
    ParsedRule,
)

ANY = "_"
AGGREGATES = ("count", "sum", "min", "max", "avg")
COMPARISONS = {"=": exp.EQ, "!=": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
_ARITHMETIC = {"add": exp.Add, "sub": exp.Sub, "mul": exp.Mul, "div": exp.Div, "mod": exp.Mod}
_TYPES = {"number": "bigint", "unsigned": "bigint", "symbol": "string", "text": "string", "float": "double"}


def parse(program: str, text: str | None = None, offset: int = 0) -> ParsedProgram:
    """The parsed form of a program; places refer to ``text``, in which it begins at ``offset``."""
    return _DatalogReader(program, program if text is None else text, offset).read()


@cache
def _grammar() -> Lark:
    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


class _DatalogReader:
    """Reads one program."""

    def __init__(self, program: str, text: str, offset: int) -> None:
        self.program, self.text, self.offset = program, text, offset
        self._fresh = count(1)

    def read(self) -> ParsedProgram:
        try:
            tree = _grammar().parse(self.program)
        except UnexpectedInput as error:
            raise self._refused(error) from None
        result = ParsedProgram()
        for part in tree.children:
            assert isinstance(part, Tree)
            match part.data:
                case "rule":
                    result.rules.append(self._rule(part))
                case "declaration":
                    result.declarations.append(self._declaration(part))
                case "output":
                    result.outputs += [_name(token) for token in part.children]
                case "storage":
                    name, *how = map(_name, part.children)
                    result.storage[name.lower()] = how[0] if how else "always"
                case _:
                    result.questions.append(self._atom(part.children[0]))
        return result

    def _refused(self, error: UnexpectedInput) -> InvalidSyntax:
        start = error.pos_in_stream if error.pos_in_stream is not None else len(self.program)
        ends = isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END")
        if ends:
            at = self._place(len(self.program.rstrip()), len(self.program.rstrip()) + 1)
            return InvalidSyntax(at, "every rule ends with a full stop", reason="the program ends inside a rule")
        if isinstance(error, UnexpectedCharacters):
            return InvalidSyntax(self._place(start, start + 1), reason=f"{self.program[start]!r} has no meaning here")
        assert isinstance(error, UnexpectedToken)
        at = self._place(start, start + len(error.token))
        hint = "a rule is head(x, y) :- body(x, z), other(z, y).  Every rule ends with a full stop"
        return InvalidSyntax(at, hint, reason=f"{str(error.token)!r} is out of place here")

    def _place(self, start: int, end: int) -> Place:
        return Place(self.text, self.offset + start, self.offset + end)

    def _of(self, node: Tree[Token]) -> Place:
        return self._place(node.meta.start_pos, node.meta.end_pos)

    def _rule(self, node: Tree[Token]) -> ParsedRule:
        head, *rest = node.children
        literals: list[ParsedLiteral] = []
        comparisons: list[ParsedComparison] = []
        for part in rest[0].children if rest else []:  # type: ignore[union-attr]
            assert isinstance(part, Tree)
            match part.data:
                case "negation":
                    literals.append(ParsedLiteral(self._atom(part.children[0]), negated=True))
                case "comparison":
                    left, operator, right = part.children
                    sides = self._expression(left), self._expression(right)
                    comparisons.append(ParsedComparison(str(operator), *sides, self._of(part)))
                case _:
                    literals.append(ParsedLiteral(self._atom(part), negated=False))
        return ParsedRule(self._atom(head), tuple(literals), tuple(comparisons), self._of(node))

    def _declaration(self, node: Tree[Token]) -> Declaration:
        name, *columns = node.children
        declared = []
        for part in columns:
            assert isinstance(part, Tree)
            column, type, *arguments = part.children
            sizes = ",".join(str(token) for a in arguments for token in a.children)  # type: ignore[union-attr]
            kind = _TYPES.get(_name(type).lower(), _name(type).lower())
            declared.append((_name(column), f"{kind}({sizes})" if sizes else kind))
        return Declaration(_name(name), tuple(declared), self._of(node))

    def _atom(self, node: object) -> ParsedAtom:
        assert isinstance(node, Tree)
        name, *arguments = node.children
        return ParsedAtom(_name(name), tuple(map(self._argument, arguments)), self._of(node))

    def _argument(self, node: object) -> Argument:
        assert isinstance(node, Tree)
        match node.data:
            case "named":
                column, term = node.children
                return Argument(self._expression(term), self._of(node), _name(column))
            case "star":
                return Argument(None, self._of(node))
            case _:
                return Argument(self._expression(node), self._of(node))

    def _expression(self, node: object) -> Expression:
        assert isinstance(node, Tree)
        match node.data:
            case "number":
                return exp.Literal.number(str(node.children[0]))
            case "string":
                return exp.Literal.string(_unquoted(str(node.children[0])))
            case "name":
                return self._named(_name(node.children[0]))
            case "paren":
                return exp.Paren(this=self._expression(node.children[0]))
            case "neg":
                return exp.Neg(this=operand(self._expression(node.children[0])))
            case "call":
                return self._function(node)
            case kind:
                left, right = (operand(self._expression(side)) for side in node.children)
                return _ARITHMETIC[str(kind)](this=left, expression=right)

    def _named(self, name: str) -> Expression:
        """A variable, or one of the three names that are constants."""
        match name.lower():
            case "true" | "false":
                return exp.Boolean(this=name.lower() == "true")
            case "null" | "nil":
                return exp.Null()
            case "_":
                return variable(f"{ANY}{next(self._fresh)}")
            case _:
                return variable(name)

    def _function(self, node: Tree[Token]) -> Expression:
        name, *arguments = node.children
        terms = [self._argument(a) for a in arguments]
        if any(t.name is not None for t in terms):
            raise InvalidSyntax(
                self._of(node), reason=f"{_name(name)} is used as a function: its arguments have no names"
            )
        expressions = [t.term for t in terms if t.term is not None]
        if _name(name).lower() == "count" and not expressions:
            return exp.Count(this=exp.Star(), big_int=True)
        return exp.func(_name(name), *expressions, dialect="spark")


def _name(token: object) -> str:
    return str(token).strip("`")


def _unquoted(token: str) -> str:
    inner = token[1:-1]
    if token[0] == "'":
        inner = inner.replace("''", "'")
    return inner.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
