"""Operators of users in FROM: ``outliers(TABLE readings)``, as the query that calls the function behind it.

An operator takes relations and gives one.  Behind it is a function of arrays of rows (:func:`function_name`).

    with a key       the rows are gathered per key, and each group is given to the function: so a change is found by
                     evaluating the operator for touched keys
    without one      all rows are gathered, and the operator is evaluated for all of them whenever one changes
    if it is linear  each row is given to the function alone: so the operator is evaluated for the changed rows

With an incremental form the function has another name, and a change is found by the form, for the rows of touched keys
(:mod:`tidings.delta.differentiate.own_operator`).

Rows of several inputs are gathered together, each with NULL in the places of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from tidings.errors import InvalidOperator
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.operator_calls import form_of, function_of, timed_answers_type, timed_rows_type
from tidings.ir.relation import Column
from tidings.ir.types import field_name
from tidings.lang.sql.context import Context

_INPUT = "__input_"
"""How the places of the inputs begin, in the text of the query."""


@dataclass(frozen=True, slots=True)
class TableOperator:
    """An operator: its name, the columns of its inputs and of its output, and how it may be taken apart."""

    name: str
    inputs: tuple[tuple[Column, ...], ...]
    output: tuple[Column, ...]
    key: tuple[str, ...] = ()
    linear: bool = False
    incremental: bool = False
    """Whether it has an incremental form."""

    def __post_init__(self) -> None:
        known = [{column.name for column in columns} for columns in (*self.inputs, self.output)]
        for name in self.key:
            if not all(name in names for names in known):
                raise InvalidOperator(
                    name=self.name, reason=f"its inputs and its output do not all have its key {name}"
                )
        if self.linear and len(self.inputs) > 1:
            raise InvalidOperator(name=self.name, reason="it is linear, and takes several relations")

    @property
    def record_name(self) -> str:
        """The name under which it is declared, with an incremental form or without."""
        return function_of(self.name, incremental=False)

    @property
    def function_name(self) -> str:
        """The name of the function behind it."""
        return function_of(self.name, incremental=self.incremental)

    @property
    def takes(self) -> tuple[str, ...]:
        """The types of the arguments of the function behind it."""
        return tuple(f"array<{struct_type(columns)}>" for columns in self.inputs)

    @property
    def returns(self) -> str:
        return f"array<{struct_type(self.output)}>"

    @property
    def form(self) -> tuple[str, tuple[str, ...], str] | None:
        """The function that is its incremental form: its name, and the types of its arguments and of its value."""
        name = form_of(self.function_name)
        takes = tuple(timed_rows_type(struct_type(columns)) for columns in self.inputs)
        return None if name is None else (name, takes, timed_answers_type(self.returns))


def struct_type(columns: Sequence[Column]) -> str:
    """The type of a row."""
    return f"struct<{','.join(f'{field_name(c.name)}:{c.type}' for c in columns)}>"


def operator_as_query(ctx: Context, source: Expression) -> Expression:
    """The query that an operator in FROM stands for; anything else as it is."""
    call = source.this if isinstance(source, exp.Table) else None
    operator = ctx.analyzer.operator(call.name) if isinstance(call, exp.Anonymous) else None
    if operator is None:
        return source
    assert isinstance(call, exp.Anonymous)
    inputs = [query for argument in call.expressions for query in _relations(argument)]
    if len(inputs) != len(operator.inputs):
        reason = f"it takes {len(operator.inputs)} relations, as in {operator.name}(TABLE r), not {len(inputs)}"
        raise InvalidOperator(ctx.place(call), name=operator.name, reason=reason)
    query = sqlglot.parse_one(_text(operator), read=DIALECT)
    tables = [t for t in query.find_all(exp.Table) if t.name.startswith(_INPUT)]
    for table in tables:
        number = int(table.name.removeprefix(_INPUT))
        table.replace(exp.Subquery(this=inputs[number].copy(), alias=exp.TableAlias(this=exp.to_identifier("i"))))
    alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier(operator.name, quoted=True))
    return exp.Subquery(this=query, alias=alias.copy())


def _relations(argument: Expression) -> list[Expression]:
    """The queries of an argument.  The parser takes ``TABLE r, TABLE s`` for a query of r joined with a table."""
    if isinstance(argument, exp.Anonymous) and argument.name.upper() == "TABLE":
        argument = argument.expressions[0]
    query = argument.unnest()
    if not isinstance(query, exp.Query):
        return []
    joins = query.args.get("joins") or []
    if not all(isinstance(j.this, exp.Table) and j.this.name.upper() == "TABLE" and j.this.alias for j in joins):
        return [query]
    first = query.copy()
    first.set("joins", None)
    return [first, *(exp.select("*").from_(exp.to_table(join.this.alias)) for join in joins)]


def _text(operator: TableOperator) -> str:
    """The query, with names in the places of the inputs."""
    gathered = _gathered(operator)
    items = ", ".join(f"e.{_quoted(c.name)} AS {_quoted(c.name)}" for c in operator.output)
    return f"SELECT {items} FROM ({gathered}) AS g LATERAL VIEW explode(r) x AS e"


def _gathered(operator: TableOperator) -> str:
    call, keys = operator.function_name, ", ".join(map(_quoted, operator.key))
    grouped = f" GROUP BY {keys}" if keys else ""
    if operator.linear:
        return f"SELECT {call}(array({_row(operator.inputs[0])})) AS r FROM {_INPUT}0"
    if len(operator.inputs) == 1:
        return f"SELECT {call}(collect_list({_row(operator.inputs[0])})) AS r FROM {_INPUT}0{grouped}"
    branches = []
    for place, columns in enumerate(operator.inputs):
        rows = [
            f"{_row(columns)} AS r{n}" if n == place else f"CAST(NULL AS {struct_type(others)}) AS r{n}"
            for n, others in enumerate(operator.inputs)
        ]
        branches.append(f"SELECT {', '.join([*map(_quoted, operator.key), *rows])} FROM {_INPUT}{place}")
    lists = ", ".join(f"collect_list(r{n})" for n, _ in enumerate(operator.inputs))
    return f"SELECT {call}({lists}) AS r FROM ({' UNION ALL '.join(branches)}) AS u{grouped}"


def _row(columns: Sequence[Column]) -> str:
    """A row as a struct of the declared types."""
    fields = (f"{_literal(c.name)}, CAST({_quoted(c.name)} AS {c.type})" for c in columns)
    return f"named_struct({', '.join(fields)})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql(DIALECT)
