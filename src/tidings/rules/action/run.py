"""Actions: what a rule does with all its instances at once.

An action that changes rows does so through the transaction it runs in: the one that triggered it, or one of its own.
The instances are a relation named ``condition`` to its SQL, and a list of dictionaries to its procedures.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, assert_never

import pyarrow as pa
from sqlglot import exp

from tidings.clock import instant
from tidings.engine.changes import as_changes
from tidings.errors import RuleRaised, TidingsError, UnknownColumn, UnknownProcedure, closest
from tidings.ir.relation import Column
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.rule import Call, Modify, Raise, Send
from tidings.read.bound_plans import BoundPlans
from tidings.rules.condition.evaluate import ExtendedNamespace
from tidings.rules.rule import Rule
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.write import statements
from tidings.write.transaction import Transaction
from tidings.write.workspace import Workspace

CONDITION = "condition"
"""The name of the instances, to the SQL of an action."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A function of the user's: of all rows, or of one at a time; and of the transaction, if it wants that."""

    function: Callable[..., object]
    each: bool
    takes_transaction: bool

    @staticmethod
    def of(function: Callable[..., object], *, each: bool) -> Procedure:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        wanted = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
        return Procedure(function, each, len(wanted) > 1)

    def __call__(self, rows: Rows, tx: Transaction) -> None:
        more = (tx,) if self.takes_transaction else ()
        for given in rows if self.each else [rows]:
            self.function(given, *more)


@dataclass(slots=True)
class Actions:
    """Runs actions."""

    analyzer: Analyzer
    procedures: dict[str, Procedure] = field(default_factory=dict)

    def procedure(self, name: str) -> Procedure:
        """The procedure of a name."""
        found = self.procedures.get(name.lower())
        if found is None:
            raise UnknownProcedure(None, closest(name, self.procedures), name=name)
        return found

    def missing(self, rule: Rule) -> UnknownProcedure | None:
        """What is wrong if the procedure of a rule is not registered."""
        action = rule.statement.action
        if not isinstance(action, Call) or action.procedure.lower() in self.procedures:
            return None
        return UnknownProcedure(None, closest(action.procedure, self.procedures), name=action.procedure)

    def run(self, rule: Rule, rows: pa.Table, workspace: Workspace) -> None:
        """Do what a rule is to do with its instances, in a transaction."""
        action = rule.statement.action
        match action:
            case Call():
                procedure = self.procedure(action.procedure)
                procedure(self._arguments(rule, action, rows, workspace), Transaction(workspace.for_action()))
            case Modify():
                statements.run(self._with_instances(rule, rows, workspace), action.change)
            case Raise():
                raise refusal(rule.name, action, rows)
            case Send():
                raise AssertionError("what is sent goes through the outbox")
            case _:
                assert_never(action)

    def _arguments(self, rule: Rule, action: Call, rows: pa.Table, workspace: Workspace) -> Rows:
        """What a procedure is given: the columns it asks for, or all."""
        if not action.arguments:
            return list(rows.to_pylist())
        names = {c.name.lower(): c.name for c in rule.columns}
        plain = [names.get(a.name.lower()) for a in action.arguments if isinstance(a, exp.Column) and not a.table]
        if len(plain) == len(action.arguments) and None not in plain:
            return list(rows.select(list(dict.fromkeys(plain))).to_pylist())
        own = self._with_instances(rule, rows, workspace)
        query = exp.select(*(a.copy() for a in action.arguments)).from_(CONDITION)
        plan = own.parts.plans.bind(query, rule.statement.text)
        return list(own.answer(plan, own.now()).to_pylist())

    def check(self, rule: Rule, relations: Relations) -> None:
        """Refuse an action whose names mean nothing, as far as can be told before it runs."""
        action, known = rule.statement.action, ExtendedNamespace(relations, {CONDITION: rule.columns})
        match action:
            case Call():
                names = [c.name for c in rule.columns]
                for argument in action.arguments:
                    for column in argument.find_all(exp.Column):
                        if column.name.lower() not in {n.lower() for n in names}:
                            at = place(rule.statement.text, column)
                            raise UnknownColumn(at, closest(column.name, names), name=column.name)
            case Modify():
                change = action.change
                if known.columns(change.table) is None:
                    relations.table(change.table)
            case Raise() | Send():
                pass
            case _:
                assert_never(action)

    def _with_instances(self, rule: Rule, rows: pa.Table, workspace: Workspace) -> Workspace:
        """The transaction as an action sees it, with the instances as one more relation."""
        relations = with_condition(workspace.parts.relations, rule.columns)
        plans = BoundPlans(relations, self.analyzer, workspace.parts.mutex)
        entry = as_changes(rule.columns, rows, [1] * rows.num_rows)
        return workspace.for_action(replace(workspace.parts, relations=relations, plans=plans), {CONDITION: entry})


def refusal(rule: str, action: Raise, rows: pa.Table) -> RuleRaised:
    """What a rule says that refuses a transaction."""
    listed = rows.to_pylist()
    parameters = {"message": action.message, "rule": rule, "count": len(listed), "rows": listed}
    return RuleRaised(**parameters)


def with_condition(relations: Relations, columns: tuple[Column, ...]) -> Relations:
    """A catalog in which the instances are a table; a table of that name is hidden by it."""
    found = relations.copy()
    hidden = found.find(CONDITION)
    if hidden is not None:
        found.remove(hidden)
    found.add(Table(CONDITION, columns))
    return found


def does(rule: Rule) -> str:
    """An action in two words."""
    match rule.statement.action:
        case Call(procedure=name):
            return f"call {name}"
        case Modify(change=change):
            return f"{type(change).__name__.lower()} {change.table}"
        case Send(channel=channel, target=target):
            return f"{channel} {target}"
        case Raise(message=message):
            return f"raise {message}"


def what_is_wrong(error: Exception) -> str:
    """An error, in a line."""
    if isinstance(error, TidingsError):
        return f"{error.condition}: {error.message}"
    return f"{type(error).__name__}: {error}"


def payload(rule: Rule, firing: int, time: int, rows: pa.Table, gone: bool = False) -> str:
    """What is sent of a firing: JSON with a type, an instant and the rows."""
    when = "gone" if gone else rule.when
    data = {"rule": rule.name, "when": when, "firing": firing, "rows": rows.to_pylist()}
    whole = {"type": f"rule.{rule.name}", "timestamp": instant(time).isoformat(), "data": data}
    return as_json(whole)


def as_json(value: object) -> str:
    """A value as JSON; what JSON has no word for is text.

    >>> as_json([1.5, float("nan"), float("-inf"), b"\\x01"])
    '[1.5, "NaN", "-Infinity", "01"]'
    """
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: object) -> object:
    match value:
        case float() if value != value:
            return "NaN"
        case float() if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(k): _plain(v) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
        case bytes():
            return value.hex()
        case datetime() | date():
            return value.isoformat()
        case _:
            return str(value)
