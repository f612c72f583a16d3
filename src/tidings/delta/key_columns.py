"""Where the keys of a restriction come from: as a rule columns of deltas, known before anything is read."""

from __future__ import annotations

from collections.abc import Set
from typing import TypeAlias, assert_never

from tidings.ir import types
from tidings.ir.expression import Ref, ref
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Version,
    Window,
)

LISTABLE = types.EXACT - {"timestamp_ntz"}
"""Types whose keys may be written as literals."""

KeyColumn: TypeAlias = tuple[str, str]
"""A column of a relation, by their names."""


def key_columns(node: Restrict) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas that hold all keys of a restriction; None if there are none, or their type is not listed.

    They may hold more: a restriction by more keys than needed is still right.  They need not hold the NULL that an
    outer join puts in: a restriction that takes NULL for a key always keeps the rows that have NULL.
    """
    (key,) = node.keys.fields
    return _trace(node.keys, key.ref, frozenset({Version.DELTA})) if key.type in LISTABLE else None


def scanned_columns(keys: Relation) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas and states that hold all keys a plan computes, and perhaps more; None if there are none."""
    (key,) = keys.fields
    return _trace(keys, key.ref, frozenset(Version))


def _trace(node: Relation, column: Ref, versions: Set[Version]) -> tuple[KeyColumn, ...] | None:
    """The columns all values of a column come from, if they come as they are from scans of some versions."""
    match node:
        case Scan():
            return ((node.relation, column[1]),) if node.version in versions else None
        case Project():
            item = next(i for i in node.items if i.name == column[1])
            inner = ref(item.expression)
            return None if inner is None else _trace(node.input, inner, versions)
        case Filter() | Restrict() | Repeat() | During():
            return _trace(node.input, column, versions)
        case Consolidate():
            inner = next(f.ref for f in node.input.fields if f.name == column[1])
            return _trace(node.input, inner, versions)
        case Unnest() | Window():
            return None if column[0] == node.alias else _trace(node.input, column, versions)
        case Join():
            owner = next(i for i in node.inputs if any(f.ref == column for f in i.fields))
            return _trace(owner, column, versions)
        case Union():
            place = [f.ref for f in node.fields].index(column)
            traced = [_trace(b, b.fields[place].ref, versions) for b in node.inputs]
            return None if None in traced else tuple(dict.fromkeys(k for t in traced for k in t or ()))
        case SemiJoin() | OuterJoin():
            sides = (node.left, node.right)
            return _trace(next(s for s in sides if any(f.ref == column for f in s.fields)), column, versions)
        case Aggregate():
            grouped = next((i for i in node.keys if i.name == column[1]), None)
            inner = None if grouped is None else ref(grouped.expression)
            return None if inner is None else _trace(node.input, inner, versions)
        case SetOperation() | Values() | Fixpoint():
            return None
        case _:
            assert_never(node)
