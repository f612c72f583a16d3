"""Error conditions of delta relations, of expressions over them, and of operators that users write."""

from __future__ import annotations

from tidings.error_base import TidingsError


class DuplicateTid(TidingsError):
    """The tid {tid} of {relation} stands for two tuples: {first} and {second}"""

    hint_template = "a tid identifies one tuple; take a column as tid whose values are all different"


class DuplicateTuple(TidingsError):
    """{relation} has the tuple {row} twice, with the tids {first} and {second}"""

    hint_template = (
        "these operators work on sets: keep the key among the attributes, or project, which leaves one of them"
    )


class InvalidDeltaRelation(TidingsError):
    """The row {row} cannot be part of a delta relation: {reason}"""


class NotComposable(TidingsError):
    """The changes do not fit {relation}: the tuple {row} {reason}"""

    hint_template = "a delta has net changes only: what it removes was there, and what it adds was not"


class TransformationRefused(TidingsError):
    """Transformation {number} does not apply to {expression}: {reason}"""


class InvalidOperator(TidingsError):
    """The operator {name} cannot be used like this: {reason}"""


__all__ = [
    "DuplicateTid",
    "DuplicateTuple",
    "InvalidDeltaRelation",
    "InvalidOperator",
    "NotComposable",
    "TransformationRefused",
]
