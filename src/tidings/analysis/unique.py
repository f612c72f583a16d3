"""Which columns tell the rows of a relation apart, whatever the tables hold.

A set of columns is a *key* of a relation if no two of its rows agree on all of them.  Keys come from the primary keys
of tables and from groups, and travel upwards: through filters as they are, through projections that pass their columns,
through joins side by side.  An input of a join whose key is equated with columns of the others adds no rows to them.

What is found is true; not all that is true is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce

from tidings.ir.column import Field
from tidings.ir.expression import Ref, equality, ref
from tidings.ir.relation import (
    Aggregate,
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
    Window,
)
from tidings.ir.types import comparable_as_keys

Key = frozenset[Ref]


def is_unique(
    plan: Relation,
    columns: Collection[str],
    primary_keys: Mapping[str, Collection[str]],
    definitions: Mapping[str, Relation],
) -> bool:
    """Whether no two rows of a plan agree on some of its columns.

    >>> from tidings.ir.text import parse
    >>> plan = parse("filter [t.b > 1]\\n  scan t t [a int, b int]")
    >>> is_unique(plan, ["a"], {"t": ["a"]}, {}), is_unique(plan, ["b"], {"t": ["a"]}, {})
    (True, False)
    """
    wanted = {f.ref for f in plan.fields if f.name in columns}
    return any(key <= wanted for key in _keys(plan, primary_keys, definitions))


def _keys(plan: Relation, primary: Mapping[str, Collection[str]], definitions: Mapping[str, Relation]) -> list[Key]:
    """Some keys of a plan."""

    def keys(node: Relation) -> list[Key]:
        match node:
            case Scan():
                return _scan_keys(node, primary, definitions)
            case Values():
                return [Key()] if len(node.rows) <= 1 else []
            case Filter() | During() | Restrict() | Window():
                return keys(node.input)
            case SemiJoin():
                return keys(node.left)
            case Project():
                passed = {r: (node.alias, i.name) for i in node.items if (r := ref(i.expression)) is not None}
                return [Key(passed[r] for r in key) for key in keys(node.input) if key <= passed.keys()]
            case Aggregate():
                return [Key((node.alias, i.name) for i in node.keys)]
            case Join():
                return _joined(node, [keys(i) for i in node.inputs])
            case OuterJoin():
                left, right = keys(node.left), keys(node.right)
                return left if _is_determined(right, node, node.left.fields) else _side_by_side(left, right)
            case SetOperation():
                return _set_keys(node, keys(node.left))
            case Unnest() | Union() | Repeat():
                return []
            case Fixpoint():
                kept = next(m.extreme for m in node.members if m.name == node.output)
                columns = node.columns if kept is None else node.columns[:-1]
                return [] if kept == "all" else [Key((node.alias, c.name) for c in columns)]
            case _:
                raise AssertionError("the plan of a query has no such node")

    return keys(plan)


def _scan_keys(scan: Scan, primary: Mapping[str, Collection[str]], definitions: Mapping[str, Relation]) -> list[Key]:
    """The primary key of a table, or the keys of the query of a view."""
    names = {c.name for c in scan.columns}
    if scan.relation in primary:
        found = [frozenset(primary[scan.relation])] if primary[scan.relation] else []
    elif scan.relation in definitions:
        found = [frozenset(n for _, n in key) for key in _keys(definitions[scan.relation], primary, definitions)]
    else:
        found = []
    return [Key((scan.alias, name) for name in key) for key in found if key <= names]


def _set_keys(node: SetOperation, left: list[Key]) -> list[Key]:
    """The keys of a difference or intersection: its rows are rows of the left side, without ``all`` each once."""
    names = {f.ref: own.ref for f, own in zip(node.left.fields, node.fields, strict=True)}
    found = [Key(names[r] for r in key) for key in left]
    return found if node.all else [*found, Key(names.values())]


def _joined(join: Join, keys: list[list[Key]]) -> list[Key]:
    """The keys of a join: those of its inputs together, without inputs that the others determine."""
    kept = list(range(len(keys)))
    for number in reversed(range(len(keys))):
        others = [f for n in kept if n != number for f in join.inputs[n].fields]
        if len(kept) > 1 and _is_determined(keys[number], join, others):
            kept.remove(number)
    return reduce(_side_by_side, (keys[number] for number in kept))


def _side_by_side(left: list[Key], right: list[Key]) -> list[Key]:
    return [a | b for a in left for b in right]


def _is_determined(keys: list[Key], join: Join | OuterJoin, others: Iterable[Field]) -> bool:
    """Whether a join equates all columns of a key with columns of others, so that one row matches at most."""
    column_types = {f.ref: f.type for f in join.fields}
    determining, fixed = {f.ref for f in others}, set[Ref]()
    for condition in join.conditions:
        sides = equality(condition)
        left, right = (None, None) if sides is None else (ref(sides[0]), ref(sides[1]))
        if left is None or right is None or not comparable_as_keys(column_types[left], column_types[right]):
            continue
        fixed |= {a for a, b in ((left, right), (right, left)) if b in determining}
    return any(key <= fixed for key in keys)
