"""Δ(ω A): a window function sees its partition, so the key is what partitions all of them.

See :mod:`tidings.delta.keyed`.
Functions with unlike partitions share the columns they have in common.  A window over everything has no key.
"""

from __future__ import annotations

from dataclasses import replace

from tidings.delta.keyed import SINCE, KeyedInput, Lifted
from tidings.ir.expression import Expression, column, ref, window_call
from tidings.ir.relation import Column, Item, Relation, Scan, Window


def lift(node: Window) -> Lifted:
    scan = node.input
    assert isinstance(scan, Scan)
    types = {f.ref: f.type for f in scan.fields}
    partitions = [window_call(i.expression).args.get("partition_by") or [] for i in node.items]
    shared = [e for e in partitions[0] if ref(e) is not None and all(e in p for p in partitions)]
    columns = tuple(Column(f.name, f.type) for f in node.fields)

    def apply(inputs: list[Relation], versions: Relation) -> Relation:
        items = (Item(i.name, i.type, _per_version(i.expression, scan.alias)) for i in node.items)
        return replace(node, input=inputs[0], items=tuple(items))

    key_types = tuple(types[ref(e)] for e in shared)  # type: ignore[index]
    return Lifted((KeyedInput(scan, tuple(shared)),), key_types, columns, scan.alias, apply)


def _per_version(function: Expression, alias: str) -> Expression:
    tree = function.copy()
    call = window_call(tree)
    call.set("partition_by", [*(call.args.get("partition_by") or []), column(alias, SINCE)])
    return tree
