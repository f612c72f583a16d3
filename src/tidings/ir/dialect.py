"""The SQL Tidings reads and its plans are written in: Spark's, where sqlglot's own Spark dialect falls short of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenType

from tidings.ir.older_dates import OLDER_COMPARISONS, OLDER_FUNCTIONS, interval, unit_behind
from tidings.ir.pipe_syntax import piped


def _flag(parser: Any) -> exp.Property:
    """``append_only``, alone or as ``append_only = true``."""
    name = exp.var(str(parser._prev.text).lower())
    value = parser._parse_field(any_token=True) if parser._match(TokenType.EQ) else exp.true()
    return exp.Property(this=name, value=value)


def _keeping_arguments(name: str, build: Any) -> Any:
    """A function's node, or the plain call where the node would lose an argument of it.

    ``size(xs, 1)`` would become ``size(xs)``, and ``to_char(x, '99')`` a cast; Spark is to judge what was written.
    """

    def made(args: list[Any], dialect: Any = None) -> Any:
        try:
            return build(args)
        except TypeError:
            return build(args, dialect=dialect or SparkSQL())

    @cache
    def lost(count: int) -> frozenset[int]:
        """Which of some arguments the node loses whatever they are."""
        parts = [exp.column(f"p{n}") for n in range(count)]
        try:
            kept = {part.name for part in made(list(parts)).find_all(exp.Column)}
        except (AttributeError, IndexError, TypeError, ValueError):  # where it wants a constant
            return frozenset()
        return frozenset(n for n, part in enumerate(parts) if part.name not in kept)

    def built(args: list[Any], dialect: Any = None) -> Any:
        plain = exp.Anonymous(this=name, expressions=args)
        if name in _VERBATIM or len(args) > _MOST_ARGUMENTS.get(name, len(args)):
            return plain
        if name == "NAMED_STRUCT" and (len(args) % 2 or not all(_is_text(a) for a in args[::2])):
            return plain  # the node has the names as they are written
        if name in ("NAMED_STRUCT", "STRUCT") and not args:
            return plain
        node = made(args, dialect)
        if len(args) < 2 or isinstance(node, exp.Anonymous) or len(args) > len(node.arg_types):
            return node  # the parser refuses what has too many arguments for its node
        if isinstance(node, exp.Cast) or (name not in _WITH_UNITS and _loses(node, args, lost)):
            return plain
        return node

    return built


def _is_text(argument: object) -> bool:
    return isinstance(argument, exp.Literal) and bool(argument.is_string)


def _loses(node: exp.Expr, args: list[Any], lost: Callable[[int], frozenset[int]]) -> bool:
    """Whether a node has lost an argument; a constant may have become something else in it."""
    parts = list(node.walk())
    kept = {id(part) for part in parts}
    for n, argument in enumerate(args):
        if not isinstance(argument, exp.Expr) or id(argument) in kept:
            continue
        if n in lost(len(args)) or not (isinstance(argument, exp.Literal | exp.Boolean) or argument in parts):
            return True
    return False


_WITH_UNITS = frozenset(
    "DATEDIFF DATE_DIFF TIMESTAMPDIFF DATEADD DATE_ADD TIMESTAMPADD DATE_TRUNC TRUNC NAMED_STRUCT STRUCT MAP".split()
)
"""Functions that take a unit, which is no column, or names."""
_VERBATIM = frozenset({"TO_CHAR", "TO_VARCHAR", "PARSE_JSON", "TO_NUMBER", "UNIX_DATE"})
"""Functions whose nodes are printed for Spark as something else."""
_MOST_ARGUMENTS = {"MAX": 1, "MIN": 1, "HEX": 1, "INSTR": 2, "ARRAY_CONTAINS": 2, "ROUND": 2, "SORT_ARRAY": 2}
"""Functions of which sqlglot takes more arguments than Spark."""


_OF_OTHERS = frozenset(
    """ARG_MAX ARGMAX ARG_MIN ARGMIN CONVERT GAP_FILL JSON_OBJECT JSON_OBJECTAGG JSON_TABLE MATCH NORMALIZE OPENJSON
    SAFE_CAST TRY_CONVERT WEIGHT_STRING XMLELEMENT XMLTABLE""".split()
)
"""Functions of other systems that sqlglot reads in a way of their own."""


def _question_mark(parser: Any) -> exp.Placeholder:
    """``?``, which knows its place in the text: the values of parameters are given in that order."""
    token, node = parser._prev, exp.Placeholder()
    node.meta.update(start=token.start, end=token.end)
    return node


class ComesAfter(exp.Expression):
    """``(columns) AFTER table (columns) [NOT ENFORCED]``, a constraint: rows come after those that they name."""

    arg_types = {"expressions": True, "this": True, "named": True, "trusted": False}  # noqa: RUF012


def _as_name(token: Token) -> Token:
    """A key word as the name of something."""
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)


_TYPES = {t: t for t in ("tinyint", "smallint", "bigint", "binary")} | {"decimal": "decimal(10,0)"}


def _cast_to(type: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    """``smallint(x)``: a cast by the name of the type, as the parser builds casts; it knows those of other types."""

    def build(arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) != 1:
            return exp.Anonymous(this=type, expressions=arguments)
        return exp.TryCast(this=arguments[0], to=exp.DataType.build(type, dialect=Spark))

    return build


_CASTS = {name.upper(): _cast_to(type) for name, type in _TYPES.items()}


class SparkSQL(Spark):
    """Spark SQL as Spark 4 reads it.

    A doubled quotation mark stands for one, as in ``'it''s'``; the names of types are functions; ``window(…)`` may be
    grouped by; queries may be piped.  Tables may be declared ``WITH (append_only)`` and with :class:`ComesAfter`
    constraints.  Dates may be written as older systems do.

    >>> import sqlglot
    >>> sqlglot.parse_one("SELECT getdate() - 2 weeks ≤ dateadd(day, 3, x)", read=SparkSQL).sql(SparkSQL)
    "SELECT CURRENT_TIMESTAMP() - INTERVAL '2' WEEKS <= (CAST(x AS TIMESTAMP) + INTERVAL '3' DAY)"
    """

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - the form sqlglot wants
        SINGLE_TOKENS = {**Spark.Tokenizer.SINGLE_TOKENS, **OLDER_COMPARISONS}  # noqa: RUF012

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        PROPERTY_PARSERS = {**Spark.Parser.PROPERTY_PARSERS, "APPEND_ONLY": _flag}  # noqa: RUF012
        FUNCTION_PARSERS = {n: p for n, p in Spark.Parser.FUNCTION_PARSERS.items() if n not in _OF_OTHERS}  # noqa: RUF012
        FUNCTIONS = {  # noqa: RUF012
            **{name: _keeping_arguments(name, build) for name, build in Spark.Parser.FUNCTIONS.items()},
            **_CASTS,
            **OLDER_FUNCTIONS,
            "MEAN": _keeping_arguments("MEAN", exp.Avg.from_arg_list),
            "STD": _keeping_arguments("STD", exp.Stddev.from_arg_list),
        }
        PLACEHOLDER_PARSERS = {**Spark.Parser.PLACEHOLDER_PARSERS, TokenType.PLACEHOLDER: _question_mark}  # noqa: RUF012
        SUPPORTS_TABLE_QUERY = True

        def _parse_constraint(self) -> exp.Expr | None:
            """``CONSTRAINT name (columns) AFTER table (columns)``, or another one."""
            start = self._index
            if self._match(TokenType.CONSTRAINT):
                name = self._parse_id_var()
                is_wrapped = self._match(TokenType.L_PAREN, advance=False)
                columns = self._parse_wrapped_id_vars() if is_wrapped else []
                if columns and self._match_text_seq("AFTER"):
                    table, named = exp.Table(this=self._parse_id_var()), self._parse_wrapped_id_vars()
                    trusted = bool(self._match_text_seq("NOT", "ENFORCED"))
                    after = ComesAfter(expressions=columns, this=table, named=named, trusted=trusted)
                    return exp.Constraint(this=name, expressions=[after])
                self._retreat(start)
            constraint: exp.Expr | None = super()._parse_constraint()
            return constraint

        def _parse_types(self, *args: Any, schema: bool = False, **options: Any) -> exp.Expr | None:
            """A type; one behind TYPE, as in ALTER COLUMN, is that of a column, whose length counts."""
            of_column = schema or (self._prev is not None and self._prev.text.upper() == "TYPE")
            type: exp.Expr | None = super()._parse_types(*args, schema=of_column, **options)
            return type

        def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
            """A number and a unit of time behind a sign are an interval."""
            is_added = self._prev is not None and self._prev.token_type in (TokenType.PLUS, TokenType.DASH)
            operand: exp.Expr | None = super()._parse_factor(parse_mod)
            unit = unit_behind(self, operand) if is_added else None
            if operand is None or unit is None:
                return operand
            self._advance()
            return interval(operand, unit)

        def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
            """GROUP BY; ``window(`` begins a key there, and not the clause that names windows."""
            at = self._index
            if not skip_group_by_token and self._match(TokenType.GROUP_BY) and self._begins_window_call():
                self._tokens[self._index] = _as_name(self._tokens[self._index])
            self._retreat(at)
            return super()._parse_group(skip_group_by_token)  # type: ignore[no-any-return]

        def _begins_window_call(self) -> bool:
            called = self._next is not None and self._next.token_type is TokenType.L_PAREN
            return called and self._curr is not None and self._curr.token_type is TokenType.WINDOW

        def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query:
            return piped(self, query)

        def _parse_select(self, *args: Any, consume_pipe: bool = True, **options: Any) -> exp.Expr | None:
            query: exp.Expr | None = super()._parse_select(*args, consume_pipe=consume_pipe, **options)
            if consume_pipe and isinstance(query, exp.Values) and self._match(TokenType.PIPE_GT, advance=False):
                rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=query))
                return piped(self, rows)
            return query


class WrittenSparkSQL(SparkSQL):
    """The same, for reading what users write: functions remember the names by which they were called."""

    ORIGINAL_NAME_META_KEY = "written"


DIALECT = SparkSQL
