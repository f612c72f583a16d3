"""Registering operators: functions from Arrow tables to an Arrow table, for SQL and for the algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from tidings.algebra.delta_relations.instance import RelationInstance, hashable
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.expressions.operators import UserOperator
from tidings.engine.arrow import arrow_schema
from tidings.engine.scalar_function import wrong_form
from tidings.errors import InvalidOperator, UnsupportedType
from tidings.front.functions import Functions, text_of
from tidings.front.incremental_forms import Form, over_timed_rows, require_form
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.lang.sql.table_operator import TableOperator
from tidings.store.catalog.functions import FunctionRecord

Incremental: TypeAlias = Literal["linear"] | Form | None
"""``"linear"``, or a function of the old inputs, what was removed and what was added, each a list of Arrow tables."""


@dataclass(frozen=True, slots=True)
class Operators:
    """Registers the operators of one database."""

    functions: Functions

    def register(
        self,
        operator: TableOperator,
        code: Callable[..., Any],
        incremental: Incremental,
        *,
        check: bool = False,
    ) -> UserOperator:
        """Let SQL and the algebra apply an operator; with ``check`` its incremental form is never trusted."""
        text, value, form = text_of(code), over_rows(operator, code), None
        if callable(incremental):
            require_form(operator.name, incremental)
            text = f"{text}\n\n{text_of(incremental)}"
            form = over_timed_rows(operator, incremental, value, check=check)
        record = FunctionRecord(operator.record_name, operator.takes, operator.returns, text, operator)
        self.functions.register(record, value, code, form, each=True)
        return algebraic(operator, code, form)


def declared(
    name: str, takes: str | Sequence[str], returns: str, key: str | Sequence[str], incremental: Incremental
) -> TableOperator:
    """An operator from what its user says of it; columns are written as in ``"sensor STRING, value DOUBLE"``."""
    inputs: list[Any] = list(takes) if isinstance(takes, list | tuple) else [takes]
    keys = tuple(key) if isinstance(key, list | tuple) else (key,)
    if not inputs:
        raise InvalidOperator(name=name, reason="it takes no relation")
    if not all(isinstance(text, str) for text in (name, *inputs, returns, *keys)):
        raise InvalidOperator(name=name, reason="its name, its columns and its key are texts")
    if incremental not in (None, "linear") and not callable(incremental):
        raise InvalidOperator(name=name, reason=f"incremental is 'linear' or a function, not {incremental!r}")
    columns = tuple(_columns(name, text) for text in inputs)
    output, linear = _columns(name, returns), incremental == "linear"
    return TableOperator(name.lower(), columns, output, keys, linear, callable(incremental))


def _columns(name: str, text: str) -> tuple[Column, ...]:
    try:
        fields = types.fields(types.canonical(types.parse(f"struct<{text}>")))
    except (UnsupportedType, TypeError, AttributeError):
        fields = ()
    names = {column.lower() for column, _ in fields}
    if ";" in text or not all(types.is_supported(type) for _, type in fields) or not 0 < len(fields) == len(names):
        reason = f"{text!r} are not columns of different names, as in 'sensor STRING, value DOUBLE'"
        raise InvalidOperator(name=name, reason=reason)
    return tuple(Column(column, type) for column, type in fields)


def over_rows(operator: TableOperator, code: Callable[..., Any]) -> Callable[..., Any]:
    """The operator as a function of lists of rows, as engines call it."""
    schemas, output = [arrow_schema(columns) for columns in operator.inputs], arrow_schema(operator.output)
    name = operator.name

    def call(*inputs: Any) -> Any:
        result = code(*(pa.Table.from_pylist(rows or [], schema) for rows, schema in zip(inputs, schemas, strict=True)))
        if not isinstance(result, pa.Table):
            raise TypeError(f"{name} gave a {type(result).__name__}, and not an Arrow table")
        if set(result.column_names) != set(output.names):
            raise ValueError(f"{name} gave the columns {result.column_names}, and declares {output.names}")
        return result.select(output.names).cast(output).to_pylist()

    return call


def algebraic(
    operator: TableOperator, code: Callable[..., Any], form: Callable[..., list[dict[str, Any]]] | None = None
) -> UserOperator:
    """The operator for the algebra: relations become Arrow tables, and what it gives a relation.

    With a key the code and the form, here over timed rows, are called once per key, as SQL does; a linear one is called
    once for all rows.
    """
    attributes = tuple(column.name for column in operator.output)
    call, schemas = over_rows(operator, code), [arrow_schema(columns) for columns in operator.inputs]

    def grouped(rows: list[list[dict[str, Any]]]) -> dict[Any, list[list[dict[str, Any]]]]:
        return _by_key(rows, operator.key) if operator.key else {(): rows}

    def function(*inputs: RelationInstance) -> RelationInstance:
        rows = [_rows(r, s.names) for r, s in zip(inputs, schemas, strict=True)]
        return _instance(attributes, [row for group in grouped(rows).values() for row in call(*group)], inputs)

    def linear(old: tuple[RelationInstance, ...], deltas: tuple[DeltaPair, ...]) -> DeltaPair:
        return DeltaPair(function(deltas[0].removed), function(deltas[0].added))

    def by_form(old: tuple[RelationInstance, ...], deltas: tuple[DeltaPair, ...]) -> DeltaPair:
        assert form is not None
        sides = (old, [d.removed for d in deltas], [d.added for d in deltas])
        groups = [grouped([_rows(r, s.names) for r, s in zip(side, schemas, strict=True)]) for side in sides]
        nothing: list[list[dict[str, Any]]] = [[] for _ in schemas]
        answers: list[dict[str, Any]] = []
        for key in groups[1] | groups[2]:
            was, gone, come = (group.get(key, nothing) for group in groups)
            timed = (
                [*_timed(0, 1, a), *_timed(1, -1, b), *_timed(1, 1, c)] for a, b, c in zip(was, gone, come, strict=True)
            )
            answers += _named(form, *timed)
        lost, gained = ([row for a in answers if a["w"] == sign for row in a["rows"]] for sign in (-1, 1))
        new = [delta.composed(relation) for relation, delta in zip(old, deltas, strict=True)]
        return DeltaPair(_instance(attributes, lost, old), _instance(attributes, gained, new))

    incremental = linear if operator.linear else by_form if form is not None else None
    return UserOperator(operator.name, attributes, function, operator.key, incremental)


def _timed(instant: int, weight: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"t": instant, "w": weight, "r": row} for row in rows]


def _named(form: Callable[..., list[dict[str, Any]]], *inputs: Any) -> list[dict[str, Any]]:
    """What a form answers; that it is wrong is said as SQL says it."""
    try:
        return form(*inputs)
    except RuntimeError as error:
        wrong = wrong_form(str(error))
        if wrong is None:
            raise
        raise wrong from None


def _by_key(
    inputs: list[list[dict[str, Any]]], key: tuple[str, ...]
) -> dict[tuple[Any, ...], list[list[dict[str, Any]]]]:
    """The rows of each input per key, for every key that some input has."""
    groups: dict[tuple[Any, ...], list[list[dict[str, Any]]]] = {}
    for number, rows in enumerate(inputs):
        for row in rows:
            values = tuple(hashable(row[name]) for name in key)
            groups.setdefault(values, [[] for _ in inputs])[number].append(row)
    return groups


def _rows(relation: RelationInstance, names: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in names} for row in relation.dicts()]


def _instance(
    attributes: tuple[str, ...], rows: list[dict[str, Any]], inputs: Sequence[RelationInstance]
) -> RelationInstance:
    """What an operator gives as a relation; a tuple that is one of the first input's keeps its tid."""
    known = inputs[0].in_order_of(attributes).tids if set(inputs[0].attributes) == set(attributes) else {}
    values = (tuple(hashable(row[name]) for name in attributes) for row in rows)
    return RelationInstance(attributes, {known.get(row, row): row for row in values})
