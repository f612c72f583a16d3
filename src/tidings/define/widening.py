"""Types of columns become wider: every value that a column may have has to be one of the new type too.

Nothing is rewritten: what was written with the old type is read as the new one.
"""

from __future__ import annotations

from dataclasses import replace

from tidings.define.after_constraints import require_unmentioned
from tidings.define.binder import AnyView
from tidings.errors import BreaksViews, UnknownColumn, UnsupportedStatement, closest
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.lang.sql import statement
from tidings.lang.sql.statements.text_lengths import checked_length, length_check
from tidings.lang.sql.stored_text import expression_text
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_HINT = "a type becomes wider: INT to BIGINT, FLOAT to DOUBLE, DECIMAL(6,2) to DECIMAL(8,2), VARCHAR(3) to VARCHAR(9)"


def widened(
    relations: Relations, table: Table, alteration: statement.WidenColumn
) -> tuple[tuple[Column, ...], Constraints]:
    """The columns and constraints of a table with one column of another type."""
    names = {c.name.lower(): c for c in table.columns}
    column = names.get(alteration.column.lower())
    if column is None:
        known = [c.name for c in table.columns]
        raise UnknownColumn(alteration.place, closest(alteration.column, known), name=alteration.column)
    length = text_length(table.constraints, column.name)
    is_longer = alteration.length is None or (length is not None and alteration.length >= length)
    if not is_wider(column.type, alteration.type) or not is_longer:
        old, new = _shown(column.type, length), _shown(alteration.type, alteration.length)
        raise UnsupportedStatement(alteration.place, _HINT, statement=f"ALTER COLUMN {column.name} from {old} to {new}")
    require_unmentioned(relations, table, column.name, alteration.place)
    columns = tuple(Column(c.name, alteration.type) if c is column else c for c in table.columns)
    constraints = without_length(table.constraints, column.name)
    if alteration.length is not None:
        check = expression_text(length_check(column.name, alteration.length))
        constraints = replace(constraints, checks=(check, *constraints.checks))
    return columns, constraints


def require_same_stored(table: str, readers: list[tuple[AnyView, AnyView]]) -> None:
    """Refuse an alteration by which stored views, each given as it is and as it will be, would store other things."""
    stored = [(old, new) for old, new in readers if isinstance(old, StoredView) and isinstance(new, StoredView)]
    broken = [old.name for old, new in stored if any(new.tables.get(n) is not t for n, t in old.tables.items())]
    if broken:
        reason = "what is stored for them would be other"
        hint = "drop them, and create them again afterwards"
        raise BreaksViews(None, hint, name=table, dependents=", ".join(broken), reason=reason)


def is_wider(old: str, new: str) -> bool:
    """Whether every value of one type is one of another, of the same kind.

    >>> is_wider("int", "bigint"), is_wider("bigint", "int"), is_wider("decimal(6,2)", "decimal(8,4)")
    (True, False, True)
    >>> is_wider("decimal(6,2)", "decimal(7,4)"), is_wider("float", "double"), is_wider("int", "string")
    (False, True, False)
    """
    if old in _INTEGERS and new in _INTEGERS:
        return _INTEGERS.index(old) <= _INTEGERS.index(new)
    before, after = types.decimal(old), types.decimal(new)
    if before is not None and after is not None:
        return after[1] >= before[1] and after[0] - after[1] >= before[0] - before[1]
    return old == new or (old, new) == ("float", "double")


def text_length(constraints: Constraints, column: str) -> int | None:
    """How long the texts of a column may be; None if that is open."""
    lengths = [checked_length(check, column) for check in constraints.checks]
    return min((length for length in lengths if length is not None), default=None)


def without_length(constraints: Constraints, column: str) -> Constraints:
    """The same where the texts of a column may be of any length."""
    return replace(constraints, checks=tuple(c for c in constraints.checks if checked_length(c, column) is None))


def _shown(type: str, length: int | None) -> str:
    return type if length is None else f"varchar({length})"
