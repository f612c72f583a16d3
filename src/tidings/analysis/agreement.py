"""Expressions on which both engines agree, so that either may evaluate them.

A Spark job takes longer than a commit may, and longer than a tiny wave should.  So what is small is computed by a
DuckDB in this process, if every node of every expression is one of those below.  The list is small and every entry of
it is tested on both engines; what is not in it, the database's own engine evaluates.

Counter-examples, for what is left out: Spark divides by zero with an error where DuckDB says NULL; floats are printed
differently; ``'7' = 7`` casts the text in Spark and the number in DuckDB; upper('ß') is 'SS' in Spark only, so
functions of letters are agreed upon for ASCII alone (:attr:`Judge.ascii`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.analysis.digits import Digits
from tidings.ir import types
from tidings.ir.expression import Expression

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_INTEGER = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{1,9}\.\d{1,9}")
_SPANS = frozenset({"WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_SMALL = 9
"""What is made of constants with up to this many digits in all is small enough for an INT."""
_PRECISION = 38
"""Up to this many digits, sums and products of decimals fit the types of both engines."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_KINDS = {**dict.fromkeys(types.INTEGRAL, "number"), "string": "string", "boolean": "boolean", "date": "date"}
_KINDS |= {"timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz", "void": "null"}
_KINDS |= {"float": "floating", "double": "floating"}  # held against each other only: both have NaN as the greatest


def kind_of(type: str) -> str | None:
    """What the values of a type are; None for types the engines may treat differently."""
    return "number" if types.decimal(type) is not None else _KINDS.get(type)


