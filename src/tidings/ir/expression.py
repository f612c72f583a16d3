"""Scalar expressions: sqlglot trees in the Spark dialect, with columns bound to ``alias.name``.

A bound expression mentions columns only as ``alias.name``, both quoted, where the alias belongs to a relational
node below it.  Trees are never changed in place: every function here returns a new one.  Equality and hashing
are structural, so expressions can stand in sets and in frozen nodes; sqlglot keeps the hash of a tree, and facts
about a tree (:func:`refs`, :func:`aliases`) are kept by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from typing import TypeAlias

import sqlglot
from sqlglot import exp

from tidings.ir import types
from tidings.ir.dialect import DIALECT

Expression: TypeAlias = exp.Expr
Ref: TypeAlias = tuple[str, str]
"""A column as ``(alias, name)``."""

TIME = "__t"
WEIGHT = "__w"

NOW = exp.Anonymous(this="__NOW")
"""The present instant, in microseconds since the epoch, in a condition on time."""

SINCE = exp.Anonymous(this="__SINCE")
UNTIL = exp.Anonymous(this="__UNTIL")
"""The ends of the batch, in microseconds; the engine fills them in.  A query's present is the end of its batch."""

_CACHE_SIZE = 4_000
"""About how many trees facts are kept."""

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE)


def column(alias: str, name: str) -> exp.Column:
    """The bound reference to a column.

    >>> show(column("q", "item"))
    'q.item'
    """
    return exp.Column(this=exp.Identifier(this=name, quoted=True), table=exp.Identifier(this=alias, quoted=True))


def literal(value: int) -> Expression:
    number = exp.Literal.number(abs(value))
    return number if value >= 0 else exp.Neg(this=number)


def ref(expression: Expression) -> Ref | None:
    """The column an expression is, if it is one and nothing more."""
    if not isinstance(expression, exp.Column):
        return None
    table, name = expression.args.get("table"), expression.args["this"]
    if type(table) is exp.Identifier and type(name) is exp.Identifier:
        return table.args["this"], name.args["this"]
    return expression.table, expression.name


def refs(expression: Expression) -> tuple[Ref, ...]:
    """Every column the expression mentions, once per mention."""
    reference = ref(expression)
    return _refs(expression) if reference is None else (reference,)


@lru_cache(maxsize=_CACHE_SIZE)
def _refs(expression: Expression) -> tuple[Ref, ...]:
    return tuple(r for r in map(ref, expression.find_all(exp.Column)) if r is not None)


@lru_cache(maxsize=_CACHE_SIZE)
def aliases(expression: Expression) -> frozenset[str]:
    """The aliases of the columns the expression mentions."""
    return frozenset(alias for alias, _ in refs(expression))


def substitute(expression: Expression, by: Mapping[Ref, Expression]) -> Expression:
    """Replace columns by expressions; the same object when none of them occurs.

    >>> show(substitute(read("q.x + q.y"), {("q", "x"): read("r.a * 2")}))
    '(r.a * 2) + q.y'
    """
    if not any(r in by for r in refs(expression)):
        return expression

    if isinstance(expression, exp.Column):
        return by[(expression.table, expression.name)]
    tree = expression.copy()
    for node in list(tree.find_all(exp.Column)):
        replacement = by.get((node.table, node.name))
        if replacement is not None:
            node.replace(operand(replacement))
    return tree


def at_instant(condition: Expression, instant: Expression) -> Expression:
    """A condition on time, judged at an instant.

    >>> show(at_instant(read("m.due <= TIMESTAMP_MICROS(__NOW())"), column("m", "x")))
    'm.due <= TIMESTAMP_MICROS(m.x)'
    """
    return condition.transform(lambda node: operand(instant) if node == NOW else node)


_ATOMS = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Boolean, exp.Null, exp.Cast)


AVERAGE = "__AVERAGE"
"""A function of the plan's own: an exact sum by a count, rounded to four places more than the sum has."""


def average(total: Expression, count: Expression, places: int) -> Expression:
    """What a sum with so many decimal places comes to for each of a count of values."""
    return exp.Anonymous(this=AVERAGE, expressions=[total, count, literal(places)])


def operand(expression: Expression) -> Expression:
    """A copy that can stand beside any operator: in parentheses unless it is one piece.

    >>> show(exp.EQ(this=operand(read("a.x IS NULL")), expression=operand(read("a.y"))))
    '(a.x IS NULL) = a.y'
    >>> show(exp.Not(this=operand(read("a.x AND a.y"))))  # a function to sqlglot
    'NOT (a.x AND a.y)'
    """
    is_atom = isinstance(expression, _ATOMS) and not isinstance(expression, exp.Connector | exp.RegexpLike)
    return _copy(expression) if is_atom else exp.Paren(this=expression.copy())


def _copy(expression: Expression) -> Expression:
    reference = ref(expression)
    return expression.copy() if reference is None else column(*reference)


def cast(expression: Expression, type: str) -> Expression:
    """``CAST(expression AS type)`` as the parser would build it; NULLs of no type stay as they are."""
    if type == "void":
        return _copy(expression)
    tree = _typed_null(type).copy()
    tree.set("this", _copy(expression))
    return tree


@lru_cache(maxsize=1024)
def _typed_null(type: str) -> Expression:
    tree = read("CAST(NULL AS INT)")
    tree.set("to", types.parse(type).copy())
    return tree


