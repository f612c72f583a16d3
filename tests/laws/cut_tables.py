"""Generated tables in two fragments: low and high numbers, or NULLs and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tidings
from tests.laws.schema import Row, Table, arrow, quote


@dataclass(frozen=True, slots=True)
class CutTable:
    """A table that is cut by one of its columns, which is one of numbers if it has any."""

    table: Table

    @property
    def _place(self) -> int:
        kinds = [column.kind for column in self.table.columns]
        return kinds.index("int") if "int" in kinds else 0

    def create(self, db: tidings.Database, base: list[Row] | None) -> None:
        """Make the table, with the rows that it begins with loaded into its fragments."""
        column = self.table.columns[self._place]
        name = quote(column.name)
        low, high = (f"{name} < 2", f"{name} >= 2 OR {name} IS NULL")
        if column.kind != "int":
            low, high = f"{name} IS NULL", f"{name} IS NOT NULL"
        first, second = self.fragments
        parts = f"UNION ({quote(first)} WHERE {low}, {quote(second)} AT away WHERE {high})"
        db.sql(f"{self.table.definition} FRAGMENTED BY {parts}")
        if base is not None:
            for fragment, is_low in ((first, True), (second, False)):
                db.load(fragment, arrow(self.table, [row for row in base if self._is_low(row) == is_low]))

    @property
    def fragments(self) -> tuple[str, str]:
        return f"{self.table.name} low", f"{self.table.name} high"

    def _is_low(self, row: Row) -> bool:
        value: Any = row[self._place]
        if self.table.columns[self._place].kind != "int":
            return value is None
        return value is not None and value < 2
