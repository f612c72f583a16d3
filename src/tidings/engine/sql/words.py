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


_LONG = 500
"""A part of more letters than this is written once, however often the words name it."""
_AGGREGATES = ("mode(", "string_agg(", "list(", "count(", "sum(", "arg_m")
"""Words for aggregates, which cannot stand in a function of DuckDB."""


def words_sql(printer: Generator, node: Words) -> str:
    """The text, with every part in parentheses that is not one piece.

    Words that name a part several times would double the text at each level of an expression.  So a long part becomes
    the parameter of a function that is applied to the list of it alone; that function uses nothing else of the row.
    Parts without columns stay where they are: they may name parameters of a function that the words begin.
    """
    template = str(node.this)
    parts = [(part, printer.sql(part)) for part in node.expressions]
    texts = [text if isinstance(part, _ATOMS) else f"({text})" for part, text in parts]
    is_long = any(
        len(text) > _LONG and template.count(f"{{{n}}}") > 1 and parts[n][0].find(exp.Column) is not None
        for n, text in enumerate(texts)
    )
    if not is_long or template.startswith(_AGGREGATES):
        return template.format(*texts)
    moved = [part.find(exp.Column) is not None for part, _ in parts]
    fields = ", ".join(f"f{n} := {text}" for n, text in enumerate(texts) if moved[n])
    body = template.format(*(f"__part.f{n}" if moved[n] else text for n, text in enumerate(texts)))
    return f"(list_transform([struct_pack({fields})], lambda __part: {body}))[1]"
