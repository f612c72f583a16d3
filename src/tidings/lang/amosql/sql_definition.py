"""The tables, views and rules that stand for types, functions and rules, as statements of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Literal

from sqlglot import exp

from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.amosql.objectlog import HornClause, atoms
from tidings.lang.amosql.schema import OBJECT, OID, SQL_TYPES, Function, Parameter, RuleDefinition, Schema
from tidings.lang.amosql.sql_query import query

TYPE = "type"
"""The column of the relation of all objects that has the most specific type of each."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A table, view or rule that a schema asks for."""

    kind: Literal["table", "view", "rule"]
    name: str
    text: str
    """What creates it; a rule in the state in which it is made."""
    stands_for: str
    """The definition it belongs to, by which a table that goes is told from one that gets another name."""


def defined(schema: Schema) -> list[Defined]:
    """All that a schema asks for, each after what it reads."""
    result = [_type_table(type) for type in schema.parents]
    stored = [f for fs in schema.functions.values() for f in fs if f.is_stored]
    result += [_function_table(function) for function in stored]
    views = {function.relation.name: _view(function) for function in schema.views()}
    reads = {f.relation.name: {a.relation.name for a in atoms(f.clause.body)} for f in schema.views() if f.clause}
    for name, resolvents in schema.functions.items():
        if len(resolvents) > 1:
            views[name] = _generic_view(schema, name, resolvents)
            reads[name] = {f.relation.name for f in resolvents}
    for rule in schema.rules.values():
        if not rule.unbound:
            views[rule.condition_name] = _condition_view(rule)
            reads[rule.condition_name] = {a.relation.name for a in atoms(rule.condition.body)}
    result += _ordered(views, reads)
    return [*result, *(_rule(schema, rule) for rule in schema.rules.values())]


def _ordered(views: dict[str, Defined], reads: dict[str, set[str]]) -> list[Defined]:
    ordered: dict[str, Defined] = {}

    def place(name: str) -> None:
        if name in views and name not in ordered:
            for below in sorted(reads[name]):
                place(below)
            ordered[name] = views[name]

    for name in views:
        place(name)
    return list(ordered.values())


def _type_table(type: str) -> Defined:
    columns = (Parameter(OID, "integer"), *([Parameter(TYPE, "charstring")] if type == OBJECT else []))
    return Defined("table", type, _create_table(type, columns, (OID,)), f"type {type}")


def _function_table(function: Function) -> Defined:
    assert function.result is not None
    columns = (*function.parameters, function.result)
    key = columns if function.many or not function.parameters else function.parameters
    names = tuple(p.name for p in key) if all(p.type != "real" for p in key) else ()
    text = _create_table(function.relation.name, columns, names)
    return Defined("table", function.relation.name, text, f"function {function.name}({function.dispatches_on})")


@lru_cache(maxsize=1024)
def _create_table(name: str, columns: tuple[Parameter, ...], key: tuple[str, ...]) -> str:
    """The statement that makes a table; objects are numbers, and nothing is NULL."""
    parts: list[Expression] = [
        exp.ColumnDef(
            this=_name(column.name),
            kind=exp.DataType.build(SQL_TYPES.get(column.type, "BIGINT"), dialect=DIALECT),
            constraints=[exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())],
        )
        for column in columns
    ]
    if key:
        parts.append(exp.PrimaryKey(expressions=[_name(column) for column in key]))
    return exp.Create(this=exp.Schema(this=exp.table_(_name(name)), expressions=parts), kind="TABLE", exists=True).sql(
        DIALECT
    )


def _create_view(name: str, body: Expression) -> str:
    return exp.Create(this=exp.table_(_name(name)), kind="VIEW", expression=body, replace=True).sql(DIALECT)


@lru_cache(maxsize=1024)
def _clause_view(name: str, clause: HornClause, columns: tuple[Parameter, ...]) -> str:
    """The statement that makes a view of a clause."""
    return _create_view(name, query(clause, [(p.name, p.type) for p in columns]))


def _view(function: Function) -> Defined:
    assert function.clause is not None
    assert function.result is not None
    name, columns = function.relation.name, (*function.parameters, function.result)
    stands_for = f"function {function.name}({function.dispatches_on})"
    return Defined("view", name, _clause_view(name, function.clause, columns), stands_for)


