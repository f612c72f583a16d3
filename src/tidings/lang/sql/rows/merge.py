"""MERGE, as queries: one per kind of clause, and one for the keys that the source has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tidings.ir.expression import Expression, conjuncts
from tidings.ir.relation import Column
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.rows.target import Assignment, Target, columns_of, with_distinct_names
from tidings.lang.sql.statements.dml import Clause, Merge, trees

_NUMBER = Column("number", "int")


@dataclass(frozen=True, slots=True)
class ClauseQuery:
    """A query for the rows that the clauses of one kind may apply to.

    Its columns are those of the table, unless the clauses insert; the number of the first clause whose condition holds,
    or NULL; and for each clause the values that it assigns, NULL in the rows of other clauses.
    """

    clauses: tuple[Clause, ...]
    query: exp.Select
    columns: tuple[Column, ...]
    width: int
    """How many of the columns are those of the table."""
    assigned: tuple[tuple[Column, ...], ...]
    """The columns that each clause assigns."""
    matched_rows: exp.Select | None
    """Where clauses ask for matches: a query for the rows of the table that have one, each as often as it is there."""


def clause_queries(target: Target, statement: Merge) -> Iterator[ClauseQuery]:
    """The queries of a MERGE, one for each kind of clause it has."""
    table, source = target.source(), at_instant(statement.source, target.now)
    on = at_instant(statement.on, target.now)
    for kind in ("matched", "unmatched by source", "unmatched"):
        clauses = tuple(c for c in statement.clauses if c.when == kind)
        if not clauses:
            continue
        left, right = (source, table) if kind == "unmatched" else (table, source)
        rows = exp.select().from_(left.copy())
        joined = rows.join(right.copy(), on=on.copy(), join_type="" if kind == "matched" else "left anti")
        matched_rows = None
        if kind == "matched":
            matched_rows = rows.join(right.copy(), on=on.copy(), join_type="left semi")
            matched_rows = matched_rows.select(*with_distinct_names(target.column_nodes()))
        yield _clause_query(target, statement, clauses, joined, matched_rows)


def _clause_query(
    target: Target,
    statement: Merge,
    clauses: tuple[Clause, ...],
    joined: exp.Select,
    matched_rows: exp.Select | None,
) -> ClauseQuery:
    inserts = clauses[0].when == "unmatched"
    assignments = [_assignments(target, statement, c) for c in clauses]
    conditions = [at_instant(c.condition, target.now) if c.condition is not None else exp.true() for c in clauses]
    number = exp.Case()
    for n, condition in enumerate(conditions):
        number = number.when(condition.copy(), exp.Literal.number(n))
    values = [
        _value_of_clause(conditions[:n], conditions[n], value)
        for n, assigned in enumerate(assignments)
        for _, value in assigned
    ]
    table_columns, table_nodes = ((), []) if inserts else (target.columns, target.column_nodes())
    return ClauseQuery(
        clauses,
        joined.select(*with_distinct_names([*table_nodes, number, *values])),
        (*table_columns, _NUMBER, *(column for assigned in assignments for column, _ in assigned)),
        len(table_columns),
        tuple(tuple(column for column, _ in assigned) for assigned in assignments),
        matched_rows,
    )


def _value_of_clause(earlier: Sequence[Expression], condition: Expression, value: Expression) -> Expression:
    """A value where a condition holds and no earlier one does, else NULL."""
    chosen = exp.Case()
    for refused in earlier:
        chosen = chosen.when(refused.copy(), exp.Null())
    return chosen.when(condition.copy(), value.copy())


def _assignments(target: Target, statement: Merge, clause: Clause) -> list[Assignment]:
    if not clause.every:
        return target.assignments(clause.settings)
    return list(zip(target.columns, columns_of(statement.source.alias_or_name, target.columns), strict=True))


def source_keys_query(target: Target, statement: Merge, key: Sequence[Column]) -> exp.Select | None:
    """A query for the keys of rows that the source may match; None if ON does not say where the source has them."""
    paired = keys_of_source(statement, at_instant(statement.on, target.now))
    if not key or any(c.name.lower() not in paired for c in key):
        return None
    items = with_distinct_names([paired[c.name.lower()] for c in key])
    return exp.select(*items).from_(at_instant(statement.source, target.now)).distinct()


def has_subqueries(statement: Merge) -> bool:
    """Whether a MERGE asks for more than the rows of the table and of the source, in ON or in a clause."""
    return any(tree.find(exp.Query) for tree in trees(statement) if tree is not statement.source)


def keys_of_source(statement: Merge, on: Expression) -> dict[str, Expression]:
    """Columns of the source by the columns of the table, in lower case, that they must equal."""
    target, source = statement.alias.lower(), statement.source.alias_or_name.lower()
    source_columns: dict[str, Expression] = {}
    for part in conjuncts(on):
        equal = part.unnest()
        if not isinstance(equal, exp.EQ):
            continue
        for left, right in ((equal.left, equal.right), (equal.right, equal.left)):
            if not isinstance(left, exp.Column) or not isinstance(right, exp.Column) or target == source:
                continue
            if (left.table.lower(), right.table.lower()) == (target, source):
                source_columns.setdefault(left.name.lower(), right)
    return source_columns
