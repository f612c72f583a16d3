"""What statements on tables of several databases say, and the conditions by which their rows are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.statement import read
from tidings.lang.sql.statements.dml import RowStatement, trees


def single_statements(text: str) -> Iterator[str]:
    """Each statement of a text alone; what cannot be read is refused with its place in the whole text.

    >>> list(single_statements("DELETE FROM t WHERE a = ';'; SELECT 1"))
    ["DELETE FROM t WHERE a = ';'", ' SELECT 1']
    """
    read(text)
    begin = 0
    for token in sqlglot.tokenize(text, read=DIALECT):
        if token.token_type is sqlglot.TokenType.SEMICOLON:
            yield text[begin : token.start]
            begin = token.end + 1
    yield text[begin:]


def canonical(statement: str) -> str:
    """A statement as it is written by one hand, so that equal ones are equal texts."""
    return sqlglot.parse_one(statement, read=DIALECT).sql(DIALECT)


def reads_tables(statement: RowStatement) -> bool:
    """Whether a statement reads more than its own row."""
    return any(tree.find(exp.Table) for tree in trees(statement))


def of_the_row(condition: Expression) -> str:
    """A condition of one table's rows, without the name of the table.

    >>> from tidings.ir.expression import read
    >>> of_the_row(read("t.a > 1 OR t.b IS NULL"))
    '`a` > 1 OR `b` IS NULL'
    """

    def unqualified(node: Expression) -> Expression:
        return exp.column(node.name, quoted=True) if isinstance(node, exp.Column) else node

    return condition.copy().transform(unqualified).sql(DIALECT)


def among(column: str, values: Sequence[Any]) -> str:
    """The condition that a column has one of some values.

    >>> among("id", [1, 2])
    '`id` IN (1, 2)'
    """
    return exp.In(this=exp.column(column, quoted=True), expressions=[exp.convert(v) for v in values]).sql(DIALECT)


def quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(DIALECT)
