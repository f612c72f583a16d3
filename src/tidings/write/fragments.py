"""Changes of a fragmented table become changes of its fragments, and rows of it are found in them by key.

A row goes to the part of a union whose condition is true for it, and is cut by the columns of the parts of a join.  An
update that moves a row leaves one fragment and comes to another; what it does not touch in a fragment is no change
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidings.constraints.evaluate import Evaluator
from tidings.engine.row_values import row_keys
from tidings.errors import DuplicateKey, MissingRow, NoFragment
from tidings.ir.fragments import FragmentScheme, FragmentTree
from tidings.store.relation.net import Key, Row
from tidings.store.relation.table import Table

if TYPE_CHECKING:
    from tidings.write.workspace import Workspace


def routed(
    workspace: Workspace, table: Table, scheme: FragmentScheme, rows: pa.Table, weight: int
) -> Iterator[tuple[Table, pa.Table]]:
    """The shares of fragments in rows that come to a table, or go."""
    evaluator = workspace.parts.enforcer.evaluator
    for leaf, share in _shares(evaluator, table, scheme.tree, rows, weight):
        fragment = workspace.parts.relations.table(leaf.table)
        yield fragment, share.select([c.name for c in fragment.columns]).cast(fragment.schema)


def _shares(
    evaluator: Evaluator, table: Table, tree: FragmentTree, rows: pa.Table, weight: int
) -> Iterator[tuple[FragmentTree, pa.Table]]:
    match tree.kind:
        case "table":
            yield tree, rows
        case "join":
            for part in tree.parts:
                yield from _shares(evaluator, table, part, rows, weight)
        case "union":
            verdicts = [_takes(evaluator, table, part, rows) for part in tree.parts]
            for n in range(rows.num_rows):
                homes = sum(verdict[n] for verdict in verdicts)
                if homes != 1:
                    raise _homeless(table, rows.slice(n, 1).to_pylist()[0], homes, weight)
            for part, verdict in zip(tree.parts, verdicts, strict=True):
                share = rows.filter(pa.array(verdict, pa.bool_()))
                if share.num_rows:
                    yield from _shares(evaluator, table, part, share, weight)


def _homeless(table: Table, row: dict[str, Any], homes: int, weight: int) -> MissingRow | NoFragment:
    if weight < 0 and homes == 0:
        return MissingRow(table=table.name, row=row)
    taken = "no fragment" if homes == 0 else "more than one fragment"
    return NoFragment(row=row, reason=f"{taken} of {table.name} takes it")


def _takes(evaluator: Evaluator, table: Table, tree: FragmentTree, rows: pa.Table) -> list[bool]:
    """Whether a part takes each of some rows."""
    verdict = [True] * rows.num_rows
    if tree.condition is not None:
        verdict = [bool(v) for v in evaluator.holds(table.name, table.columns, tree.condition, rows)]
    below = [_takes(evaluator, table, part, rows) for part in tree.parts]
    if not below:
        return verdict
    joined = any if tree.kind == "union" else all
    return [own and joined(verdicts) for own, verdicts in zip(verdict, zip(*below, strict=True), strict=True)]


def require_one_row_per_key(workspace: Workspace, table: Table, scheme: FragmentScheme, rows: pa.Table) -> None:
    """Refuse rows whose key is there, at once where fragments are joined by it: two rows could not be told apart."""
    if "join" not in _kinds(scheme.tree) or not rows.num_rows:
        return
    for key, found in by_key(workspace, table, scheme, row_keys(rows.select(list(scheme.key)))).items():
        if len(found) > 1:
            shown = ", ".join(f"{name} = {value!r}" for name, value in zip(scheme.key, key, strict=True))
            values = dict(zip(scheme.key, key, strict=True))
            raise DuplicateKey(row=1, table=table.name, key=shown, values=values)


def _kinds(tree: FragmentTree) -> set[str]:
    return {tree.kind}.union(*map(_kinds, tree.parts))


def by_key(workspace: Workspace, table: Table, scheme: FragmentScheme, keys: Sequence[Key]) -> dict[Key, list[Row]]:
    """The rows of a fragmented table with some keys, in a transaction."""
    order = [c.name for c in table.columns]
    found = _by_key(workspace, scheme.tree, keys)
    return {key: [tuple(row[name] for name in order) for row in found[key]] for key in keys}


def _by_key(workspace: Workspace, tree: FragmentTree, keys: Sequence[Key]) -> dict[Key, list[dict[str, Any]]]:
    if tree.kind == "table":
        fragment = workspace.parts.relations.table(tree.table)
        names = [c.name for c in fragment.columns]
        rows = workspace.by_key(fragment, keys)
        return {key: [dict(zip(names, row, strict=True)) for row in rows.get(key, [])] for key in keys}
    below = [_by_key(workspace, part, keys) for part in tree.parts]
    if tree.kind == "union":
        return {key: [row for found in below for row in found[key]] for key in keys}
    return {key: _joined([found[key] for found in below]) for key in keys}


def _joined(parts: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Every combination of rows of the parts."""
    rows: list[dict[str, Any]] = [{}]
    for part in parts:
        rows = [left | right for left in rows for right in part]
    return rows
