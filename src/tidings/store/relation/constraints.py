"""What a table demands of its rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from tidings.ir.standard_form import After


@dataclass(frozen=True, slots=True)
class Constraints:
    """Primary key, columns that may not be NULL, defaults and conditions (as SQL), and how the table may change."""

    key: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    append_only: bool = False
    time_column: str | None = None
    after: tuple[After, ...] = ()
    """Rows come after those that they name, of this table or of others."""
    added: tuple[tuple[str, str], ...] = ()
    """What rows have in columns that were added after them (:mod:`tidings.store.relation.schema_evolution`)."""
    dropped: tuple[int, ...] = ()
    """The places that columns had when they were dropped, one after the other."""

    def to_json(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if v}

    @staticmethod
    def from_json(facts: dict[str, Any]) -> Constraints:
        known: dict[str, Any] = {k: _tuple(v) for k, v in facts.items()}
        return Constraints(**known | {"after": tuple(After(*fact) for fact in known.get("after", ()))})

    def renamed(self, old: str, new: str) -> Constraints:
        """The same of a table one of whose columns has another name; no condition may mention it."""

        def name(column: str) -> str:
            return new if column == old else column

        return replace(
            self,
            key=tuple(map(name, self.key)),
            required=tuple(map(name, self.required)),
            defaults=tuple((name(c), text) for c, text in self.defaults),
            time_column=None if self.time_column is None else name(self.time_column),
            added=tuple((name(c), text) for c, text in self.added),
        )

    def without(self, column: str, place: int) -> Constraints:
        """The same of a table without one of its columns, which had a place; no key or condition may mention it."""
        return replace(
            self,
            required=tuple(c for c in self.required if c != column),
            defaults=tuple((c, text) for c, text in self.defaults if c != column),
            added=tuple((c, text) for c, text in self.added if c != column),
            dropped=(*self.dropped, place),
        )


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


NONE = Constraints()
