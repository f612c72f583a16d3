"""The analysis of a query in Spark's stead: each expression in DuckDB's words, with the type that Spark gives it.

The binder hands over a SELECT from typed, empty stand-ins, a union of two, or constant rows
(:mod:`tidings.lang.sql.bind`).  The answer is the same query in DuckDB's words, so that DuckDB can judge what is left
to judge (which names there are, what is grouped by), and Spark's types of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from tidings.engine.agreed.aggregates import PlanTranslator
from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.spans import SPANS
from tidings.engine.agreed.term import NotAgreed
from tidings.engine.sql.dialect import Signature
from tidings.ir import types
from tidings.ir.expression import Expression

Columns = dict[str, str]
"""Types by names in lower case."""


def analysed(query: exp.Query, own: Mapping[str, Signature]) -> tuple[exp.Query, list[str]]:
    """A query in DuckDB's words, and the types of its columns; raises :class:`NotAgreed`."""
    if isinstance(query, exp.SetOperation):
        sides = [analysed(side, own)[1] for side in (query.left, query.right)]
        if len(sides[0]) != len(sides[1]):
            return query, sides[0]
        return query, [_common(query, list(kinds)) for kinds in zip(*sides, strict=True)]
    assert isinstance(query, exp.Select)
    source = query.args.get("from_")
    if source is not None and isinstance(source.this, exp.Values):
        return query, _of_rows(source.this, own)
    return _Select(query, own).analysed()


def _of_rows(values: exp.Values, own: Mapping[str, Signature]) -> list[str]:
    """The types of constant rows."""
    translator = PlanTranslator(lambda _: None, alone=True, own=own)
    rows = [
        [translator.term(c).type for c in (r.expressions if isinstance(r, exp.Tuple) else [r])]
        for r in values.expressions
    ]
    return [_common(values, list(kinds)) for kinds in zip(*rows, strict=False)]


def _common(node: Expression, kinds: list[str]) -> str:
    type = common_type(kinds)
    if type is None:
        raise NotAgreed(node)
    return type


class _Select:
    """One SELECT from stand-ins."""

    def __init__(self, query: exp.Select, own: Mapping[str, Signature]) -> None:
        self.query = query
        self.sources: dict[str, Columns] = {}
        self.named: Columns = {}
        """What the list has given names so far."""
        clauses = [query.args.get("from_"), *(query.args.get("joins") or ())]
        for source in (s for c in clauses if c is not None for s in c.find_all(exp.Subquery)):
            if isinstance(source.this, exp.Select):
                columns = {e.alias.lower(): _type(e.this) for e in source.this.expressions}
                self.sources[source.alias.lower()] = columns
        self.translator = PlanTranslator(self._typed, alone=True, own=own, only_types=True)

    def analysed(self) -> tuple[exp.Query, list[str]]:
        tree = self.query.copy()
        for stand_in in tree.find_all(exp.Cast):
            if isinstance(stand_in.this, exp.Null) and _type(stand_in) in SPANS:
                stand_in.set("to", types.parse("bigint").copy())
        items, kinds = [], []
        for item in self.query.expressions:
            term = self.translator.term(item.unalias())
            self.named.setdefault(item.alias_or_name.lower(), term.type)
            kinds.append(term.type)
            items.append(term.sql.as_(item.args["alias"].copy()) if isinstance(item, exp.Alias) else term.sql)
        tree.set("expressions", items)
        for join in list(tree.find_all(exp.Join)):
            if join.args.get("on"):
                join.set("on", self._said(join.args["on"]))
        for name in ("where", "having", "qualify"):
            clause = self.query.args.get(name)
            if clause is not None:
                tree.args[name].set("this", self._said(clause.this))
        group = self.query.args.get("group")
        if group is not None:
            tree.args["group"].set("expressions", list(self._keys(group.expressions)))
        return tree, kinds

    def _said(self, node: Expression) -> Expression:
        return self.translator.term(node).sql

    def _keys(self, keys: Iterable[Expression]) -> Iterable[Expression]:
        """What is grouped by; a number is that of an item."""
        for key in keys:
            yield key.copy() if isinstance(key, exp.Literal) else self._said(key)

    def _typed(self, column: exp.Column) -> str | None:
        """The type of a name, read as Spark reads it."""
        first, *rest = (part.name.lower() for part in column.parts)
        if rest and rest[0] in self.sources.get(first, {}):
            return _inside(self.sources[first][rest[0]], rest[1:])
        kind = next((columns[first] for columns in self.sources.values() if first in columns), self.named.get(first))
        return None if kind is None else _inside(kind, rest)


def _type(node: Expression) -> str:
    """The type of a typed NULL, or of a field of one."""
    if isinstance(node, exp.Dot):
        return _inside(_type(node.this), [node.name.lower()]) or "void"
    return types.canonical(node.args["to"]) if isinstance(node, exp.Cast) else "void"


def _inside(type: str, path: list[str]) -> str | None:
    """The type of a field of a struct."""
    for name in path:
        fields = {n.lower(): t for n, t in types.fields(type)} if type.startswith("struct<") else {}
        if name not in fields:
            return None
        type = fields[name]
    return type
