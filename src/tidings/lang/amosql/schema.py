"""What is defined: types in a tree, functions with their resolvents, rules.

A function may be defined for several types of its first argument: each definition is a *resolvent*.  A call means the
resolvent of the most specific type of the object.  Where the declared type decides which one that is, the call is bound
early, to the relation of the resolvent; else late, to the relation of the function, which has the values of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidings.errors import Place, UnknownFunction, UnknownRule, UnknownType, closest
from tidings.lang.amosql import syntax
from tidings.lang.amosql.objectlog import HornClause, RelationOf

SQL_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "charstring": "STRING", "boolean": "BOOLEAN"}
"""The types of plain values, and their types in SQL."""

OBJECT = "object"
"""The type above all types of objects."""

OID = "oid"
"""The column of a type's relation."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Function:
    """One resolvent: what a function is for one type of its first argument."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Parameter | None
    """None for a procedure that is declared without one."""
    many: bool
    definition: syntax.CreateFunction
    relation: RelationOf
    clause: HornClause | None = None
    """Of a derived function."""
    is_view: bool = True
    """Whether a derived function has rows; else it is expanded wherever it is called."""

    @property
    def is_stored(self) -> bool:
        return self.definition.body is None

    @property
    def foreign(self) -> str | None:
        body = self.definition.body
        return body.name if isinstance(body, syntax.Foreign) and self.result is not None else None

    @property
    def is_in_sql(self) -> bool:
        """Whether it is a foreign function that queries of SQL can call."""
        return self.foreign is not None and bool(self.parameters)

    @property
    def is_procedure(self) -> bool:
        body = self.definition.body
        if isinstance(body, syntax.Foreign):
            return self.result is None
        return body is not None and not isinstance(body, syntax.SelectQuery)

    @property
    def dispatches_on(self) -> str:
        """The type of the first argument; empty without one."""
        return self.parameters[0].type if self.parameters else ""


@dataclass(frozen=True, slots=True)
class RuleDefinition:
    """A rule with its condition as a clause over its parameters and variables."""

    definition: syntax.DefineRule
    parameters: tuple[Parameter, ...]
    variables: tuple[Parameter, ...]
    condition: HornClause
    unbound: tuple[Parameter, ...] = ()
    """Parameters that the condition does not bind; with some there is no condition function to look at."""

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def condition_name(self) -> str:
        return f"cnd_{self.name}"

    @property
    def action_name(self) -> str:
        return f"act_{self.name}"


@dataclass(slots=True)
class Schema:
    """The definitions of a database."""

    parents: dict[str, str | None] = field(default_factory=lambda: {OBJECT: None})
    """The types of objects, and the type above each."""
    functions: dict[str, list[Function]] = field(default_factory=dict)
    """The resolvents of each function, by its name."""
    rules: dict[str, RuleDefinition] = field(default_factory=dict)

    # types

    def check_type(self, name: str, place: Place | None) -> str:
        """The name of a type, if there is one."""
        if name not in self.parents and name not in SQL_TYPES:
            raise UnknownType(place, closest(name, [*self.parents, *SQL_TYPES]), name=name)
        return name

    def is_object_type(self, name: str) -> bool:
        return name in self.parents

    def supertypes(self, name: str) -> list[str]:
        """A type and those above it, from the most specific."""
        found: list[str] = []
        above: str | None = name
        while above is not None:
            found.append(above)
            above = self.parents[above]
        return found

    def subtypes(self, name: str) -> list[str]:
        """A type and those below it."""
        return [other for other in self.parents if name in self.supertypes(other)]

    def is_a(self, type: str, other: str) -> bool:
        """Whether every value of a type is one of the other; whole numbers are numbers."""
        if type in self.parents:
            return other in self.supertypes(type)
        return type == other or (type, other) == ("integer", "real")

    def extent(self, type: str) -> RelationOf:
        """The relation of a type's objects."""
        return RelationOf(type, (OID,), (type,))

    def sql_type(self, type: str) -> str:
        return SQL_TYPES.get(type, "BIGINT")

    # functions

    def resolvents(self, name: str, place: Place | None = None) -> list[Function]:
        """The resolvents of a function."""
        if name not in self.functions:
            raise UnknownFunction(place, closest(name, [*self.functions, *AGGREGATES]), name=name)
        return self.functions[name]

    def resolve(self, name: str, type: str, place: Place | None) -> tuple[Function | None, list[Function]]:
        """The resolvent for a type of the first argument, and those for types below it."""
        resolvents = self.resolvents(name, place)
        if len(resolvents) == 1 and not (resolvents[0].parameters and self.is_object_type(resolvents[0].dispatches_on)):
            return resolvents[0], []
        above = self.supertypes(type) if type in self.parents else [type]
        fitting = [f for t in above for f in resolvents if f.dispatches_on == t]
        below = [f for f in resolvents if f.dispatches_on != type and self.is_a(f.dispatches_on, type)]
        return (fitting[0] if fitting else None), below

    def generic(self, name: str) -> RelationOf:
        """The relation that has the values of all resolvents of an overloaded function."""
        root = self.functions[name][0].relation
        functional = all(f.relation.functional for f in self.functions[name])
        return RelationOf(name, root.columns, root.types, functional, name)

    def overriding(self, function: Function) -> list[str]:
        """The types whose objects have another resolvent than this one, though it is for a type above theirs."""
        own = function.dispatches_on
        others = [f.dispatches_on for f in self.functions[function.name]]
        return [t for t in others if t != own and self.is_a(t, own)]

    def views(self) -> Iterable[Function]:
        """The derived functions that have rows."""
        return (f for fs in self.functions.values() for f in fs if f.clause is not None and f.is_view)

    def by_relation(self, relation: str) -> Function | None:
        """The function whose relation has a name."""
        return next((f for fs in self.functions.values() for f in fs if f.relation.name == relation), None)

    # rules

    def rule(self, name: str, place: Place | None = None) -> RuleDefinition:
        """The rule of a name."""
        if name not in self.rules:
            raise UnknownRule(place, closest(name, self.rules), name=name)
        return self.rules[name]


AGGREGATES = ("count", "sum", "avg", "min", "max")
"""Functions over queries that give one value."""

QUANTIFIERS = ("some", "notany")
"""Functions over queries that say whether they have rows."""
