"""Definitions of views: what CREATE VIEW and CREATE MATERIALIZED VIEW say."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.names import check_names, relation_name
from tidings.lang.sql.parse import after_as, place


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE [OR REPLACE] [MATERIALIZED] VIEW [IF NOT EXISTS] name [(columns)] [WITH (refresh = '…')] AS query``."""

    name: str
    columns: tuple[str, ...]
    query: Expression
    text: str
    query_text: str
    place: Place | None
    if_absent: bool
    stored: bool = False
    strict: bool = False
    refresh: str = "on advance"
    replace: bool = False


def read_create_view(tree: exp.Create, text: str, query_text: str) -> CreateView:
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    named = schema.expressions if schema is not None else []
    name = relation_name(schema.this if schema is not None else tree.this, text)
    if not isinstance(tree.expression, exp.Query | exp.Values):
        raise InvalidSyntax(place(text, tree), reason="a view needs AS and a query")
    at = place(text, schema) if schema is not None else None
    check_names([c.name for c in named], at)
    columns = tuple(c.name for c in named)
    exists, replace = bool(tree.args.get("exists")), bool(tree.args.get("replace"))
    if exists and replace:
        raise InvalidSyntax(place(text, tree), reason="OR REPLACE and IF NOT EXISTS exclude each other")
    is_stored, refresh, strict = _refresh(tree, text)
    query = after_as(query_text)
    return CreateView(name, columns, tree.expression, text, query, at, exists, is_stored, strict, refresh, replace)


def _refresh(tree: exp.Create, text: str) -> tuple[bool, str, bool]:
    """Whether a view is stored, when it is brought up to date, and whether it must never be recomputed."""
    properties = tree.args["properties"].expressions if tree.args.get("properties") else []
    stored = any(isinstance(p, exp.MaterializedProperty) for p in properties)
    refresh = "incremental"
    for option in (p for p in properties if not isinstance(p, exp.MaterializedProperty)):
        name = str(option.name).lower() if isinstance(option, exp.Property) else ""
        if not stored or name != "refresh":
            words = option.sql(DIALECT, comments=False)
            hint = "the one option is refresh, of CREATE MATERIALIZED VIEW"
            raise UnsupportedStatement(place(text, tree), hint, statement=f"CREATE VIEW with {words}")
        refresh = str(option.args["value"].name).lower()
        if refresh.removesuffix(" strict") not in _REFRESH:
            hint = f"it is one of: {', '.join(_REFRESH)}, each perhaps followed by strict"
            raise InvalidSyntax(place(text, tree), hint, reason=f"there is no refresh {refresh!r}")
    return stored, _REFRESH[refresh.removesuffix(" strict")], refresh.endswith(" strict")


_REFRESH = {"immediate": "immediate", "on advance": "on advance", "manual": "manual", "incremental": "on advance"}
"""The values of ``refresh``, and when a view is brought up to date; ``incremental`` is another word for the default."""
