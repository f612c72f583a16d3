"""A node for an engine's own words: text that is printed as it stands, around expressions that are printed too.

sqlglot translates between dialects by what it knows of their functions.  Where more is known than that, the words are
given, and the parser and printer have no say in them.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

_ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Null, exp.Boolean, exp.Cast)


class Words(exp.Expression):
    """``this`` with the texts of its expressions for ``{0}``, ``{1}``, …"""

    arg_types = {"this": True, "expressions": False}  # noqa: RUF012 - the form sqlglot wants


def words_sql(printer: Generator, node: Words) -> str:
    """The text, with every part in parentheses that is not one piece."""
    parts = ((part, printer.sql(part)) for part in node.expressions)
    texts = (text if isinstance(part, _ATOMS) else f"({text})" for part, text in parts)
    return str(node.this).format(*texts)
