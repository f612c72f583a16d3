"""Dates as older systems write them: ``getdate()``, ``dateadd(week, -4, moment)``, ``moment + 2 weeks``.

All become what Spark's SQL has for them: ``CURRENT_TIMESTAMP()`` and intervals that are added or subtracted.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType

_UNITS = frozenset("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH YEAR".split())

OLDER_COMPARISONS = {"≤": TokenType.LTE, "≥": TokenType.GTE, "≠": TokenType.NEQ}


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
    moment = tree.this
    if not isinstance(moment, exp.CurrentTimestamp):
        moment = exp.cast(moment, "TIMESTAMP", dialect=Spark)
    sum_or_difference = exp.Sub if isinstance(count, exp.Neg) else exp.Add
    return exp.Paren(this=sum_or_difference(this=moment, expression=interval(number, unit)))


OLDER_FUNCTIONS = {
    "GETDATE": lambda _: exp.CurrentTimestamp(),
    **dict.fromkeys(("DATEADD", "DATE_ADD", "TIMESTAMPADD"), _moved),
}


def interval(number: exp.Expr, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(str(number.this)), unit=exp.var(unit))


def unit_behind(parser: Any, operand: exp.Expr | None) -> str | None:
    """The unit of time that is the next word behind a number, if both are there."""
    is_number = isinstance(operand, exp.Literal) and not operand.is_string
    following = parser._curr
    is_word = following is not None and following.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    return _unit(following.text) if is_number and is_word else None
