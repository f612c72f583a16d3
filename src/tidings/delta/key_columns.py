"""Where the keys of a restriction come from: as a rule columns of deltas, known before anything is read."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidings.ir import types
from tidings.ir.expression import Ref, ref
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
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
"""A column of a relation's delta."""


def key_columns(node: Restrict) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas that hold all keys of a restriction; None if there are none, or their type is not listed.

    They may hold more: a restriction by more keys than needed is still right.
    """
    (key,) = node.keys.fields
    return _trace(node.keys, key.ref) if key.type in LISTABLE else None


def _trace(node: Relation, column: Ref) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas all values of a column come from, if they come from deltas as they are."""
    match node:
        case Scan():
            return ((node.relation, column[1]),) if node.version is Version.DELTA else None
        case Project():
            item = next(i for i in node.items if i.name == column[1])
            inner = ref(item.expression)
            return None if inner is None else _trace(node.input, inner)
        case Filter() | Restrict() | Repeat() | During():
            return _trace(node.input, column)
        case Unnest():
            return None if column[0] == node.alias else _trace(node.input, column)
        case Join():
            owner = next(i for i in node.inputs if any(f.ref == column for f in i.fields))
            return _trace(owner, column)
        case Union():
            place = [f.ref for f in node.fields].index(column)
            traced = [_trace(b, b.fields[place].ref) for b in node.inputs]
            return None if None in traced else tuple(dict.fromkeys(k for t in traced for k in t or ()))
        case Aggregate() | Window() | OuterJoin() | SemiJoin() | SetOperation() | Values() | Consolidate():
            return None
        case _:
            assert_never(node)
