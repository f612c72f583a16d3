"""Values of expressions over a few rows: in this process where both engines agree, else by the database's engine.

Conditions of tables (CHECK) look at one row each, so they are computed over the rows of a transaction and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tidings.engine.agreed.row import ROWS, Agreed, agreed
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.changes import no_changes, versioned
from tidings.engine.duckdb import DuckDB
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.engine.sql.row_queries import values_query
from tidings.errors import EngineFailed, InvalidExpression
from tidings.ir.expression import Expression, cast, column
from tidings.ir.relation import Column, Item, Project, Scan
from tidings.lang.sql.bind import bind
from tidings.lang.sql.constraint_queries import condition_query, value_query
from tidings.lang.sql.instant import at_instant, reads_clock
from tidings.lang.sql.parse import parsed, place
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.table import Table

NUMBER = "__n"
"""The column that numbers the rows of a check."""


@dataclass(frozen=True, slots=True)
class _OneRelation:
    """What the binder asks of relations, where there is one or none."""

    name: str
    own_columns: tuple[Column, ...]

    def names(self) -> list[str]:
        return [self.name] if self.own_columns else []

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        return (self.name, self.own_columns) if self.own_columns and relation.lower() == self.name.lower() else None


@dataclass(slots=True)
class Evaluator:
    """Evaluates expressions for the tables of one database."""

    runner: Runner
    _process: DuckDB | None = field(init=False, default=None)
    _constants: dict[tuple[str, str], Any] = field(init=False)
    """The values of defaults, by text and type."""
    _bound: dict[tuple[str, tuple[Column, ...], str], Project] = field(init=False)
    """The plans of conditions, by table, columns and text."""

    def __post_init__(self) -> None:
        self._constants, self._bound = self.runner.compiled.section(), self.runner.compiled.section()

    @property
    def process(self) -> DuckDB:
        """The DuckDB in this process; the database's engine itself, if that is one."""
        if self._process is None:
            backend = self.runner.backend
            self._process = backend if isinstance(backend, DuckDB) else DuckDB()
        return self._process

    # conditions

    def check(self, table: str, columns: tuple[Column, ...], condition: Expression, text: str) -> None:
        """Refuse a CHECK that is not a condition, or reads more than its row."""
        plan = self._bind(table, columns, condition, text)
        (item,) = plan.items
        if item.type != "boolean":
            reason = f"a CHECK is true or false, and this is {item.type}"
            raise InvalidExpression(place(text, condition), reason=reason)

    def holds(self, table: str, columns: tuple[Column, ...], condition: str, rows: pa.Table) -> list[bool | None]:
        """Whether a condition holds for each row; None where it is NULL."""
        expression = agreed(parsed(condition), columns, frozenset({table.lower()}))
        if expression is not None:
            values = self.values([(expression, "boolean")], rows)
            if values is not None:
                return list(values.column(0).to_pylist())
        return self._by_engine(table, columns, condition, rows)

    def _by_engine(self, table: str, columns: tuple[Column, ...], condition: str, rows: pa.Table) -> list[bool | None]:
        key = table, columns, condition
        if key not in self._bound:
            self._bound[key] = self._bind(table, columns, parsed(condition), condition)
        plan = self._bound[key]
        numbered = (*columns, Column(NUMBER, "bigint"))
        scan = plan.input
        assert isinstance(scan, Scan)
        number = Item(NUMBER, "bigint", column(scan.alias, NUMBER))
        wide = Project(replace(scan, columns=numbered), plan.alias, (*plan.items, number))
        changes = rows.append_column(NUMBER, pa.array(range(rows.num_rows), pa.int64()))
        source = Source(numbered, None, versioned(changes))
        answer = self.runner.query(wide, lambda _relation, _version: source).sort_by(NUMBER)
        return list(answer.column(0).to_pylist())

    def _bind(self, table: str, columns: tuple[Column, ...], condition: Expression, text: str) -> Project:
        plan = bind(condition_query(table, condition), text, _OneRelation(table, columns), self.runner.backend)
        if not isinstance(plan, Project) or not isinstance(plan.input, Scan):
            raise InvalidExpression(place(text, condition), reason="a CHECK looks at one row and nothing else")
        return plan

    def in_base(self, table: Table, query: Expression) -> pa.Table:
        """A few rows of a query over the base of a table."""
        plan = normalise(bind(query, "", _OneRelation(table.name, table.columns), self.runner.backend), {})
        source = Source(table.columns, table.base, no_changes(table.columns))
        return self.runner.query(plan, lambda _relation, _version: source).slice(0, 10)

    # values

    def defaults(self, table: Table, now: int) -> dict[str, Any]:
        """The values of the columns with a DEFAULT, at an instant, for rows that do not have them."""
        types = {c.name: c.type for c in table.columns}
        return {name: self.default(text, types[name], now) for name, text in table.constraints.defaults}

    def default(self, text: str, type: str, now: int) -> Any:
        """The value of a DEFAULT at an instant."""
        value = parsed(text)
        if reads_clock(value):
            return self.constant(at_instant(value, now), type, text)
        if (text, type) not in self._constants:
            self._constants[text, type] = self.constant(value, type, text)
        return self._constants[text, type]

    def constant(self, value: Expression, type: str, text: str) -> Any:
        """The value of an expression without columns, as a Python value of a type."""
        expression = agreed(value, ())
        if expression is not None and expression.fits(type):
            values = self.values([(expression, type)], _ONE_ROW)
            if values is not None:
                return values.column(0)[0].as_py()
        plan = bind(value_query(value), text, _OneRelation("", ()), self.runner.backend)
        item = Item("value", type, cast(plan.fields[0].expression, type))
        return self.runner.query(Project(plan, "constant", (item,)), _nothing).column(0)[0].as_py()

    def values(self, expressions: Sequence[tuple[Agreed, str]], rows: pa.Table) -> pa.Table | None:
        """Agreed expressions over rows, each as a type and in the order of the rows; None where the engine must judge.

        That is so where the evaluation fails: the engine then has a value, or says why.
        """
        columns = tuple(Column(f"c{n}", type) for n, (_, type) in enumerate(expressions))
        query = values_query(_RELATION, ROWS, [(a.expression, type) for a, type in expressions])
        try:
            answer = self.process.over(_RELATION, rows, query)
        except EngineFailed:
            return None
        return conform(answer, arrow_schema(columns))


_RELATION = "tidings values"
_ONE_ROW = pa.table({"one": pa.array([1], pa.int32())})


def _nothing(_relation: str, _version: object) -> Source:
    raise AssertionError("a constant reads no relation")
