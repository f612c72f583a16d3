"""What a table demands of its rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Constraints:
    """Primary key, columns that may not be NULL, defaults and conditions (as SQL), and how the table may change."""

    key: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    append_only: bool = False
    time_column: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if v}

    @staticmethod
    def from_json(facts: dict[str, Any]) -> Constraints:
        known: dict[str, Any] = {k: tuple(map(_tuple, v)) if isinstance(v, list) else v for k, v in facts.items()}
        return Constraints(**known)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


NONE = Constraints()
