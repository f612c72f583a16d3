"""``EXPLAIN CONTINUOUS query``: how a query would be answered continuously."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression
from tidings.lang.sql.statements.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class ExplainContinuous:
    """``EXPLAIN CONTINUOUS query``."""

    query: Expression
    text: str
    query_text: str


def is_explain_continuous(reader: TokenReader) -> bool:
    """Whether a statement is the one read here."""
    return reader.word() == "EXPLAIN" and reader.word(1) == "CONTINUOUS"


def read_explain_continuous(reader: TokenReader) -> ExplainContinuous:
    """The query that is to be explained."""
    reader.expect("EXPLAIN", "CONTINUOUS")
    part = reader.start, reader.end
    if reader.is_done:
        reader.refuse("a query is expected here")
    tree = reader.parsed(part, "a query")
    if not isinstance(tree, exp.Query):
        raise InvalidSyntax(Place(reader.text, *part), reason="a query is expected here")
    return ExplainContinuous(tree, reader.text, reader.text[slice(*part)])
