"""Binds the condition of a rule: a query that may read ``CHANGES(…)`` and the parameters of the rule.

- ``CHANGES(t)`` is replaced by a relation with a row per change (:mod:`tidings.lang.sql.changes`).
- Parameters are the columns of a table with a row per activation.  It is joined into every SELECT, so that one query
  answers for all activations, and each row of the result says which activation it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from tidings.errors import InvalidRule, Place, UnknownColumn, closest
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.bind import bind
from tidings.lang.sql.changes import ChangesOf, ChangesTaker, FindSource
from tidings.lang.sql.context import Analyzer, ExtendedNamespace, Namespace
from tidings.lang.sql.parse import place
from tidings.lang.sql.rules.event_rows import EventRows, take_event_rows
from tidings.lang.sql.statements.rule import CreateRule

CHANGE = "change"
"""The column of ``WHEN CHANGED`` that says what happened to a row: ``came``, ``went`` or, by key, ``changed``."""


@dataclass(frozen=True, slots=True)
class BoundCondition:
    """The condition of a rule with its names resolved."""

    plan: Relation
    changes: tuple[ChangesOf, ...]
    """What the condition reads the changes of."""
    activations: str | None
    """The table of the rule's activations, if it has parameters."""
    event_rows: tuple[EventRows, ...] = ()
    """The rows of parts of the rule's event that the condition reads."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the condition's rows."""
        return tuple(Column(f.name, f.type) for f in self.plan.fields)


def activations_of(rule: str) -> str:
    """The name of the table with a row per activation of a rule."""
    return f"activations_of_{rule}"


def bind_condition(
    statement: CreateRule, namespace: Namespace, find_source: FindSource, analyzer: Analyzer
) -> BoundCondition:
    """Bind the condition of a rule, or say what is wrong with it and where."""
    return _ConditionBinder(statement, namespace, find_source, analyzer).bind()


def is_plain(tree: exp.Select) -> bool:
    """Whether every row of a SELECT is made of one row of each of its sources."""
    groups = any(tree.args.get(part) for part in ("group", "having", "distinct", "limit", "qualify"))
    computed = (exp.AggFunc, exp.Window, exp.UDTF)
    return not groups and not any(isinstance(n, computed) for item in tree.expressions for n in item.walk())


@dataclass(frozen=True, slots=True)
class _ConditionBinder:
    """Binds the condition of one rule."""

    statement: CreateRule
    namespace: Namespace
    find_source: FindSource
    analyzer: Analyzer

    def bind(self) -> BoundCondition:
        statement = self.statement
        tree, more = statement.query.copy(), dict[str, tuple[Column, ...]]()
        event_rows = take_event_rows(tree, statement.event, self.find_source)
        more |= {rows.relation: rows.columns for rows in event_rows}
        taker = ChangesTaker(
            statement.text, statement.name, self.namespace, self.find_source, self.analyzer, self._refusal
        )
        changes = taker.take(tree)
        more |= {of.relation: of.side_by_side for of in changes}
        if statement.parameters:
            more[activations_of(statement.name)] = statement.parameters
            self._join_activations(tree)
        plan = bind(tree, statement.text, ExtendedNamespace(self.namespace, more), self.analyzer, statement.name)
        self._check_columns([f.name for f in plan.fields])
        activations = activations_of(statement.name) if statement.parameters else None
        return BoundCondition(plan, changes, activations, event_rows)

    def _check_columns(self, names: list[str]) -> None:
        """Check that the columns of the option ``key`` are there, and that the column ``change`` is free."""
        statement, lower_names = self.statement, {n.lower() for n in names}
        for key in statement.options.key:
            if key.lower() not in lower_names:
                raise UnknownColumn(statement.place, closest(key, names), name=key)
        if CHANGE in lower_names and statement.when == "changed":
            reason = f"the rows of WHEN CHANGED have a column {CHANGE} already"
            raise InvalidRule(statement.place, name=statement.name, reason=reason)

    # parameters

    def _join_activations(self, tree: Expression) -> None:
        """Join the table of activations into every SELECT, and add the parameters to the columns of its result."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if isinstance(tree, exp.Union) and not tree.args.get("distinct"):
            for side in (tree.this, tree.expression):
                self._join_activations(side)
            return
        if not isinstance(tree, exp.Select) or not is_plain(tree):
            reason = "a condition with parameters is a SELECT without groups, windows, DISTINCT or LIMIT"
            self._refuse(place(self.statement.text, tree), reason, "put the rest of it in a view")
        table = exp.Table(this=exp.to_identifier(activations_of(self.statement.name), quoted=True))
        table.set("alias", exp.TableAlias(this=exp.to_identifier("activation")))
        if tree.args.get("from_") is None:
            tree.set("from_", exp.From(this=table))
        else:
            tree.append("joins", exp.Join(this=table, kind="CROSS"))
        if any(item.is_star for item in tree.expressions):
            return
        names = {item.alias_or_name.lower() for item in tree.expressions}
        for parameter in self.statement.parameters:
            if parameter.name.lower() not in names:
                column = exp.column(exp.to_identifier(parameter.name, quoted=True), table="activation")
                tree.append("expressions", column.as_(parameter.name, quoted=True))

    def _refuse(self, at: Place | None, reason: str, hint: str | None = None) -> NoReturn:
        raise self._refusal(at, reason, hint)

    def _refusal(self, at: Place | None, reason: str, hint: str | None) -> InvalidRule:
        return InvalidRule(at, hint, name=self.statement.name, reason=reason)
