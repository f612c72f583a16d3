"""The tables, views and rules that stand for types, functions and rules, as statements of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.amosql.objectlog import atoms
from tidings.lang.amosql.schema import OBJECT, OID, Function, RuleDefinition, Schema
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
    result += [_function_table(schema, function) for function in stored]
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
    columns = [_column(OID, "BIGINT", key=True)]
    if type == OBJECT:
        columns.append(_column(TYPE, "STRING"))
    return Defined("table", type, _create_table(type, columns), f"type {type}")


def _function_table(schema: Schema, function: Function) -> Defined:
    assert function.result is not None
    parameters = [*function.parameters, function.result]
    columns = [_column(p.name, schema.sql_type(p.type)) for p in parameters]
    key = [p for p in (parameters if function.many or not function.parameters else function.parameters)]
    if all(p.type != "real" for p in key):
        names = [exp.to_identifier(p.name, quoted=True) for p in key]
        columns.append(exp.PrimaryKey(expressions=names))
    name = function.relation.name
    stands_for = f"function {function.name}({function.dispatches_on})"
    return Defined("table", name, _create_table(name, columns), stands_for)


def _column(name: str, type: str, *, key: bool = False) -> Expression:
    constraint = exp.PrimaryKeyColumnConstraint() if key else exp.NotNullColumnConstraint()
    kind = exp.DataType.build(type, dialect=DIALECT)
    constraints = [exp.ColumnConstraint(kind=constraint)]
    return exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind, constraints=constraints)


def _create_table(name: str, columns: list[Expression]) -> str:
    schema = exp.Schema(this=exp.table_(exp.to_identifier(name, quoted=True)), expressions=columns)
    return exp.Create(this=schema, kind="TABLE", exists=True).sql(DIALECT)


def _create_view(name: str, body: Expression) -> str:
    table = exp.table_(exp.to_identifier(name, quoted=True))
    return exp.Create(this=table, kind="VIEW", expression=body, replace=True).sql(DIALECT)


def _view(function: Function) -> Defined:
    assert function.clause is not None and function.result is not None
    columns = [(p.name, p.type) for p in (*function.parameters, function.result)]
    name = function.relation.name
    stands_for = f"function {function.name}({function.dispatches_on})"
    return Defined("view", name, _create_view(name, query(function.clause, columns)), stands_for)


def _generic_view(schema: Schema, name: str, resolvents: list[Function]) -> Defined:
    """Each resolvent's rows, but for the objects that have a more specific one."""
    branches: list[Expression] = []
    columns = schema.generic(name).columns
    for function in resolvents:
        source = exp.to_identifier("resolvent_")
        read = exp.Table(
            this=exp.to_identifier(function.relation.name, quoted=True), alias=exp.TableAlias(this=source)
        )
        values = [
            exp.alias_(exp.column(own, table="resolvent_", quoted=True), shown, quoted=True)
            for own, shown in zip(function.relation.columns, columns, strict=True)
        ]
        branch = exp.select(*values).from_(read)
        for type in schema.overriding(function):
            objects = exp.Table(this=exp.to_identifier(type, quoted=True), alias=exp.TableAlias(this="specific_"))
            same = exp.EQ(
                this=exp.column(OID, table="specific_", quoted=True),
                expression=exp.column(function.relation.columns[0], table="resolvent_", quoted=True),
            )
            branch = branch.where(exp.not_(exp.Exists(this=exp.select(exp.Literal.number(1)).from_(objects).where(same))))
        branches.append(branch)
    union = branches[0]
    for branch in branches[1:]:
        union = exp.Union(this=union, expression=branch, distinct=False)
    return Defined("view", name, _create_view(name, union), f"function {name}")


def _condition_view(rule: RuleDefinition) -> Defined:
    columns = [(p.name, p.type) for p in (*rule.parameters, *rule.variables)]
    text = _create_view(rule.condition_name, query(rule.condition, columns))
    return Defined("view", rule.condition_name, text, f"condition of {rule.name}")


def parameter_name(name: str) -> str:
    """What a rule's parameter is called in SQL, where columns have its own name."""
    return f"for_{name}"


def _rule(schema: Schema, rule: RuleDefinition) -> Defined:
    columns = [(p.name, p.type) for p in (*rule.parameters, *rule.variables)]
    if rule.unbound:
        select = query(rule.condition, columns, {p.name: parameter_name(p.name) for p in rule.unbound})
        values = {value.alias: value.this for value in select.expressions}
        body = select.copy()
        for parameter in (p for p in rule.parameters if p not in rule.unbound):
            given = exp.column(parameter_name(parameter.name), quoted=True)
            body = body.where(exp.EQ(this=values[parameter.name].copy(), expression=given))
    else:
        source_name = exp.to_identifier(rule.condition_name, quoted=True)
        table = exp.Table(this=source_name, alias=exp.TableAlias(this=exp.to_identifier(rule.condition_name, quoted=True)))
        values = [exp.column(name, table=exp.to_identifier(rule.condition_name, quoted=True), quoted=True) for name, _ in columns]
        body = exp.select(*(values or [exp.column("holds", table=exp.to_identifier(rule.condition_name, quoted=True), quoted=True)])).from_(table)
        for parameter in rule.parameters:
            column = exp.column(parameter.name, table=exp.to_identifier(rule.condition_name, quoted=True), quoted=True)
            given_value = exp.column(parameter_name(parameter.name), quoted=True)
            body = body.where(exp.EQ(this=column, expression=given_value))
    return Defined("rule", rule.name, _create_rule(schema, rule, body), f"rule {rule.name}")


def _create_rule(schema: Schema, rule: RuleDefinition, condition: Expression) -> str:
    """The statement that makes a rule, switched off."""
    name = exp.to_identifier(rule.name, quoted=True).sql(DIALECT)
    parameters = ", ".join(
        f"{exp.to_identifier(parameter_name(p.name), quoted=True).sql(DIALECT)} {schema.sql_type(p.type)}"
        for p in rule.parameters
    )
    action = exp.to_identifier(rule.action_name, quoted=True).sql(DIALECT)
    semantics = "nervous" if rule.definition.nervous else "strict"
    options = f"semantics = '{semantics}', action = 'deferred', priority = {rule.definition.priority}"
    enabled = "" if rule.parameters else ", enabled = false"
    return (
        f"CREATE OR REPLACE RULE {name} {f'({parameters}) ' if parameters else ''}"
        f"WHEN {condition.sql(DIALECT)} DO CALL {action}() WITH ({options}{enabled})"
    )

