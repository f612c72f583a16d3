"""Random histories: transactions over several tables, and the state they leave behind, in plain Python.

Deletes name rows that are there; besides plain inserts and deletes there are updates, updates to the same value,
rows deleted and put back, and rows that come and go within one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.laws.schema import Row, Table, row

State = Mapping[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Change:
    """One call within a transaction: rows that go and rows that come, in this order."""

    table: str
    removed: tuple[Row, ...] = ()
    added: tuple[Row, ...] = ()


Transaction = tuple[Change, ...]


def base(rng: Random, tables: Sequence[Table]) -> dict[str, list[Row]]:
    """The rows some tables are loaded with; a table that is not named starts empty."""
    return {t.name: [row(rng, t) for _ in range(rng.choice([0, 3, 4, 5, 6, 7]))] for t in tables if rng.random() < 0.65}


def history(rng: Random, tables: Sequence[Table], loaded: State, most: int) -> tuple[Transaction, ...]:
    """Up to ``most`` transactions that can follow the loaded state."""
    state = {t.name: list(loaded.get(t.name, [])) for t in tables}
    return tuple(_transaction(rng, tables, state) for _ in range(rng.randint(min(3, most), most)))


def after(state: State, transaction: Transaction) -> dict[str, list[Row]]:
    """The state a transaction leaves."""
    new = {name: list(rows) for name, rows in state.items()}
    for change in transaction:
        for gone in change.removed:
            new[change.table].remove(gone)
        new[change.table].extend(change.added)
    return new


def _transaction(rng: Random, tables: Sequence[Table], state: dict[str, list[Row]]) -> Transaction:
    """A transaction; ``state`` moves along."""
    changes: list[Change] = []
    for table in rng.sample(list(tables), k=rng.randint(1, len(tables))):
        for _ in range(rng.choice([1, 1, 2, 3])):
            for change in _changes(rng, table, state[table.name]):
                changes.append(change)
                state.update(after(state, (change,)))
    return tuple(changes)


def _changes(rng: Random, table: Table, rows: list[Row]) -> list[Change]:
    name = table.name
    action = rng.choice(
        ["insert", "insert", "update", "update", "delete", "repeat", "same", "reinsert", "pass", "clear"]
    )
    if not rows or (action == "insert" and len(rows) < 8):
        return [Change(name, (), tuple(row(rng, table) for _ in range(rng.randint(1, 3))))]
    old = rng.choice(rows)
    match action:
        case "repeat" if len(rows) < 8:
            return [Change(name, (), (old,) * rng.randint(1, 2))]
        case "same":
            return [Change(name, (old,), (old,))]
        case "reinsert":
            return [Change(name, (old,)), Change(name, (), (old,))]
        case "pass":
            new = row(rng, table)
            return [Change(name, (), (new,)), Change(name, (new,))]
        case "clear" if rng.random() < 0.3:
            return [Change(name, tuple(rows))]
        case "update":
            return [Change(name, (old,), (_touched(rng, table, old),))]
        case _:
            return [Change(name, (old,))]


def _touched(rng: Random, table: Table, old: Row) -> Row:
    """The row with one column changed, perhaps to the value it had."""
    place = rng.randrange(len(old))
    return (*old[:place], row(rng, table)[place], *old[place + 1 :])
