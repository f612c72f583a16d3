"""Conditions and defaults as definitions store them: texts, made from trees and parsed where they are used.

A stored text outlives the names it was written with.  So columns go without the name of their table, which may change;
a column that gets another name gets it here too.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.parse import parsed


def expression_text(node: Expression) -> str:
    """The text of an expression.

    >>> expression_text(parsed("A + 1 /* one more */"))
    'A + 1'
    """
    return str(node.sql(DIALECT, comments=False))


def condition_text(condition: Expression, table: str, columns: Iterable[str]) -> str:
    """The text of a condition on the rows of a table, whose columns go without its name.

    >>> condition_text(parsed("T.a > 1 AND u.a > T.b"), "t", ["a"])
    'a > 1 AND u.a > T.b'
    """
    names = {c.lower() for c in columns}
    tree = condition.copy()
    for node in tree.find_all(exp.Column):
        if node.table.lower() == table.lower() and node.name.lower() in names:
            node.set("table", None)
    return expression_text(tree)


def columns_mentioned(condition: str) -> frozenset[str]:
    """The columns that a condition reads, in small letters.

    >>> sorted(columns_mentioned("A > 1 AND b < a"))
    ['a', 'b']
    """
    return frozenset(node.name.lower() for node in parsed(condition).find_all(exp.Column))


def with_column_renamed(condition: str, old: str, new: str) -> str:
    """A condition that calls a column by another name.

    >>> with_column_renamed("a > 1 AND b < A", "a", "x")
    'x > 1 AND b < x'
    """
    tree = exp.Tuple(expressions=[parsed(condition)])
    for node in tree.find_all(exp.Column):
        if node.name.lower() == old.lower():
            plain = new.isidentifier() and not node.this.args.get("quoted")
            node.set("this", exp.to_identifier(new, quoted=not plain))
    return expression_text(tree.expressions[0])
