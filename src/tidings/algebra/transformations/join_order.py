"""Which part of the conditions of two joins can be judged at the lower one, when the order of joins changes."""

from __future__ import annotations

from collections.abc import Iterable

from tidings.algebra.expressions.condition import Condition


def reassociated(
    conditions: Iterable[Condition | None], low: Iterable[str]
) -> tuple[Condition | None, Condition | None]:
    """The conditions that read only attributes of the lower join, and the others."""
    attributes = set(low)
    parts = [part for condition in conditions if condition is not None for part in condition.parts]
    below = [part for part in parts if part.attributes <= attributes]
    return Condition.all_of(below), Condition.all_of(part for part in parts if part not in below)
