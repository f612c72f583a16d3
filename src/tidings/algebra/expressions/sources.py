"""Where the tuples of relations come from: Arrow tables, Spark DataFrames, answers of a database, rows.

Tids are the values of a column, of several, or else numbers in the order of the rows.  The name of the relation
stands before them, so that tuples of different relations are told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tidings.algebra.delta_relations.instance import RelationInstance, Tid, hashable
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.expressions.nodes import Stored
from tidings.errors import InvalidExpression, UnknownColumn, closest


@runtime_checkable
class Questions(Protocol):
    """What a database is asked here."""

    def query(self, text: str, as_of: Any = None) -> Any: ...

    def schema(self, name: str) -> Any: ...

    def changes(self, text: str, since: Any = None, until: Any = None) -> Any: ...


def relation(name: str, *attributes: str, data: Any = None, tid: str | Sequence[str] | None = None) -> Stored:
    """A stored relation by its name, the beginning of an expression.

    Its attributes are given, or taken from its data: a :class:`RelationInstance`, an Arrow table, a Spark DataFrame,
    a list of dictionaries, or a database that has a table or view of this name.

    >>> relation("emp", "name", "salary").select("salary > 32").project("name").attributes
    ('name',)
    """
    if isinstance(data, Questions):
        return _of_database(name, data)
    if data is None:
        if not attributes:
            raise InvalidExpression(None, "name its attributes, or give its data", reason=f"{name} has no attributes")
        return Stored(name, attributes)
    instance = instance_of(data, tid, name)
    return Stored(name, attributes or instance.attributes, data=instance)


def instance_of(data: Any, tid: str | Sequence[str] | None = None, name: str = "r") -> RelationInstance:
    """The tuples of some data, with tids."""
    if isinstance(data, RelationInstance):
        return data
    if isinstance(data, DatabaseRelation):
        return data.instance()
    rows, attributes = _rows(data, name)
    columns = [tid] if isinstance(tid, str) else list(tid or ())
    for column in columns:
        if column not in attributes:
            raise UnknownColumn(None, closest(column, attributes), name=column)
    pairs = []
    for number, row in enumerate(rows, 1):
        identity = [row[c] for c in columns] if columns else [number]
        pairs.append((_tid(name, identity), tuple(hashable(row[a]) for a in attributes)))
    return RelationInstance.of_pairs(attributes, pairs, name)


class DatabaseRelation:
    """A table or view of a database, read when it is asked for."""

    def __init__(self, database: Questions, name: str, attributes: tuple[str, ...], key: tuple[str, ...]) -> None:
        self.database = database
        self.name = name
        self.attributes = attributes
        self.key = key

    def instance(self, as_of: Any = None) -> RelationInstance:
        """Its tuples now or at an instant, which have the values of the primary key, else all values, for tids."""
        return self.tuples_of(self.database.query(self.name, as_of).rows())

    def delta(self, since: Any, until: Any = None) -> DeltaPair:
        """How it changed between two instants, as the database says."""
        changes = self.database.changes(self.name, since, until)
        return DeltaPair(self.tuples_of(changes.removals()), self.tuples_of(changes.additions()))

    def tuples_of(self, rows: Iterable[Mapping[str, Any]]) -> RelationInstance:
        pairs, counted = [], Counter[Tid]()
        for row in rows:
            tid = _tid(self.name, [row[column] for column in self.key or self.attributes])
            counted[tid] += 1
            values = tuple(hashable(row[attribute]) for attribute in self.attributes)
            pairs.append((tid if counted[tid] == 1 else (*tid, counted[tid]), values))
        return RelationInstance.of_pairs(self.attributes, pairs, self.name)


def _of_database(name: str, database: Questions) -> Stored:
    columns = database.schema(name).rows()
    names, types = tuple(row["column"] for row in columns), tuple(row["type"] for row in columns)
    key = tuple(row["column"] for row in columns if row["primary_key"])
    return Stored(name, names, types, DatabaseRelation(database, name, names, key))


def _rows(data: Any, name: str) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
    """Rows as dictionaries, and their columns."""
    if hasattr(data, "toArrow"):
        data = data.toArrow()
    elif hasattr(data, "to_arrow"):
        data = data.to_arrow()
    if hasattr(data, "to_pylist"):
        return data.to_pylist(), tuple(data.column_names)
    if isinstance(data, Iterable):
        rows = list(data)
        if rows and all(isinstance(row, Mapping) and row.keys() == rows[0].keys() for row in rows):
            return rows, tuple(rows[0])
    hint = "give an Arrow table, a Spark DataFrame, a relation instance or a list of dictionaries with the same keys"
    raise InvalidExpression(None, hint, reason=f"the tuples of {name} cannot be taken from {type(data).__name__}")


def _tid(name: str, identity: Iterable[Any]) -> Tid:
    return (f"{name}:" + ",".join(map(str, identity)),)
