"""What a table demands of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidings.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Check:
    """A condition no row may make false."""

    name: str
    text: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Constraints:
    """Primary key, columns that may not be NULL, defaults, conditions, and how the table may change."""

    key: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    append_only: bool = False
    time_column: str | None = None


NONE = Constraints()
