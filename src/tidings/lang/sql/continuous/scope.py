"""Which columns a name may mean: those of the tables in FROM, and of the queries around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.ir.standard_form import OutputColumn
from tidings.lang.sql.continuous.obstacle import NotInClass

Columns = tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class NameScope:
    """The sources of one SELECT by name, the innermost scope of those that surround it first."""

    sources: Mapping[str, Columns] = field(default_factory=dict)
    around: NameScope | None = None

    def with_source(self, name: str, columns: Columns) -> NameScope:
        return NameScope({**self.sources, name.lower(): columns}, self.around)

    def resolved(self, tree: Expression) -> Expression:
        """An expression with its columns as those of tables."""
        if isinstance(tree, exp.Column):
            return self._column(tree).copy()
        return tree.copy().transform(lambda node: self._column(node).copy() if isinstance(node, exp.Column) else node)

    def stars(self, alias: str | None) -> Columns:
        """All columns, or those of one source."""
        if alias is None:
            return tuple(column for columns in self.sources.values() for column in columns)
        if alias.lower() not in self.sources:
            raise NotInClass(f"{alias}.* is not that of a table in FROM")
        return self.sources[alias.lower()]

    def _column(self, node: exp.Column) -> Expression:
        parts = [part.name for part in node.parts]
        for path in ([parts[0], *parts[1:]], [None, *parts]) if len(parts) > 1 else ([None, *parts],):
            column = self._find(path[0], str(path[1]))
            if column is not None:
                for name in path[2:]:
                    column = exp.Dot(this=column.copy(), expression=exp.to_identifier(name, quoted=True))
                return column
        raise NotInClass("a column that no table in FROM has", node)

    def _find(self, source: str | None, name: str) -> Expression | None:
        candidates = self.sources if source is None else {source.lower(): self.sources.get(source.lower(), ())}
        for columns in candidates.values():
            for column in columns:
                if column.name.lower() == name.lower():
                    return column.expression
        return None if self.around is None else self.around._find(source, name)
