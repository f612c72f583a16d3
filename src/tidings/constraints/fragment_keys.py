"""One key, one row in a whole table: a key that one fragment has may not come to another.

The keys that come to one part of a union are looked up in the others.  Where many rows come at once, by a load or with
tables that are there already, the engine searches all parts for keys that they have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from tidings.constraints.enforce import NetChange
from tidings.engine.row_values import row_keys
from tidings.errors import DuplicateKey
from tidings.ir.fragments import FragmentScheme, FragmentTree
from tidings.lang.sql.fragment_text import keys_of_several
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


def check_all_keys(whole: str, scheme: FragmentScheme, rows: Callable[[str], pa.Table]) -> None:
    """Refuse fragments of which two in a union have one key; ``rows`` gives those of a query."""
    for union in _unions(scheme.tree) if scheme.key else ():
        repeated = rows(keys_of_several(_first_leaves(union), scheme.key)).slice(0, 1)
        for k in row_keys(repeated):
            raise _duplicate(whole, scheme.key, k)


def _first_leaves(union: FragmentTree) -> list[str]:
    """A fragment for each part of a union: the parts of a join have the same keys."""
    return [next(part.leaves()).table for part in union.parts]


def _duplicate(whole: str, names: Sequence[str], key: Key) -> DuplicateKey:
    shown = ", ".join(f"{name} = {value!r}" for name, value in zip(names, key, strict=True))
    return DuplicateKey(row=1, table=whole, key=shown, values=dict(zip(names, key, strict=True)))


def _check(
    finder: KeyLookup,
    relations: Relations,
    whole: str,
    key: tuple[str, ...],
    union: FragmentTree,
    changes: Mapping[str, NetChange],
) -> None:
    fragments = _first_leaves(union)
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
            raise _duplicate(whole, key, k)


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
