"""What makes a plan valid: checks that nodes call when they are built.

A violation is a mistake in this program, not in what a user wrote, and raises ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidings.ir.column import Column, Field, Item
from tidings.ir.expression import Expression, refs


def require(holds: bool, violation: str) -> None:
    """Refuse a plan for which something does not hold."""
    if not holds:
        raise ValueError(f"invalid plan: {violation}")


def require_distinct_names(columns: Iterable[Column | Item]) -> None:
    """No two columns have one name, whatever its case."""
    names = [c.name.lower() for c in columns]
    require(len(set(names)) == len(names), f"columns of the same name among {names}")


def require_known(expressions: Iterable[Expression], fields: tuple[Field, ...]) -> None:
    """Expressions mention no other columns than these."""
    known = {(f.alias, f.name) for f in fields}
    for expression in expressions:
        if not known.issuperset(refs(expression)):
            raise ValueError(f"invalid plan: {sorted(set(refs(expression)) - known)} not among {sorted(known)}")


def require_two_sides(left: tuple[Field, ...], right: tuple[Field, ...], conditions: tuple[Expression, ...]) -> None:
    """The inputs of a join share no alias, and its conditions mention only their columns."""
    shared = {f.alias for f in left} & {f.alias for f in right}
    require(not shared, f"an alias in both inputs of a join: {shared}")
    require_known(conditions, left + right)
