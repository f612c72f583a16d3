"""What is defined, as rows and as text: the tables and views of a database, and the columns of each.

Everything here comes from the definitions in memory; no engine is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes
from tidings.errors import UnknownRelation, closest
from tidings.ir.column import Column
from tidings.ir.expression import show_name
from tidings.lang.sql.definition_text import create_table_text, create_view_text
from tidings.lang.sql.fragment_text import fragmented_text
from tidings.result import Result
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.waves.status import refresh_text

TABLES, VIEWS, COLUMNS = "tidings.tables", "tidings.views", "tidings.columns"


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*part.split()) for part in text.split(","))


_SCHEMA = _columns("column string, type string, nullable boolean, primary_key boolean, default string")
SYSTEM_TABLES: dict[str, tuple[Column, ...]] = {
    TABLES: _columns("name string, primary_key string, append_only boolean, time_column string"),
    VIEWS: _columns("name string, stored boolean, refresh string, error string"),
    COLUMNS: (*_columns("relation string, position int"), *_SCHEMA),
}
"""The columns of the system tables that show what is defined."""


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Describes the tables and views of one database."""

    relations: Relations

    def changes(self, name: str) -> pa.Table:
        """The rows of one of the system tables, as changes that insert them."""
        if name == COLUMNS:
            rows = [
                {"relation": relation, "position": position, **column}
                for relation in self._sorted_names()
                for position, column in enumerate(self.schema(relation).rows(), 1)
            ]
        else:
            rows = (self.tables() if name == TABLES else self.views()).rows()
        table = pa.Table.from_pylist(rows, arrow_schema(SYSTEM_TABLES[name]))
        return as_changes(SYSTEM_TABLES[name], table, [1] * len(rows))

    def tables(self) -> Result:
        """The tables, by name: primary key, whether they only grow, and the column that has their instants."""
        rows = [
            {
                "name": name,
                "primary_key": ", ".join(constraints.key) or None,
                "append_only": constraints.append_only,
                "time_column": constraints.time_column,
            }
            for name, constraints in ((name, self.relations.constraints(name)) for name in self._table_names())
        ]
        return Result(pa.Table.from_pylist(rows, arrow_schema(SYSTEM_TABLES[TABLES])))

    def views(self) -> Result:
        """The views, by name: whether they are stored, when they are refreshed, and what is wrong with them."""
        views = map(self.relations.find, self._sorted_names())
        rows = [
            {
                "name": view.name,
                "stored": isinstance(view, StoredView),
                "refresh": refresh_text(view) if isinstance(view, StoredView) else None,
                "error": view.error if isinstance(view, StoredView) else None,
            }
            for view in views
            if isinstance(view, StoredView) or (isinstance(view, View) and view.fragments is None)
        ]
        return Result(pa.Table.from_pylist(rows, arrow_schema(SYSTEM_TABLES[VIEWS])))

    def schema(self, name: str) -> Result:
        """The columns of a table, view, event or system table, in order."""
        constraints = self.relations.constraints(name)
        defaults = dict(constraints.defaults)
        rows = [
            {
                "column": column.name,
                "type": column.type,
                "nullable": column.name not in (*constraints.required, *constraints.key),
                "primary_key": column.name in constraints.key,
                "default": defaults.get(column.name),
            }
            for column in self._columns_of(name)
        ]
        return Result(pa.Table.from_pylist(rows, arrow_schema(_SCHEMA)))

    def create_table(self, name: str) -> str:
        """The CREATE TABLE statement that would make a table as it is now, without its rows."""
        known = next((n for n in self._table_names() if n.lower() == name.lower()), None)
        if known is None:
            raise UnknownRelation(None, closest(name, self._table_names()), name=name)
        scheme, constraints = self.relations.fragments(known), self.relations.constraints(known)
        if scheme is not None and not scheme.owns_tables:
            return f"CREATE TABLE {show_name(known)} {fragmented_text(scheme)}"
        text = create_table_text(
            known,
            self._columns_of(known),
            key=constraints.key,
            required=constraints.required,
            checks=constraints.checks,
            defaults=dict(constraints.defaults),
            append_only=constraints.append_only,
            time_column=constraints.time_column,
            after=constraints.after,
        )
        return text if scheme is None else f"{text} {fragmented_text(scheme)}"

    def create_view(self, name: str) -> str:
        """The CREATE VIEW statement that would make a view as it is now."""
        relation = self.relations.find(name)
        if not isinstance(relation, View | StoredView) or self.relations.fragments(name) is not None:
            views = [n for n in self.relations.names() if not isinstance(self.relations.find(n), Table)]
            raise UnknownRelation(None, closest(name, views), name=name)
        if isinstance(relation, StoredView):
            view, refresh = relation.view, refresh_text(relation)
            return create_view_text(view.name, view.query, view.named, refresh=refresh)
        return create_view_text(relation.name, relation.query, relation.named)

    def _sorted_names(self) -> list[str]:
        """The tables and views that users made, by name."""
        return sorted(self.relations.names(), key=str.lower)

    def _table_names(self) -> list[str]:
        relations = ((n, self.relations.find(n)) for n in self._sorted_names())
        tables = {n for n, r in relations if isinstance(r, Table) and r.role == "table"}
        return [n for n in self._sorted_names() if n in tables or self.relations.fragments(n) is not None]

    def _columns_of(self, name: str) -> tuple[Column, ...]:
        described = self.relations.columns(name)
        if described is None:
            known = [*self.relations.names(), *self.relations.system_tables]
            raise UnknownRelation(None, closest(name, known), name=name)
        return described[1]
