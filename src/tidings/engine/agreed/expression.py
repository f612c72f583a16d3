"""Scalar expressions in DuckDB's words, each part with the type that Spark gives it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.engine.agreed import arithmetic, choices, lambdas, nested, spans, texts, times
from tidings.engine.agreed.alike import FORMS, moment, side, texts_as_numbers, widened
from tidings.engine.agreed.casts import cast
from tidings.engine.agreed.numeric import common_type, literal_type
from tidings.engine.agreed.signature import added, said
from tidings.engine.agreed.table import LINES
from tidings.engine.agreed.term import (
    CALENDAR,
    NotAgreed,
    TypedExpression,
    converted,
    is_known,
    is_plain,
    words,
)
from tidings.engine.agreed.written import written_whole
from tidings.engine.sql.dialect import Signature
from tidings.ir import types
from tidings.ir.expression import Expression, typed_null

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_TIMES = ("date", "timestamp", "timestamp_ntz")
_LISTED = 10
"""Of so many constants Spark compares each; more it looks up in a set."""


@dataclass(slots=True)
class Translator:
    """Says expressions over typed columns in DuckDB's words; raises :class:`NotAgreed` where there are none."""

    typed: Callable[[exp.Column], str | None]
    """The type of a column; None if it is not known."""
    alone: bool = False
    """Whether no other engine evaluates parts of the same: then a part may hand lengths of time to another."""
    own: Mapping[str, Signature] = field(default_factory=dict)
    """The functions that users have added to the engine."""
    parameters: list[dict[str, TypedExpression]] = field(init=False, default_factory=list)
    """What stands for the parameters of the functions around a part, by their names."""

    def term(self, node: Expression) -> TypedExpression:
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return said(self, node, LINES)

    def of_any(self, node: Expression | None) -> TypedExpression:
        """A part that must be there."""
        if node is None:
            raise NotAgreed(exp.Null())
        return self.term(node)

    def of(self, node: Expression, *allowed: str) -> TypedExpression:
        """A part that is of one of some types, or NULL."""
        term = self.term(node)
        if term.type == "void":
            return converted(term, allowed[0])
        if term.type not in allowed:
            raise NotAgreed(node)
        return term

    # leaves

    def _column(self, node: exp.Column) -> TypedExpression:
        type_ = self.typed(node)
        if type_ is None or not (is_known(type_) or (self.alone and type_ in spans.INTERVALS)):
            raise NotAgreed(node)
        return TypedExpression(node.copy(), type_)

    def _literal(self, node: exp.Literal) -> TypedExpression:
        if node.is_string:
            if "\0" in node.name:
                raise NotAgreed(node)
            return TypedExpression(node.copy(), "string", node.name)
        return self._number(node, node.name)

    def _number(self, node: Expression, text: str) -> TypedExpression:
        if not re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) or len(text) > 40:
            raise NotAgreed(node)
        type_ = literal_type(text)
        sql = node.copy() if type_ != "double" else words(f"CAST('{text}' AS DOUBLE)")
        return TypedExpression(sql, type_, text)

    def _bytes(self, node: exp.HexString) -> TypedExpression:
        """``X'00ff'``."""
        digits = str(node.this)
        if not re.fullmatch(r"([0-9A-Fa-f]{2})*", digits):
            raise NotAgreed(node)
        return TypedExpression(words(f"unhex('{digits}')"), "binary")

    def _null(self, node: Expression) -> TypedExpression:
        return TypedExpression(node.copy(), "void")

    def _boolean(self, node: Expression) -> TypedExpression:
        return TypedExpression(node.copy(), "boolean")

    def _paren(self, node: Expression) -> TypedExpression:
        inner = self.term(node.this)
        return TypedExpression(inner.sql, inner.type)

    def _negative(self, node: Expression) -> TypedExpression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return self._number(node, f"-{node.this.name}")
        if isinstance(node.this.unnest(), exp.Interval):
            return spans.negative(self.term(node.this))
        return arithmetic.unary(node, self.term(node.this))

    # conditions

    def _connected(self, node: Expression) -> TypedExpression:
        sides = [side(self.of(part, "boolean")) for part in (node.this, node.expression)]
        return TypedExpression(type(node)(this=sides[0], expression=sides[1]), "boolean")

    def _not(self, node: Expression) -> TypedExpression:
        return TypedExpression(exp.Not(this=side(self.of(node.this, "boolean"))), "boolean")

    def _is(self, node: exp.Is) -> TypedExpression:
        if isinstance(node.expression, exp.Boolean):
            return TypedExpression(
                exp.Is(this=side(self.of(node.this, "boolean")), expression=node.expression.copy()), "boolean"
            )
        if not isinstance(node.expression, exp.Null):
            raise NotAgreed(node)
        if isinstance(node.this, exp.Column) and self.typed(node.this) is not None:  # of whatever type it is
            return TypedExpression(node.copy(), "boolean")
        return TypedExpression(exp.Is(this=side(self.term(node.this)), expression=exp.Null()), "boolean")

    def compared(self, node: Expression) -> TypedExpression:
        left, right = self._alike(node, [self.term(node.this), self.term(node.expression)])
        if not is_plain(left.type) and left.type not in spans.SPANS and not isinstance(node, _EQUALITIES):
            return nested.ranged(node, type(node), left, right)
        return TypedExpression(type(node)(this=side(left), expression=side(right)), "boolean")

    def _between(self, node: exp.Between) -> TypedExpression:
        value, low, high = (self.term(node.args[name]) for name in ("this", "low", "high"))
        above, below = self._alike(node, [value, low]), self._alike(node, [value, high])
        if types.is_nested(above[0].type):
            ends = nested.ranged(node, exp.GTE, *above), nested.ranged(node, exp.LTE, *below)
            return TypedExpression(exp.And(this=ends[0].sql, expression=ends[1].sql), "boolean")
        least = exp.GTE(this=side(above[0]), expression=side(above[1]))
        most = exp.LTE(this=side(below[0]), expression=side(below[1]))
        return TypedExpression(exp.And(this=least, expression=most), "boolean")

    def _in(self, node: exp.In) -> TypedExpression:
        if not node.expressions or node.args.get("query"):
            raise NotAgreed(node)
        value, *others = self._alike(node, [self.term(e) for e in (node.this, *node.expressions)])
        if value.type == "double" and len(others) > _LISTED and any(map(_may_be_zero, node.expressions)):
            raise NotAgreed(node)  # there Spark tells 0.0 from -0.0
        return TypedExpression(exp.In(this=side(value), expressions=[side(o) for o in others]), "boolean")

    def _alike(self, node: Expression, terms: list[TypedExpression]) -> list[TypedExpression]:
        """Terms of the type in which Spark compares them or chooses between them."""
        moments = {t.type for t in terms if t.type in _TIMES}
        if len(moments) == 1:
            terms = [moment(t, *moments) for t in terms]
        terms = texts_as_numbers(node, terms)
        type_ = common_type([t.type for t in terms])
        if type_ is None or "map<" in type_:  # Spark compares no maps
            raise NotAgreed(node)
        if type_ in types.INTEGRAL or type_ in ("void", *spans.SPANS):
            return terms
        if types.is_nested(type_):
            return [converted(t, type_) for t in terms]
        return [t if t.type in (type_, "void") else widened(node, t, type_) for t in terms]

    # numbers

    def _arithmetic(self, node: exp.Binary) -> TypedExpression:
        if isinstance(node.expression.unnest(), exp.Interval) and (moved := times.shifted(self, node)) is not None:
            return moved
        left, right = self.term(node.left), self.term(node.right)
        if {left.type, right.type} & {*spans.INTERVALS} or (left.type in _TIMES and right.type in _TIMES):
            return spans.binary(node, left, right)
        if right.type == "date" and isinstance(node, exp.Add):
            left, right = right, left
        if left.type == "date" and right.type in ("tinyint", "smallint", "int") and isinstance(node, exp.Add | exp.Sub):
            sign = "+" if isinstance(node, exp.Add) else "-"
            return TypedExpression(words(f"{{0}} {sign} {{1}}", left, converted(right, "int")), "date")
        return arithmetic.binary(node, left, right)

    def _tried(self, node: exp.Binary) -> TypedExpression:
        return arithmetic.tried(node, self.term(node.this), self.term(node.expression))

    def _tried_remainder(self, node: Expression, arguments: list[Expression]) -> TypedExpression:
        return arithmetic.tried_remainder(node, *map(self.term, arguments))

    def _unary(self, node: Expression) -> TypedExpression:
        return arithmetic.unary(node, self.term(node.this))

    def _bits(self, node: exp.Binary) -> TypedExpression:
        return arithmetic.bits(node, self.term(node.left), self.term(node.right))

    def _div(self, node: exp.Binary) -> TypedExpression:
        return arithmetic.whole_quotient(node, self.term(node.left), self.term(node.right))

    def _round(self, node: Expression) -> TypedExpression:
        places = node.args.get("decimals")
        return arithmetic.round_half_up(
            node, self.term(node.this), 0 if places is None else written_whole(node, places)
        )

    def _cast(self, node: exp.Cast) -> TypedExpression:
        to = types.canonical(node.args["to"])
        if to == CALENDAR:
            return spans.cast_text(self, node)
        if not is_known(to) or node.args.get("format"):
            raise NotAgreed(node)
        if isinstance(node.this, exp.Null):
            return TypedExpression(typed_null(to), to)
        if isinstance(node.this, exp.Literal) and node.this.is_string and to in FORMS:
            if to == "date" and FORMS["timestamp"].fullmatch(node.this.name):  # the day of an instant
                return TypedExpression(exp.cast(exp.Literal.string(node.this.name[:10]), "date"), to)
            if not FORMS[to].fullmatch(node.this.name):
                raise NotAgreed(node)
            return TypedExpression(node.copy(), to)
        return cast(node, self.term(node.this), to, safe=bool(node.args.get("safe")))

    # calls

    def _named(self, node: exp.Anonymous) -> TypedExpression:
        name, arguments = str(node.this).lower(), node.expressions
        if name in self.own:
            return added(self, node, name)
        rule = _NAMED.get((name, len(arguments)))
        return said(self, node, LINES) if rule is None else rule(self, node, arguments)

    def _pmod(self, node: Expression, arguments: list[Expression]) -> TypedExpression:
        return arithmetic.positive_remainder(node, *map(self.term, arguments))

    def _is_null(self, node: Expression, arguments: list[Expression]) -> TypedExpression:
        null: Expression = exp.Is(this=arguments[0].copy(), expression=exp.Null())
        return self.term(null if str(node.this).lower() == "isnull" else exp.Not(this=null))

    def _equal_null(self, node: Expression, arguments: list[Expression]) -> TypedExpression:
        return self.compared(exp.NullSafeEQ(this=arguments[0], expression=arguments[1]))

    def _zero_if_null(self, node: Expression, arguments: list[Expression]) -> TypedExpression:
        return self.term(exp.Coalesce(this=arguments[0].copy(), expressions=[exp.Literal.number(0)]))

    def _typeof(self, node: Expression) -> TypedExpression:
        return TypedExpression(exp.Literal.string(self.term(node.this).type), "string")

    # functions of the user's

    def _parameter(self, node: exp.Identifier) -> TypedExpression:
        for names in reversed(self.parameters):
            if node.name.lower() in names:
                return names[node.name.lower()]
        raise NotAgreed(node)

    @contextmanager
    def bound(self, parameters: dict[str, TypedExpression]) -> Iterator[None]:
        """Let the parameters of a function stand for terms inside."""
        self.parameters.append(parameters)
        try:
            yield
        finally:
            self.parameters.pop()


