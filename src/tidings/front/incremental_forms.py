"""Incremental forms of operators, as engines and the algebra call them.

A form is a function of users: from the old rows of an operator's relations, the rows removed from them and the rows
added to them, each a list of Arrow tables, to the rows that the operator's value loses and those it gains, two tables.
What it is asked is always one transaction, for one key if the operator has a key.  Its answers are added up, so a row
that it both loses and gains is no change.

What is made here closes over nothing but plain values and the user's code: workers of Spark get a copy of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.errors import InvalidOperator
from tidings.lang.sql.table_operator import TableOperator

Form: TypeAlias = Callable[..., tuple[pa.Table, pa.Table]]

Bag: TypeAlias = dict[Any, tuple[dict[str, Any], int]]
"""Rows by their values, each with how often it is there, or is missing."""


def require_form(name: str, form: Form) -> None:
    """Refuse a function that cannot be called as a form."""
    try:
        inspect.signature(form).bind([], [], [])
    except TypeError:
        reason = "its incremental form cannot be called with old inputs, removed rows and added rows"
        raise InvalidOperator(name=name, reason=reason) from None
    except ValueError:  # a function of C, of which nothing is known
        return


def over_timed_rows(
    operator: TableOperator, form: Form, value: Callable[..., list[dict[str, Any]]], *, check: bool
) -> Callable[..., list[dict[str, Any]]]:
    """A form as a function of timed rows: old ones at instant 0, changes later; it is called instant by instant.

    ``value`` is the operator itself as a function of lists of rows.  With ``check`` every answer of the form is
    compared with the difference of the operator's values.
    """
    bag, listed = _bags()
    answered = _asking(operator, form)
    compare = _comparing(operator, value) if check else None
    width = len(operator.inputs)

    def call(*inputs: Any) -> list[dict[str, Any]]:
        timed: dict[int, list[list[tuple[dict[str, Any], int]]]] = {0: [[] for _ in range(width)]}
        for place, entries in enumerate(inputs):
            for entry in entries or []:
                timed.setdefault(entry["t"], [[] for _ in range(width)])[place].append((entry["r"], entry["w"]))
        old = [bag(rows) for rows in timed.pop(0)]
        answers: list[dict[str, Any]] = []
        for instant in sorted(timed):
            changes = [bag(rows) for rows in timed[instant]]
            if not any(changes):
                continue
            new = [bag([*b.values(), *c.values()]) for b, c in zip(old, changes, strict=True)]
            answer = answered(old, changes)
            if compare is not None:
                compare(answer, old, new)
            sides = [(sign, listed(answer, sign)) for sign in (-1, 1)]
            answers.extend({"t": instant, "w": sign, "rows": rows} for sign, rows in sides if rows)
            old = new
        return answers

    return call


def _bags() -> tuple[Callable[..., Bag], Callable[[Bag, int], list[dict[str, Any]]]]:
    """Two functions: rows with their weights as a bag, and the rows of a bag that are there, or those missing."""

    def frozen(part: Any) -> Any:
        if isinstance(part, dict):
            return tuple(map(frozen, part.values()))
        if isinstance(part, list | tuple):
            return tuple(map(frozen, part))
        return "NaN" if part != part else part

    def bag(rows: list[tuple[dict[str, Any], int]]) -> Bag:
        counts: Bag = {}
        for row, weight in rows:
            key = frozen(row)
            counts[key] = (row, weight + (counts[key][1] if key in counts else 0))
        return {key: entry for key, entry in counts.items() if entry[1]}

    def listed(counts: Bag, sign: int) -> list[dict[str, Any]]:
        return [row for row, weight in counts.values() for _ in range(max(0, weight * sign))]

    return bag, listed


def _asking(operator: TableOperator, form: Form) -> Callable[[list[Bag], list[Bag]], Bag]:
    """A function that asks a form, given old rows and changes."""
    schemas, output = [arrow_schema(columns) for columns in operator.inputs], arrow_schema(operator.output)
    name = operator.name
    bag, listed = _bags()

    def tables(inputs: list[Bag], sign: int) -> list[pa.Table]:
        return [pa.Table.from_pylist(listed(b, sign), schema) for b, schema in zip(inputs, schemas, strict=True)]

    def answered(old: list[Bag], changes: list[Bag]) -> Bag:
        result = form(tables(old, 1), tables(changes, -1), tables(changes, 1))
        if not (isinstance(result, tuple | list) and [isinstance(t, pa.Table) for t in result] == [True, True]):
            raise TypeError(f"the incremental form of {name} gave something else than two Arrow tables")
        if any(set(table.column_names) != set(output.names) for table in result):
            raise ValueError(f"the incremental form of {name} gave other columns than {output.names}")
        lost, gained = (table.select(output.names).cast(output).to_pylist() for table in result)
        return bag([*((row, -1) for row in lost), *((row, 1) for row in gained)])

    return answered


def _comparing(
    operator: TableOperator, value: Callable[..., list[dict[str, Any]]]
) -> Callable[[Bag, list[Bag], list[Bag]], None]:
    """A function that raises where an answer is not the difference of an operator's values."""
    name, keyed = operator.name, bool(operator.key)
    bag, listed = _bags()

    def evaluated(inputs: list[Bag]) -> list[dict[str, Any]]:
        rows = [listed(counts, 1) for counts in inputs]
        return value(*rows) if any(rows) or not keyed else []

    def compare(answer: Bag, old: list[Bag], new: list[Bag]) -> None:
        right = bag([*((row, -1) for row in evaluated(old)), *((row, 1) for row in evaluated(new))])
        if {key: weight for key, (_, weight) in answer.items()} != {key: weight for key, (_, weight) in right.items()}:
            said, true = (
                [f"{w:+d} {row}" for row, w in sorted(b.values(), key=str)] or ["nothing"] for b in (answer, right)
            )
            raise RuntimeError(f"⟨tidings: form of {name}: it says {', '.join(said)}, and right is {', '.join(true)}⟩")

    return compare
