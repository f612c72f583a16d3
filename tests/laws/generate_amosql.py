"""Random schemas, queries and conditions of the functional model, each well typed and not too large."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random

from tests.laws.plain_amosql import Expr, Interpreter, Query, Resolvent, Rule

SCHEMA = {"thing": None, "tool": "thing", "drill": "tool", "box": None}
"""Types, and the type above each."""

STORED = [
    Resolvent("size", ("thing",), "integer"),
    Resolvent("price", ("thing",), "integer"),
    Resolvent("next_to", ("thing",), "thing"),
    Resolvent("holds", ("box",), "thing", many=True),
    Resolvent("fits", ("thing", "box"), "integer"),
    Resolvent("label", ("box",), "charstring"),
    Resolvent("ready", ("thing",), "boolean"),
]


def scaled(number: float) -> float | None:
    """Nothing for some numbers."""
    return None if number < 0 else number * 2 + 1


def nearest(left: float, right: float) -> int | None:
    return None if left == right else int(abs(left - right) < 2)


FOREIGN = [
    Resolvent("scaled", ("real",), "real", foreign=scaled),
    Resolvent("nearest", ("real", "real"), "integer", foreign=nearest),
]


class NoObject(Exception):
    """No expression for an object of the type is at hand; definitions have no interface variables."""


@dataclass
class Generator:
    """Makes what a seed stands for."""

    random: Random
    model: Interpreter
    names: count[int] = field(default_factory=count)
    in_definition: bool = False

    # schema

    def overloads(self) -> list[Resolvent]:
        """Other definitions of ``price`` for types below, stored or derived."""
        found = []
        for type in self.random.sample(["tool", "drill"], self.random.choice([0, 1, 1, 2])):
            query = None
            if self.random.random() < 0.6:
                query = Query((("op", "+", ("call", "size", (("var", "p0"),)), ("const", self.random.randint(0, 3))),))
            found.append(Resolvent("price", (type,), "integer", query=query))
        return found

    def derived(self) -> Resolvent:
        """A function of a thing or a box."""
        self.in_definition = True
        type = self.random.choice(["thing", "tool", "box"])
        scope = {"p0": type}
        declared, inner = self.declared(scope, self.random.choice([0, 0, 1]))
        value = self.number(inner, 2)
        where = self.condition(inner, 2) if declared and self.random.random() < 0.8 else None
        query = Query((value,), declared, where, distinct=self.random.random() < 0.15)
        self.in_definition = False
        return Resolvent(f"derived{next(self.names)}", (type,), "real", query=query)

    def rule(self, log: str, parameters: tuple[tuple[str, str], ...], declared: tuple[tuple[str, str], ...]) -> Rule:
        """A rule that writes down what it fired for."""
        scope = {name: type for type, name in (*parameters, *declared)}
        self.in_definition = True
        condition = self.condition(scope, 2)
        value: Expr = ("const", self.random.randint(0, 2))
        if self.random.random() < 0.5:
            value = ("agg", "count", Query((("call", "size", (self.object("thing", scope),)),)))
        self.in_definition = False
        return Rule(f"rule{next(self.names)}", parameters, declared, condition, log, value)

    # queries

    def query(self) -> Query:
        declared, scope = self.declared({}, self.random.choice([1, 1, 2]))
        values = tuple(self.number(scope, 2) for _ in range(self.random.choice([1, 2])))
        objects = tuple(("var", name) for _, name in declared)
        where = self.condition(scope, 2) if self.random.random() < 0.8 else None
        return Query((*objects, *values), declared, where, distinct=self.random.random() < 0.2)

    def declared(self, scope: dict[str, str], number: int) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
        new = {f"v{next(self.names)}": self.random.choice(list(SCHEMA)) for _ in range(number)}
        return tuple((type, name) for name, type in new.items()), scope | new

    def is_a(self, type: str, other: str) -> bool:
        return other in self.model.above(type)

    def object(self, type: str, scope: dict[str, str], depth: int = 1) -> Expr:
        """An expression for an object of a type; one that always has the type."""
        fitting: list[Expr] = [("var", name) for name, own in scope.items() if own in SCHEMA and self.is_a(own, type)]
        if type == "thing" and depth and (self.random.random() < 0.3 or not fitting):
            boxes = [name for name, own in scope.items() if own == "box"]
            if boxes and self.random.random() < 0.5:
                return ("call", "holds", (("var", self.random.choice(boxes)),))
            if fitting:
                return ("call", "next_to", (self.random.choice(fitting),))
        if not fitting and self.in_definition:
            raise NoObject
        return self.random.choice(fitting) if fitting else ("object", f"{type}1")

    def number(self, scope: dict[str, str], depth: int) -> Expr:
        """An expression that has numbers."""
        try:
            return self._number(scope, depth)
        except NoObject:
            return ("const", self.random.randint(-2, 5))

    def _number(self, scope: dict[str, str], depth: int) -> Expr:
        plain = ["const", "size", "price"]
        kinds = [*plain, "fits", "op", "op", "derived", "agg", "foreign"] if depth else plain
        match self.random.choice(kinds):
            case "const":
                numbers = [name for name, own in scope.items() if own == "integer"]
                return ("var", numbers[0]) if numbers else ("const", self.random.randint(-2, 5))
            case "size" | "price" as name:
                return ("call", name, (self.object("thing", scope),))
            case "fits":
                return ("call", "fits", (self.object("thing", scope), self.object("box", scope)))
            case "op":
                sign = self.random.choice("+-*/" if self.random.random() < 0.3 else "+-*")
                return ("op", sign, self.number(scope, depth - 1), self.number(scope, depth - 1))
            case "foreign":
                function = self.random.choice(FOREIGN)
                return ("call", function.name, tuple(self.number(scope, depth - 1) for _ in function.types))
            case "derived":
                known = [r for rs in self.model.resolvents.values() for r in rs if r.name.startswith("derived")]
                if not known:
                    return self.number(scope, depth - 1)
                function = self.random.choice(known)
                return ("call", function.name, (self.object(function.types[0], scope),))
            case _:
                kind = self.random.choice(["count", "sum", "min", "max", "avg"])
                return ("agg", kind, self._subquery(scope, depth))

    def _subquery(self, scope: dict[str, str], depth: int) -> Query:
        declared, inner = self.declared(scope, 1)
        return Query((self.number(inner, 0),), declared, self.condition(inner, depth - 1))

    def condition(self, scope: dict[str, str], depth: int) -> Expr:
        try:
            return self._condition(scope, depth)
        except NoObject:
            return ("cmp", "<", self.number(scope, 0), self.number(scope, 0))

    def _condition(self, scope: dict[str, str], depth: int) -> Expr:
        kinds = ["cmp", "cmp", "same", "ready", "and", "or", "not", "some"] if depth else ["cmp", "same", "ready"]
        match self.random.choice(kinds):
            case "cmp":
                sign = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
                return ("cmp", sign, self.number(scope, max(depth - 1, 0)), self.number(scope, max(depth - 1, 0)))
            case "same":
                type = self.random.choice(["thing", "thing", "box"])
                sign = self.random.choice(["=", "=", "<>"])
                return ("cmp", sign, self.object(type, scope), self.object(type, scope))
            case "ready":
                wanted = self.random.random() < 0.7
                return ("cmp", "=", ("call", "ready", (self.object("thing", scope),)), ("const", wanted))
            case "and" | "or" as word:
                return (word, (self.condition(scope, depth - 1), self.condition(scope, depth - 1)))
            case "not":
                return ("not", self.condition(scope, depth - 1))
            case _:
                return (self.random.choice(["some", "notany"]), self._subquery(scope, depth))