def _may_be_zero(node: Expression) -> bool:
    number = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(number, exp.Literal):
        return True
    return not re.search("[1-9]", number.name.lower().partition("e")[0])


def _rules(
    kinds: Iterable[type[Expression]], rule: Callable[..., TypedExpression]
) -> dict[type[Expression], Callable[..., TypedExpression]]:
    return dict.fromkeys(kinds, rule)


_RULES: dict[type[Expression], Callable[..., TypedExpression]] = {
    exp.Column: Translator._column,
    exp.Literal: Translator._literal,
    exp.HexString: Translator._bytes,
    exp.Null: Translator._null,
    exp.Boolean: Translator._boolean,
    exp.Paren: Translator._paren,
    exp.Neg: Translator._negative,
    **_rules((exp.And, exp.Or), Translator._connected),
    exp.Not: Translator._not,
    exp.Is: Translator._is,
    **_rules(_COMPARISONS, Translator.compared),
    exp.Between: Translator._between,
    exp.In: Translator._in,
    exp.Case: choices.case,
    exp.If: choices.if_,
    exp.Coalesce: choices.coalesce,
    **_rules((exp.Greatest, exp.Least), choices.extreme),
    exp.Nullif: choices.nullif,
    exp.Nvl2: choices.nvl2,
    **_rules((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), Translator._arithmetic),
    **_rules((exp.Abs, exp.Floor, exp.Ceil, exp.Negative, exp.BitwiseNot), Translator._unary),
    **_rules((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), Translator._bits),
    **_rules((exp.SafeAdd, exp.SafeSubtract, exp.SafeMultiply, exp.SafeDivide), Translator._tried),
    exp.IntDiv: Translator._div,
    exp.Interval: spans.written,
    exp.MakeInterval: spans.made,
    exp.Round: Translator._round,
    **_rules((exp.Cast, exp.TryCast), Translator._cast),
    exp.Substring: texts.substring,
    exp.Trim: texts.trim,
    exp.Pad: texts.pad,
    exp.SplitPart: texts.split_part,
    exp.RegexpSplit: texts.split,
    exp.RegexpReplace: texts.regexp_replace,
    **_rules((exp.Like, exp.ILike), texts.like),
    exp.RegexpLike: texts.regexp_like,
    exp.Concat: texts.concat,
    exp.DPipe: texts.joined,
    exp.ConcatWs: texts.concat_ws,
    exp.TsOrDsToDate: times.as_date,
    exp.Extract: times.extract,
    **_rules((exp.DateTrunc, exp.TimestampTrunc), times.cut_off),
    exp.TimeToStr: times.formatted,
    exp.UnixToStr: times.formatted_seconds,
    exp.JSONExtractScalar: texts.json_value,
    exp.Typeof: Translator._typeof,
    exp.Array: nested.array,
    exp.Struct: nested.struct,
    exp.VarMap: nested.map_of,
    exp.Bracket: nested.bracket,
    exp.Dot: nested.field,
    exp.ArraySort: nested.sort_array,
    exp.ArrayContains: nested.contains,
    exp.ArraySlice: nested.slice_of,
    exp.GenerateSeries: nested.sequence,
    exp.Identifier: Translator._parameter,
    exp.Transform: lambda t, node: lambdas.transform(t, node, [node.this, node.expression]),
    exp.ArrayFilter: lambda t, node: lambdas.filtered(t, node, [node.this, node.expression]),
    exp.Exists: lambda t, node: lambdas.exists(t, node, [node.this, node.expression]),
    exp.Reduce: lambdas.aggregate,
    exp.Anonymous: Translator._named,
}
"""How each kind of node is said; functions that are not here are in :mod:`tidings.engine.agreed.table`."""

_NAMED: dict[tuple[str, int], Callable[..., TypedExpression]] = {
    ("pmod", 2): Translator._pmod,
    ("try_mod", 2): Translator._tried_remainder,
    ("isnull", 1): Translator._is_null,
    ("isnotnull", 1): Translator._is_null,
    ("equal_null", 2): Translator._equal_null,
    ("zeroifnull", 1): Translator._zero_if_null,
    ("get", 2): nested.get,
    ("forall", 2): lambdas.for_all,
}
"""Functions that the parser has no node for, by their names and how many arguments they have."""


def knows(node: Expression) -> bool:
    """Whether there are words for some node of this kind."""
    if isinstance(node, exp.Anonymous):
        key = str(node.this).lower(), len(node.expressions)
        return key in _NAMED or any(key == (f.name, len(f.kinds)) for _, f in LINES.get(exp.Anonymous, ()))
    return type(node) in _RULES or type(node) in LINES