def _generic_view(schema: Schema, name: str, resolvents: list[Function]) -> Defined:
    """Each resolvent's rows, but for the objects that have a more specific one."""
    branches: list[exp.Query] = []
    for function in resolvents:
        own = function.relation.columns
        read = exp.Table(this=_name(function.relation.name), alias=exp.TableAlias(this=_name("resolvent_")))
        values = [
            exp.alias_(exp.column(_name(column), table=_name("resolvent_")), shown, quoted=True)
            for column, shown in zip(own, schema.generic(name).columns, strict=True)
        ]
        branch = exp.select(*values).from_(read)
        for type in schema.overriding(function):
            objects = exp.Table(this=_name(type), alias=exp.TableAlias(this=_name("specific_")))
            same = exp.EQ(
                this=exp.column(_name(OID), table=_name("specific_")),
                expression=exp.column(_name(own[0]), table=_name("resolvent_")),
            )
            specific = exp.Exists(this=exp.select(exp.Literal.number(1)).from_(objects).where(same))
            branch = branch.where(exp.not_(specific))
        branches.append(branch)
    union = reduce(lambda left, right: exp.Union(this=left, expression=right, distinct=False), branches)
    return Defined("view", name, _create_view(name, union), f"function {name}")


def _condition_view(rule: RuleDefinition) -> Defined:
    text = _clause_view(rule.condition_name, rule.condition, (*rule.parameters, *rule.variables))
    return Defined("view", rule.condition_name, text, f"condition of {rule.name}")


def parameter_name(name: str) -> str:
    """What a rule's parameter is called in SQL, where columns have its own name."""
    return f"for_{name}"


def _rule(schema: Schema, rule: RuleDefinition) -> Defined:
    body = _condition_in_rule(rule) if rule.unbound else _read_condition(rule)
    return Defined("rule", rule.name, _create_rule(schema, rule, body), f"rule {rule.name}")


def _condition_in_rule(rule: RuleDefinition) -> exp.Select:
    """The condition itself, where only an activation says what some of its parameters are."""
    columns = [(p.name, p.type) for p in (*rule.parameters, *rule.variables)]
    select = query(rule.condition, columns, {p.name: parameter_name(p.name) for p in rule.unbound})
    values = {value.alias: value.this for value in select.expressions}
    for parameter in (p for p in rule.parameters if p not in rule.unbound):
        given = exp.column(_name(parameter_name(parameter.name)))
        select = select.where(exp.EQ(this=values[parameter.name].copy(), expression=given))
    return select


def _read_condition(rule: RuleDefinition) -> exp.Select:
    """The rows of the condition function for which the rule is activated."""
    condition = rule.condition_name

    def column(name: str) -> exp.Column:
        return exp.column(_name(name), table=_name(condition))

    names = [p.name for p in (*rule.parameters, *rule.variables)] or ["holds"]
    table = exp.Table(this=_name(condition), alias=exp.TableAlias(this=_name(condition)))
    select = exp.select(*map(column, names)).from_(table)
    for parameter in rule.parameters:
        given = exp.column(_name(parameter_name(parameter.name)))
        select = select.where(exp.EQ(this=column(parameter.name), expression=given))
    return select


def _create_rule(schema: Schema, rule: RuleDefinition, condition: Expression) -> str:
    """The statement that makes a rule; without parameters it is switched off until it is activated."""
    parameters = ", ".join(
        f"{_name(parameter_name(p.name)).sql(DIALECT)} {schema.sql_type(p.type)}" for p in rule.parameters
    )
    semantics = "nervous" if rule.definition.nervous else "strict"
    options = f"semantics = '{semantics}', action = 'deferred', priority = {rule.definition.priority}"
    enabled = "" if rule.parameters else ", enabled = false"
    return (
        f"CREATE OR REPLACE RULE {_name(rule.name).sql(DIALECT)} {f'({parameters}) ' if parameters else ''}"
        f"WHEN {condition.sql(DIALECT)} DO CALL {_name(rule.action_name).sql(DIALECT)}() WITH ({options}{enabled})"
    )


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
