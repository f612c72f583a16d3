"""Functions that users have registered: declared in the journal, with the text they had; their code is this process's.

When a database is opened, its functions are declared to the engine before views are bound.  So what calls them is
bound, and fails by name where it would call one whose code nobody has registered since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tidings.engine.backend import Backend
from tidings.engine.scalar_function import ScalarFunction
from tidings.ir.operator_calls import foreign_name
from tidings.ir.relation import Column
from tidings.lang.sql.table_operator import TableOperator
from tidings.store.records import Definition

KIND, _PREFIX = "function", "function:"


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """A function as the journal has it; ``text`` is its code as it was written, without decorators."""

    name: str
    takes: tuple[str, ...]
    returns: str
    text: str
    operator: TableOperator | None = None
    """The operator of FROM whose rows it computes, if it is there for one."""

    @property
    def shown_name(self) -> str:
        """The name that users know it by."""
        return foreign_name(self.name) or self.name if self.operator is None else self.operator.name

    @property
    def called_name(self) -> str:
        """The name by which queries call it."""
        return self.name if self.operator is None else self.operator.name

    @property
    def kind(self) -> str:
        """What users call it: a function, a foreign one of AMOSQL, or an operator."""
        if self.operator is not None:
            return "operator"
        return "function" if foreign_name(self.name) is None else "foreign"

    @property
    def declaration(self) -> tuple[object, ...]:
        """What is bound to it depends on: all but its text."""
        return self.takes, self.returns, self.operator

    def definition(self, id: int) -> Definition:
        """The record as one of the journal's definitions."""
        facts: dict[str, Any] = {"takes": list(self.takes), "returns": self.returns, "text": self.text}
        if self.operator is not None:
            facts["operator"] = _operator_facts(self.operator)
        return Definition(id, _PREFIX + self.name, KIND, facts, 0)

    @staticmethod
    def of(definition: Definition) -> FunctionRecord:
        facts = definition.definition
        name = definition.name.removeprefix(_PREFIX)
        operator = _operator(facts["operator"]) if "operator" in facts else None
        return FunctionRecord(name, tuple(facts["takes"]), facts["returns"], facts["text"], operator)

    def functions(
        self, code: Callable[..., Any] | None, form: Callable[..., Any] | None = None, *, each: bool = False
    ) -> Iterator[ScalarFunction]:
        """What engines know it by: the function itself, and the incremental form of an operator that has one."""
        called = self.name if self.operator is None else self.operator.function_name
        yield ScalarFunction(called, self.takes, self.returns, code, each, self.operator)
        if self.operator is not None and self.operator.form is not None:
            name, takes, returns = self.operator.form
            yield ScalarFunction(name, takes, returns, form, True, self.operator)


@dataclass(slots=True)
class DeclaredFunctions:
    """The functions of one database."""

    backend: Backend
    records: dict[str, FunctionRecord] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    """Under which number the journal has each."""
    registered: set[str] = field(default_factory=set)
    """Those whose code is known."""

    def declare(self, definition: Definition) -> None:
        """Let a function of the journal be bound, until its code is registered."""
        record = FunctionRecord.of(definition)
        self.ids[record.name] = definition.id
        if self.records.get(record.name) != record and record.name not in self.registered:
            for function in record.functions(None):
                self.backend.register(function)
        self.records[record.name] = record

    def forget(self, name: str) -> None:
        """Take a function for one whose code is not known."""
        self.registered.discard(name)

    def register(
        self, record: FunctionRecord, code: Callable[..., Any], form: Callable[..., Any] | None = None, *, each: bool
    ) -> None:
        """Let queries call a function, and find its changes by its incremental form if it has one."""
        for function in record.functions(code, form, each=each):
            self.backend.register(function)
        self.records[record.name] = record
        self.registered.add(record.name)


def _operator_facts(operator: TableOperator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "inputs": [[[c.name, c.type] for c in columns] for columns in operator.inputs],
        "output": [[c.name, c.type] for c in operator.output],
        "key": list(operator.key),
        "linear": operator.linear,
        "incremental": operator.incremental,
    }


def _operator(facts: dict[str, Any]) -> TableOperator:
    inputs = tuple(tuple(Column(*column) for column in columns) for columns in facts["inputs"])
    output = tuple(Column(*column) for column in facts["output"])
    forms = facts["linear"], facts.get("incremental", False)
    return TableOperator(facts["name"], inputs, output, tuple(facts["key"]), *forms)