def typed_null(type: str) -> Expression:
    """A NULL of the given type."""
    return exp.Null() if type == "void" else _typed_null(type).copy()


def window_call(expression: Expression) -> Expression:
    """The ``f(…) OVER (…)`` of what a window computes, which may stand inside of what puts its array in order.

    >>> show(window_call(read("SORT_ARRAY(COLLECT_LIST(t.x) OVER (PARTITION BY t.k))")))
    'COLLECT_LIST(t.x) OVER (PARTITION BY t.k)'
    """
    window = expression.find(exp.Window)
    assert window is not None
    return window


def equality(expression: Expression) -> tuple[Expression, Expression, bool] | None:
    """Both sides of an equality and whether it lets NULL match NULL.

    >>> [show(e) for e in equality(read("a.x = b.y"))[:2]]
    ['a.x', 'b.y']
    """
    node = expression.unnest()
    if isinstance(node, (exp.EQ, exp.NullSafeEQ)):
        return node.left.unnest(), node.right.unnest(), isinstance(node, exp.NullSafeEQ)
    return None


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The parts of a condition that must all hold, in their order.

    >>> [show(c) for c in conjuncts(read("a.x = 1 AND (a.y = 2 AND a.z = 3 OR a.z = 4)"))]
    ['a.x = 1', '(a.y = 2 AND a.z = 3 OR a.z = 4)']
    """
    node = condition.unnest()
    if isinstance(node, exp.And):
        return conjuncts(node.left) + conjuncts(node.right)
    return (condition,)


def conjunction(parts: Iterable[Expression]) -> Expression:
    """All parts joined by AND.

    >>> show(conjunction([read("a.x = 1"), read("a.y OR a.z")]))
    'a.x = 1 AND (a.y OR a.z)'
    """
    wrapped = [exp.Paren(this=p.copy()) if isinstance(p, exp.Or) else p.copy() for p in parts]
    return reduce(lambda left, right: exp.And(this=left, expression=right), wrapped)


def product(factors: list[Expression]) -> Expression:
    """``f1 * f2 * …``; the weight of a joined row."""
    return reduce(lambda left, right: exp.Mul(this=left, expression=right), [_copy(f) for f in factors])


def greatest(instants: list[Expression]) -> Expression:
    """``GREATEST(…)``; the instant of a joined row."""
    if len(instants) == 1:
        return instants[0]
    return exp.Greatest(this=_copy(instants[0]), expressions=[_copy(i) for i in instants[1:]], ignore_nulls=True)


def read(text: str) -> Expression:
    """Parse one bound expression; the inverse of :func:`show`.

    >>> read("q.s.a") == exp.Dot(this=column("q", "s"), expression=exp.to_identifier("a", quoted=True))
    True
    """
    return _read(text).copy()


@lru_cache(maxsize=1024)
def _read(text: str) -> Expression:
    return template(text).transform(_bound)


def template(text: str) -> Expression:
    """Parse one expression whose names still stand for something else.

    >>> template("SUM(x) + n").sql()
    'SUM(x) + n'
    """
    return _parsed(text).copy()


def filled(text: str, **parts: Expression) -> Expression:
    """An expression with trees in the place of its names.

    >>> filled("SUM(x) + n", x=template("a * b"), n=literal(1)).sql()
    'SUM((a * b)) + 1'
    """

    def part(node: Expression) -> Expression:
        value = parts.get(node.name) if isinstance(node, exp.Column) else None
        if value is None:
            return node
        return value.copy() if isinstance(value, exp.Column | exp.Literal | exp.Func) else exp.Paren(this=value.copy())

    return template(text).transform(part)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Expression:
    select = sqlglot.parse_one(f"SELECT {text}", read=DIALECT)
    assert isinstance(select, exp.Select)
    tree: Expression = select.selects[0]
    return tree.pop()


def _bound(node: Expression) -> Expression:
    """Read ``a.b.c`` as field ``c`` of the column ``a.b``."""
    if isinstance(node, exp.Column):
        alias, name, *path = (exp.to_identifier(p.name, quoted=True) for p in node.parts)
        bound: Expression = exp.column(name, table=alias)
        for part in path:
            bound = exp.Dot(this=bound, expression=part)
        return bound
    if isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Dot):
        return exp.to_identifier(node.name, quoted=True)
    return node


def show(expression: Expression) -> str:
    """The expression as text, with quotes only where a name needs them."""
    tree = expression.copy()
    for name in tree.find_all(exp.Identifier):
        if isinstance(name.parent, exp.Column | exp.Dot):
            name.set("quoted", quoted(name.name))
    return tree.sql(DIALECT, comments=False)


def quoted(name: str) -> bool:
    """Whether a name needs quotes in plan text."""
    return not _PLAIN_NAME.fullmatch(name) or name.lower() in _KEYWORDS


def show_name(name: str) -> str:
    """A name as plan text writes it.

    >>> show_name("item"), show_name("Weird `Col")
    ('item', '`Weird ``Col`')
    """
    return "`" + name.replace("`", "``") + "`" if quoted(name) else name


_KEYWORDS = frozenset(word.lower() for word in DIALECT.tokenizer_class.KEYWORDS if word.isidentifier())
