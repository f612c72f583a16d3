"""BEGIN, and the isolation level that it may name.

```
BEGIN [TRANSACTION | WORK] [ISOLATION LEVEL (READ COMMITTED | SERIALIZABLE)]
```
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import InvalidIsolation, UnsupportedStatement
from tidings.isolation import Isolation, read_isolation
from tidings.lang.sql.parse import place

_LEVEL = "ISOLATION LEVEL "


@dataclass(frozen=True, slots=True)
class BeginTransaction:
    """``BEGIN``: the statements up to COMMIT or ROLLBACK are one transaction."""

    isolation: Isolation = Isolation.READ_COMMITTED


def read_begin(tree: exp.Transaction, text: str) -> BeginTransaction:
    """Read a BEGIN; anything but an isolation level is refused."""
    modes = [" ".join(str(mode).upper().split()) for mode in tree.args.get("modes") or ()]
    if not modes and tree.this is None:
        return BeginTransaction()
    if tree.this is not None or len(modes) != 1 or not modes[0].startswith(_LEVEL):
        words = " ".join(["BEGIN", *([str(tree.this)] if tree.this is not None else []), *modes])
        raise UnsupportedStatement(place(text, tree), "as in BEGIN ISOLATION LEVEL SERIALIZABLE", statement=words)
    try:
        return BeginTransaction(read_isolation(modes[0].removeprefix(_LEVEL)))
    except InvalidIsolation as invalid:
        invalid.place = place(text, tree)
        raise
