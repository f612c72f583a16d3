"""Cases for the laws: a schema, views over it and a history, all from one seed.

A failing case is named by its seed alone.  To look at one:

    python -m tests.laws.generate SEED
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from random import Random

from tests.laws import history, schema
from tests.laws.schema import Row, Table, quote
from tests.laws.views import Relation, Writer


@dataclass(frozen=True, slots=True)
class View:
    """A view by its name, its query and the statement that creates it."""

    name: str
    query: str

    @property
    def definition(self) -> str:
        return f"CREATE VIEW {quote(self.name)} AS {self.query}"


@dataclass(frozen=True)
class Case:
    """One experiment.  Transaction number n commits at ``instant(n)``; the last view is the one looked at."""

    seed: int
    tables: tuple[Table, ...]
    views: tuple[View, ...]
    base: dict[str, list[Row]]
    history: tuple[history.Transaction, ...]

    @property
    def view(self) -> str:
        return self.views[-1].name

    @cached_property
    def states(self) -> list[dict[str, list[Row]]]:
        """Each table's rows before the first transaction and after every one."""
        states = [{t.name: list(self.base.get(t.name, [])) for t in self.tables}]
        for transaction in self.history:
            states.append(history.after(states[-1], transaction))
        return states

    @property
    def instants(self) -> list[int]:
        return [instant(n) for n in range(len(self.history) + 1)]

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", *(f"{t.definition};" for t in self.tables)]
        lines += [f"load {name}: {rows}" for name, rows in self.base.items()]
        lines += [f"{v.definition};" for v in self.views]
        for number, transaction in enumerate(self.history, 1):
            lines.append(f"at {instant(number)}:")
            lines += [f"  {c.table}: -{list(c.removed)} +{list(c.added)}" for c in transaction]
        return "\n".join(lines)


def instant(number: int) -> int:
    """The commit time of a transaction; with gaps, so that intervals can begin and end between commits."""
    return number * 10


def case(seed: int, *, transactions: int = 7, views: int | None = None) -> Case:
    """The case of a seed: at most so many transactions, and so many views (by default one to three)."""
    rng = Random(seed)
    tables = schema.tables(rng)
    loaded = history.base(rng, tables)
    made = _views(rng, tables, views or rng.choice([1, 1, 2, 3]))
    return Case(seed, tables, made, loaded, history.history(rng, tables, loaded, transactions))


def _views(rng: Random, tables: tuple[Table, ...], wanted: int) -> tuple[View, ...]:
    """Views, each likely to read the one before it."""
    below = [Relation(quote(t.name), t.columns) for t in tables]
    views: list[View] = []
    for level in range(wanted):
        query = Writer(rng).view(below)
        views.append(View(rng.choice(["v", "Hot Items"]) + str(level), query.text))
        view = Relation(quote(views[-1].name), query.columns, query.size, query.ordered)
        below = [*below, view, view, view]
    return tuple(views)


if __name__ == "__main__":
    print(case(int(sys.argv[1])))
