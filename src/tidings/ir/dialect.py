"""The SQL Tidings reads and its plans are written in: Spark's, where sqlglot's own Spark dialect falls short of it."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType


def _flag(parser: Any) -> exp.Property:
    """``append_only``, alone or as ``append_only = true``."""
    name = exp.var(str(parser._prev.text).lower())
    value = parser._parse_field(any_token=True) if parser._match(TokenType.EQ) else exp.true()
    return exp.Property(this=name, value=value)


_UNITS = frozenset("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH YEAR".split())
_SIGNS = (TokenType.PLUS, TokenType.DASH)


def _unit(word: str) -> str | None:
    """The unit of time that a word names, in the singular or the plural."""
    return word.upper() if word.upper().removesuffix("S") in _UNITS else None


def _moved(args: list[Any]) -> exp.Expr:
    """``DATEADD(week, -4, moment)`` as ``moment - INTERVAL 4 WEEK``, where the number is a constant."""
    tree: exp.Expr = Spark.Parser.FUNCTIONS["DATEADD"](args)
    count, unit = tree.args.get("expression"), _unit(str(tree.args.get("unit")))
    number = count.this if isinstance(count, exp.Neg) else count
    if not isinstance(tree, exp.TimestampAdd) or unit is None or not isinstance(number, exp.Literal):
        return tree
    interval = exp.Interval(this=exp.Literal.string(str(number.this)), unit=exp.var(unit))
    moment = (
        tree.this if isinstance(tree.this, exp.CurrentTimestamp) else exp.cast(tree.this, "TIMESTAMP", dialect=Spark)
    )
    sum_or_difference = exp.Sub if isinstance(count, exp.Neg) else exp.Add
    return exp.Paren(this=sum_or_difference(this=moment, expression=interval))


class ComesAfter(exp.Expression):
    """``(columns) AFTER table (columns) [NOT ENFORCED]``, a constraint: rows come after those that they name."""

    arg_types = {"expressions": True, "this": True, "named": True, "trusted": False}  # noqa: RUF012


class SparkSQL(Spark):
    """Spark SQL as Spark 4 reads it: a doubled quotation mark stands for one, as in ``'it''s'``.

    Tables may be declared ``WITH (append_only)`` and with :class:`ComesAfter` constraints.  Besides, what older systems
    say is understood: ``getdate()``, ``moment + 2 weeks``, and ``≤``, ``≥`` and ``≠``.

    >>> import sqlglot
    >>> sqlglot.parse_one("SELECT getdate() - 2 weeks ≤ dateadd(day, 3, x)", read=SparkSQL).sql(SparkSQL)
    "SELECT CURRENT_TIMESTAMP() - INTERVAL '2' WEEKS <= (CAST(x AS TIMESTAMP) + INTERVAL '3' DAY)"
    """

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - the form sqlglot wants
        SINGLE_TOKENS = {  # noqa: RUF012
            **Spark.Tokenizer.SINGLE_TOKENS,
            "≤": TokenType.LTE,
            "≥": TokenType.GTE,
            "≠": TokenType.NEQ,
        }

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        PROPERTY_PARSERS = {**Spark.Parser.PROPERTY_PARSERS, "APPEND_ONLY": _flag}  # noqa: RUF012
        FUNCTIONS = {  # noqa: RUF012
            **Spark.Parser.FUNCTIONS,
            "GETDATE": lambda _: exp.CurrentTimestamp(),
            **dict.fromkeys(("DATEADD", "DATE_ADD", "TIMESTAMPADD"), _moved),
        }

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

        def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
            """A number and a unit of time behind a sign are an interval."""
            is_added = self._prev is not None and self._prev.token_type in _SIGNS
            operand: exp.Expr | None = super()._parse_factor(parse_mod)
            is_number = isinstance(operand, exp.Literal) and not operand.is_string
            unit = _unit(self._curr.text) if is_added and is_number and self._curr else None
            if operand is None or unit is None or self._curr.token_type is TokenType.STRING:
                return operand
            self._advance()
            return exp.Interval(this=exp.Literal.string(str(operand.this)), unit=exp.var(unit))


DIALECT = SparkSQL
