"""Which expressions a conjunction makes equal: the classes along which keys travel.

``a.x = b.x AND b.x = c.y`` puts ``a.x``, ``b.x`` and ``c.y`` into one class.  Only expressions over a single
input count, and only between types whose equality is that of their keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidings.ir import types
from tidings.ir.expression import Expression, Ref, equality, ref, refs


@dataclass(frozen=True, slots=True)
class EqualityClass:
    """Expressions that are equal in every row of the result; ``null_safe`` if NULL may equal NULL among them."""

    members: tuple[Expression, ...]
    null_safe: bool


def equality_classes(conditions: Iterable[Expression], column_types: dict[Ref, str]) -> list[EqualityClass]:
    """The classes of a list of conditions that all hold."""
    classes: dict[int, tuple[list[Expression], bool]] = {}
    place_of: dict[Expression, int] = {}
    for place, condition in enumerate(conditions):
        sides = equality(condition)
        if sides is None or not _keys(sides[0], sides[1], column_types):
            continue
        left, right, null_safe = sides
        touching = sorted({place_of[s] for s in (left, right) if s in place_of})
        joined = [classes.pop(n) for n in touching]
        members = [m for c in joined for m in c[0]]
        members += [s for s in dict.fromkeys((left, right)) if s not in place_of]
        classes[place] = members, null_safe or any(c[1] for c in joined)
        place_of.update(dict.fromkeys(members, place))
    return [EqualityClass(tuple(members), null_safe) for members, null_safe in classes.values()]


def _keys(left: Expression, right: Expression, column_types: dict[Ref, str]) -> bool:
    """Whether both sides can serve as keys for each other."""
    if not any(refs(left)) or not any(refs(right)):
        return False
    left_ref, right_ref = ref(left), ref(right)
    if left_ref is not None and right_ref is not None:
        return types.comparable_as_keys(column_types[left_ref], column_types[right_ref])
    return False
