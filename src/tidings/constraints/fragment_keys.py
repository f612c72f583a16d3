"""One key, one row in a whole table: a key that one fragment has may not come to another.

The keys that come to one part of a union are looked up in the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tidings.constraints.enforce import NetChange
from tidings.engine.row_values import row_keys
from tidings.errors import DuplicateKey
from tidings.ir.fragments import FragmentTree
from tidings.store.key_lookup import KeyLookup
from tidings.store.relation.net import Key
from tidings.store.relation.relations import Relations


def check_fragment_keys(finder: KeyLookup, relations: Relations, changes: Sequence[NetChange]) -> None:
    """Refuse changes after which two fragments of a union have one key."""
    wholes = {relations.fragment_of(change.table.name) for change in changes} - {None}
    by_table = {change.table.name: change for change in changes}
    for whole in sorted(name for name in wholes if name is not None):
        scheme = relations.fragments(whole)
        if scheme is None or not scheme.key:
            continue
        for union in _unions(scheme.tree):
            _check(finder, relations, whole, scheme.key, union, by_table)


def _check(
    finder: KeyLookup,
    relations: Relations,
    whole: str,
    key: tuple[str, ...],
    union: FragmentTree,
    changes: Mapping[str, NetChange],
) -> None:
    fragments = [next(part.leaves()).table for part in union.parts]
    balances = [_balance(changes.get(name), key) for name in fragments]
    came = {k for balance in balances for k, count in balance.items() if count > 0}
    counts: Counter[Key] = Counter()
    for name, balance in zip(fragments, balances, strict=True):
        table = relations.table(name)
        own = table.constraints.key
        lookups = {k: tuple(k[key.index(c)] for c in own) for k in came}
        present = finder.by_key(table, list(lookups.values())) if came else {}
        for k in came:
            counts[k] += len(present[lookups[k]]) + balance[k]
    for k, count in counts.items():
        if count > 1:
            shown = ", ".join(f"{name} = {value!r}" for name, value in zip(key, k, strict=True))
            raise DuplicateKey(row=1, table=whole, key=shown, values=dict(zip(key, k, strict=True)))


def _balance(change: NetChange | None, key: tuple[str, ...]) -> Counter[Key]:
    """How many more rows a fragment has of each key after a change."""
    balance: Counter[Key] = Counter()
    if change is not None:
        for k, weight in zip(row_keys(change.rows.select(list(key))), change.weights, strict=True):
            balance[k] += weight
    return balance


def _unions(tree: FragmentTree) -> Iterator[FragmentTree]:
    if tree.kind == "union":
        yield tree
    for part in tree.parts:
        yield from _unions(part)
