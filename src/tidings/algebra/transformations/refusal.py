"""What every transformation needs: to refuse with a reason, and to check its side condition."""

from __future__ import annotations

from collections.abc import Iterable

from tidings.algebra.changes.text import AnyExpression, show
from tidings.errors import TransformationRefused


def refused(number: int, node: AnyExpression, reason: str) -> TransformationRefused:
    return TransformationRefused(number=number, expression=show(node), reason=reason)


def require_within(
    number: int, node: AnyExpression, names: Iterable[str], attributes: Iterable[str], whose: str
) -> None:
    """Refuse unless all names are among the attributes."""
    missing = sorted(set(names) - set(attributes))
    if missing:
        raise refused(number, node, f"{', '.join(missing)} is not among {whose}")