@dataclass(slots=True)
class Judge:
    """Goes through an expression and says of what kind its values are, or None if the engines may not agree."""

    typed: Callable[[exp.Column], str | None]
    """The type of a column; None if it is not known."""
    ascii: bool = False
    """Whether the engines agree only if the texts it looks at are ASCII."""
    places: int = -1
    """Numbers with up to this many decimal places may be too large for their type: then no engine has an answer."""
    digits: Digits = field(init=False)

    def __post_init__(self) -> None:
        self.digits = Digits(self.typed)

    def whole(self, node: Expression) -> bool:
        """Whether a number is an integer; no decimal takes part in making it."""
        return self.digits.whole(node)

    def kind(self, node: Expression) -> str | None:
        """The kind of an expression's values; None if the engines may not agree on them."""
        match node:
            case exp.Paren():
                return self.kind(node.this)
            case exp.Column():
                return kind_of(self.typed(node) or "")
            case exp.Cast() if not isinstance(node.this, exp.Literal):
                return self._cast(node)
            case exp.Literal() | exp.Null() | exp.Boolean() | exp.Cast():
                return constant_kind(node)
            case exp.Neg():
                return self._only("number", node.this)
            case exp.And() | exp.Or():
                return self._only("boolean", node.left, node.right)
            case exp.Not():
                return self._only("boolean", node.this)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._is_null(node.this)
            case exp.In() if node.expressions and not node.args.get("query"):
                return self._alike("boolean", node.this, *node.expressions)
            case exp.Between():
                return self._alike("boolean", node.this, node.args["low"], node.args["high"])
            case exp.Case() if node.this is None:
                return self._case(node.args["ifs"], node.args.get("default"))
            case exp.If():
                return self._case([node], node.args.get("false"))
            case exp.Coalesce():
                return self._alike(None, node.this, *node.expressions)
            case _ if isinstance(node, _COMPARISONS):
                return self._alike("boolean", node.this, node.expression)
            case _:
                return self._computed_kind(node)

    def _computed_kind(self, node: Expression) -> str | None:
        """The kind of arithmetic and of functions."""
        match node:
            case exp.Add() | exp.Sub() if _is_span(node.expression):
                return "timestamp" if self.kind(node.this) == "timestamp" else None
            case exp.Add() | exp.Sub() | exp.Mul():
                return self._arithmetic(node)
            case exp.Year() | exp.Month() | exp.Day() | exp.Extract():
                return self._part_of_a_date(node)
            case exp.Substring():
                return self._substring(node)
            case exp.UnixMicros():
                return "number" if self.kind(node.this) == "timestamp" else None
            case exp.Mod():
                return self._remainder(node)
            case exp.Length():
                return "number" if self.kind(node.this) == "string" else None
            case exp.Lower() | exp.Upper() | exp.Trim() if not (node.expression or node.args.get("position")):
                self.ascii = True
                return self._only("string", node.this)
            case exp.Like():
                plain = isinstance(node.expression, exp.Literal) and "\\" not in node.expression.name
                return "boolean" if plain and self.kind(node.this) == "string" else None
            case _:
                return None

    def _only(self, kind: str, *nodes: Expression) -> str | None:
        """The kind, if all nodes are of it."""
        return kind if all(self.kind(n) in (kind, "null") for n in nodes) else None

    def _alike(self, result: str | None, *nodes: Expression) -> str | None:
        """A result from values of one kind; without one given, a value of that kind."""
        kinds = {self.kind(n) for n in nodes}
        if None in kinds or len(kinds - {"null"}) > 1:
            return None
        return result or next(iter(kinds - {"null"}), "null")

    def _part_of_a_date(self, node: Expression) -> str | None:
        """Of dates and timestamps, in sessions that are in UTC."""
        if isinstance(node, exp.Extract):
            known = node.name.upper() in ("YEAR", "MONTH", "DAY")
            return "number" if known and self.kind(node.expression) in ("date", "timestamp") else None
        whole = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
        return "number" if self.kind(whole) in ("date", "timestamp") else None

    def _substring(self, node: exp.Substring) -> str | None:
        """From a place on that is counted from the beginning, and of a length that is given."""
        places = (node.args.get("start"), node.args.get("length"))
        plain = all(isinstance(p, exp.Literal) and not p.is_string and p.name.isdigit() for p in places)
        return self._only("string", node.this) if plain and places[0].name != "0" else None  # type: ignore[union-attr]

    def _is_null(self, node: Expression) -> str | None:
        """Any column may be held against NULL, of whatever type."""
        known = self.typed(node) if isinstance(node, exp.Column) else self.kind(node)
        return "boolean" if known is not None else None

    def _cast(self, node: exp.Cast) -> str | None:
        """Casts of NULL, and of numbers to types with room for all their places."""
        to = types.canonical(node.args["to"])
        if node.args.get("safe"):
            return "timestamp" if to == "timestamp" and self.kind(node.this) == "timestamp" else None
        if isinstance(node.this, exp.Null):
            return kind_of(to)
        if self.kind(node.this) == to == "boolean":
            return to
        if self.kind(node.this) != "number":
            return None
        if to == "bigint":
            return "number" if self.whole(node.this) or self.digits.places(node.this) == 0 else None
        room, places = types.decimal(to), self.digits.places(node.this)
        return "number" if room is not None and places is not None and places <= room[1] else None

    def _arithmetic(self, node: Expression) -> str | None:
        if self._only("number", node.args["this"], node.args["expression"]) is None:
            return None
        leaves = [n for n in node.walk() if isinstance(n, exp.Column | exp.Literal)]
        typed = node.find(exp.Anonymous, exp.Cast) is not None or any(isinstance(n, exp.Column) for n in leaves)
        if not typed and sum(len(n.name) for n in leaves) > _SMALL:
            return None  # 2147483647 + 1 is an error in Spark, and a bigint in DuckDB
        if not any(self.digits.decimal(n) is not None for n in leaves):
            return "number"
        size = self.digits.size(node)
        return "number" if size is not None and (sum(size) <= _PRECISION or size[1] <= self.places) else None

    def _remainder(self, node: exp.Mod) -> str | None:
        """Of whole numbers by one that is not 0: by 0 it is an error in Spark, and NULL in DuckDB."""
        number = node.this.unnest()
        by = node.expression.unnest()
        if not (_is_whole(by) and int(by.name) > 0) or self._only("number", number, by) is None:
            return None
        reads = any(isinstance(n, exp.Column) for n in number.walk())
        return "number" if self.whole(number) and (reads or _is_whole(number)) else None

    def _case(self, ifs: list[exp.If], default: Expression | None) -> str | None:
        if not all(self.kind(i.this) in ("boolean", "null") for i in ifs):
            return None
        return self._alike(None, *(i.args["true"] for i in ifs), *([default] if default is not None else []))


def _is_whole(node: Expression) -> bool:
    """Whether something is written as a whole number."""
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _is_span(node: Expression) -> bool:
    """Whether something is a length of time that is as long whenever it begins, in a session that is in UTC."""
    span = node.unnest()
    if not isinstance(span, exp.Interval) or not isinstance(span.this, exp.Literal):
        return False
    unit = span.text("unit").upper().removesuffix("S")
    return unit in _SPANS and re.fullmatch(r"\d{1,9}", span.this.name) is not None


def constant_kind(node: Expression) -> str | None:
    """The kind of a constant."""
    match node:
        case exp.Null():
            return "null"
        case exp.Boolean():
            return "boolean"
        case exp.Literal() if node.is_string:
            return None if "\0" in node.name else "string"
        case exp.Literal():
            return "number" if _INTEGER.fullmatch(node.name) or _DECIMAL.fullmatch(node.name) else None
        case exp.Cast() if isinstance(node.this, exp.Literal) and not node.args.get("safe"):
            type = types.canonical(node.args["to"])
            if not node.this.is_string:
                return "number" if type in types.INTEGRAL and _INTEGER.fullmatch(node.this.name) else None
            form = {"date": _DATE, "timestamp": _INSTANT, "timestamp_ntz": _INSTANT}.get(type)
            return type if form is not None and form.fullmatch(node.this.name) else None
        case _:
            return None
