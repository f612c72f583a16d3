"""Why a query has no standard form."""

from __future__ import annotations

from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression


class NotInClass(Exception):
    """A query cannot be rewritten to a monotone one; the reason is a part of a sentence."""

    def __init__(self, reason: str, node: Expression | None = None) -> None:
        self.reason = reason if node is None else f"{reason}: {node.sql(DIALECT, comments=False)}"
        super().__init__(self.reason)
