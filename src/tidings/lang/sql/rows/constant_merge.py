"""MERGE of constants by key: what it puts into a table can be read off the statement, so no engine has to be asked.

This is the common way to write a row whether or not it is there::

    MERGE INTO t USING (VALUES (1, 'x')) AS s(a, b) ON t.a = s.a
    WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT *
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tidings.analysis.constant import NO_VALUE, constant
from tidings.ir.expression import Expression, conjuncts
from tidings.ir.relation import Column
from tidings.lang.sql.rows.merge import keys_of_source
from tidings.lang.sql.rows.target import Assignment, Target, columns_of
from tidings.lang.sql.statements.dml import Clause, Merge

_SourceRow = Mapping[str, Expression]
"""The constants of a row of the source, by the names of its columns in lower case."""


@dataclass(frozen=True, slots=True)
class ConstantMergeRow:
    """One row of the source: which row it matches, what becomes of that, and what comes if there is none."""

    key: tuple[Any, ...]
    """The values that the primary key of a row must have for a match; one that has a NULL matches none."""
    updated: Mapping[str, Any] | None
    """New values of a row that matches, by column; None if it stays or goes."""
    inserted: Mapping[str, Any] | None
    """Values of a row that comes if none matches; None if none comes."""
    deletes: bool
    """Whether a row that matches goes."""


def constant_merge(target: Target, statement: Merge, key: Sequence[Column]) -> list[ConstantMergeRow] | None:
    """What a MERGE says of each row of its source; None if that is not to be read off it, or if rows share a key."""
    clauses: dict[str, Clause] = {clause.when: clause for clause in statement.clauses}
    is_plain = len(clauses) == len(statement.clauses) and all(c.condition is None for c in statement.clauses)
    if not is_plain or "unmatched by source" in clauses:
        return None
    paired = keys_of_source(statement, statement.on)
    if not key or len(list(conjuncts(statement.on))) != len(key) or {c.name.lower() for c in key} != paired.keys():
        return None
    source = _source_rows(statement.source)
    if source is None:
        return None
    rows = [_row(target, statement, clauses, record, key, paired) for record in source]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows) or len({row.key for row in known}) < len(known):
        return None
    return known


def _source_rows(source: Expression) -> list[_SourceRow] | None:
    """The rows of a source that has nothing but constants."""
    alias = source.args.get("alias")
    named = [c.name.lower() for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    records: list[list[Expression]]
    if isinstance(source, exp.Values):
        records = [list(r.expressions) if isinstance(r, exp.Tuple) else [r] for r in source.expressions]
        names = named
    elif isinstance(source, exp.Subquery) and _is_row(source.this):
        items = source.this.expressions
        if not all(isinstance(item, exp.Alias) for item in items):
            return None
        records, names = [[item.this for item in items]], named or [item.alias.lower() for item in items]
    else:
        return None
    is_even = all(len(record) == len(names) for record in records) and len(set(names)) == len(names)
    if not is_even or not all(_is_constant(node) for record in records for node in record):
        return None
    return [dict(zip(names, record, strict=True)) for record in records]


def _is_row(query: Expression) -> bool:
    """Whether a query is a SELECT of one row, without any clause."""
    return isinstance(query, exp.Select) and all(part == "expressions" or not v for part, v in query.args.items())


def _is_constant(node: Expression) -> bool:
    inner = node.this if isinstance(node, exp.Neg) else node
    return isinstance(inner, exp.Literal) or isinstance(node, exp.Boolean | exp.Null)


def _row(
    target: Target,
    statement: Merge,
    clauses: Mapping[str, Clause],
    record: _SourceRow,
    key: Sequence[Column],
    paired: Mapping[str, Expression],
) -> ConstantMergeRow | None:
    nodes = [record.get(paired[c.name.lower()].name.lower()) for c in key]
    values = [NO_VALUE if n is None else constant(n, c.type) for n, c in zip(nodes, key, strict=True)]
    matched, unmatched = clauses.get("matched"), clauses.get("unmatched")
    updates = matched is not None and matched.action == "update"
    updated = _assigned(target, statement, matched, record) if matched is not None and updates else None
    inserted = _assigned(target, statement, unmatched, record) if unmatched is not None else None
    is_unclear = (updates and updated is None) or (unmatched is not None and inserted is None)
    if is_unclear or any(value is NO_VALUE for value in values):
        return None
    return ConstantMergeRow(tuple(values), updated, inserted, matched is not None and not updates)


def _assigned(target: Target, statement: Merge, clause: Clause, record: _SourceRow) -> dict[str, Any] | None:
    """The values that a clause assigns, by column; None if one is no constant of the column's type."""
    alias = statement.source.alias_or_name
    assignments: list[Assignment] = target.assignments(clause.settings)
    if clause.every:
        assignments = list(zip(target.columns, columns_of(alias, target.columns), strict=True))
    assigned: dict[str, Any] = {}
    for column, value in assignments:
        node: Expression | None = value
        if isinstance(value, exp.Column):
            is_of_source = value.table.lower() == alias.lower() and len(value.parts) == 2
            node = record.get(value.name.lower()) if is_of_source else None
        assigned[column.name] = NO_VALUE if node is None else constant(node, column.type)
    return None if any(value is NO_VALUE for value in assigned.values()) else assigned
