"""Statements of SQL by which the values of functions and the objects of types change.

Values stand in them as constants, by which rows are found by their keys without asking the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.amosql.objectlog import ConstantTerm, RelationOf
from tidings.lang.amosql.schema import OBJECT, OID
from tidings.lang.amosql.sql_definition import TYPE
from tidings.lang.amosql.sql_query import constant
from tidings.lang.amosql.syntax import Value

Values = tuple[Value, ...]


def merge_text(relation: RelationOf, rows: Sequence[Values], key: int) -> str:
    """Put rows into a relation; where the first ``key`` columns are those of a row that is there, it is replaced."""
    columns = [exp.to_identifier(name, quoted=True) for name in relation.columns]
    source = exp.Values(
        expressions=[exp.Tuple(expressions=[constant(v) for v in row]) for row in rows],
        alias=exp.TableAlias(this=exp.to_identifier("new"), columns=[c.copy() for c in columns]),
    )
    on = [exp.EQ(this=_of("old", name), expression=_of("new", name)) for name in relation.columns[:key]]
    whens: list[Expression] = []
    if key < len(columns):
        settings = [
            exp.EQ(this=exp.column(name, quoted=True), expression=_of("new", name)) for name in relation.columns[key:]
        ]
        whens.append(exp.When(matched=True, then=exp.Update(expressions=settings)))
    values = [_of("new", name) for name in relation.columns]
    insert = exp.Insert(this=exp.Tuple(expressions=columns), expression=exp.Tuple(expressions=values))
    whens.append(exp.When(matched=False, then=insert))
    merge = exp.Merge(
        this=exp.Table(this=_name(relation.name), alias=exp.TableAlias(this=exp.to_identifier("old"))),
        using=source,
        on=exp.and_(*on),
        whens=exp.Whens(expressions=whens),
    )
    return merge.sql(DIALECT)


def delete_text(relation: RelationOf, rows: Sequence[Values]) -> str:
    """Remove the rows of a relation whose first columns have given values; all of them if no column is given."""
    matches = [
        exp.and_(
            *(
                exp.EQ(this=exp.column(name, quoted=True), expression=constant(value))
                for name, value in zip(relation.columns, row, strict=False)
            )
        )
        for row in rows
        if row
    ]
    delete = exp.delete(exp.Table(this=_name(relation.name)))
    return (delete.where(exp.or_(*matches)) if matches else delete).sql(DIALECT)


def delete_where_text(relation: str, column: str, objects: Sequence[int]) -> str:
    """Remove the rows of a relation that have one of some objects in a column."""
    listed = exp.column(column, quoted=True).isin(*map(constant, objects))
    return exp.delete(exp.Table(this=_name(relation))).where(listed).sql(DIALECT)


def types_text(objects: Sequence[int]) -> str:
    """Ask for the most specific types of objects."""
    query = exp.select(exp.column(OID, quoted=True), exp.column(TYPE, quoted=True)).from_(exp.Table(this=_name(OBJECT)))
    return query.where(exp.column(OID, quoted=True).isin(*map(constant, objects))).sql(DIALECT)


def highest_text() -> str:
    """Ask for the highest number of an object."""
    highest = exp.alias_(exp.Max(this=exp.column(OID, quoted=True)), OID, quoted=True)
    return exp.select(highest).from_(exp.Table(this=_name(OBJECT))).sql(DIALECT)


def clear_text(relation: str) -> str:
    """Remove all rows of a relation."""
    return exp.delete(exp.Table(this=_name(relation))).sql(DIALECT)


def copy_text(source: str, target: str) -> str:
    """Put all rows of a relation into another."""
    query = exp.select("*").from_(exp.Table(this=_name(source)))
    return exp.insert(query, exp.Table(this=_name(target))).sql(DIALECT)


def drop_text(kind: str, name: str) -> str:
    """Drop a table, view or rule."""
    return f"DROP {kind.upper()} {_name(name).sql(DIALECT)}"


def activation_text(rule: str, arguments: Sequence[ConstantTerm], *, on: bool) -> str:
    """Activate or deactivate a rule for arguments."""
    values = ", ".join(constant(a.value).sql(DIALECT) for a in arguments)
    return f"{'ACTIVATE' if on else 'DEACTIVATE'} RULE {_name(rule).sql(DIALECT)}({values})"


def switch_text(rule: str, *, on: bool) -> str:
    """Switch a rule on or off."""
    return f"{'ENABLE' if on else 'DISABLE'} RULE {_name(rule).sql(DIALECT)}"


def renamed_text(text: str, old: str, new: str) -> str:
    """A statement that reads a relation, so that it reads another."""
    written, other = (_name(name).sql(DIALECT) for name in (old, new))
    for word in ("FROM", "JOIN"):  # after these a relation is named, and has an alias behind it
        text = text.replace(f" {word} {written} AS ", f" {word} {other} AS ")
    return text


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _of(table: str, column: str) -> exp.Column:
    return exp.column(exp.to_identifier(column, quoted=True), table=exp.to_identifier(table))
