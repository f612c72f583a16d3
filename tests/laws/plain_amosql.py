"""An interpreter of the functional model: objects with types, functions as dictionaries, rules by comparing states.

It knows nothing of clauses, tables or SQL.  Programs are data, made by :mod:`tests.laws.generate_amosql`; :func:`text`
prints them as AMOSQL, the interpreter evaluates them.  An expression has a bag of values; a condition holds in a number
of ways.
"""

from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Expr = tuple[Any, ...]
"""``("const", value)``, ``("var", name)``, ``("object", name)``, ``("call", function, arguments)``,
``("op", sign, left, right)``, ``("agg", kind, query)``; and the conditions ``("cmp", sign, left, right)``,
``("and", parts)``, ``("or", parts)``, ``("not", part)``, ``("some", query)``, ``("notany", query)``."""


@dataclass(frozen=True)
class Query:
    values: tuple[Expr, ...]
    declared: tuple[tuple[str, str], ...] = ()
    """Types and names."""
    where: Expr | None = None
    distinct: bool = False


@dataclass(frozen=True)
class Resolvent:
    """One definition of a function."""

    name: str
    types: tuple[str, ...]
    result: str
    many: bool = False
    query: Query | None = None
    foreign: Callable[..., Any] | None = None
    """What a foreign function does; it is registered under its own name."""

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(f"p{n}" for n in range(len(self.types)))

    @property
    def text(self) -> str:
        parameters = ", ".join(f"{t} {p}" for t, p in zip(self.types, self.parameters, strict=True))
        head = f"create function {self.name}({parameters}) -> {'set of ' if self.many else ''}{self.result}"
        if self.foreign is not None:
            return f"{head} as foreign '{self.name}';"
        return f"{head};" if self.query is None else f"{head} as {text(self.query)};"


@dataclass(frozen=True)
class Rule:
    """``add log(variables…) = value`` whenever the condition begins to hold."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    declared: tuple[tuple[str, str], ...]
    condition: Expr
    log: str
    value: Expr

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for _, name in (*self.parameters, *self.declared))

    @property
    def text(self) -> str:
        parameters = ", ".join(f"{t} {v}" for t, v in self.parameters)
        each = f"for each {', '.join(f'{t} {v}' for t, v in self.declared)} " if self.declared else ""
        action = f"add {self.log}({', '.join(self.variables)}) = {text(self.value)}"
        return f"create rule {self.name}({parameters}) as {each}when {text(self.condition)} do {action};"


def text(node: Expr | Query) -> str:
    """A program as AMOSQL."""
    if isinstance(node, Query):
        declared = ", ".join(f"{t} {v}" for t, v in node.declared)
        each = f" for each {declared}" if declared else ""
        where = f" where {text(node.where)}" if node.where is not None else ""
        return f"select {'distinct ' if node.distinct else ''}{', '.join(map(text, node.values))}{each}{where}"
    match node:
        case ("const", value):
            return repr(value) if not isinstance(value, bool) else str(value).lower()
        case ("var", name):
            return str(name)
        case ("object", name):
            return f":{name}"
        case ("call", function, arguments):
            return f"{function}({', '.join(map(text, arguments))})"
        case ("op" | "cmp", sign, left, right):
            return f"({text(left)} {sign} {text(right)})"
        case ("agg" | "some" | "notany" as word, *rest):
            return f"{rest[0] if word == 'agg' else word}({text(rest[-1])})"
        case ("and" | "or" as word, parts):
            return f"({f' {word} '.join(map(text, parts))})"
        case ("not", part):
            return f"not ({text(part)})"
        case _:
            raise AssertionError(node)


@dataclass
class State:
    """What a transaction can change."""

    objects: dict[int, str] = field(default_factory=dict)
    values: dict[tuple[str, str], dict[tuple[Any, ...], set[Any]]] = field(default_factory=dict)
    """By resolvent, then by arguments."""
    names: dict[str, int] = field(default_factory=dict)
    """The interface variables."""


@dataclass
class Interpreter:
    """Runs programs."""

    parents: dict[str, str | None] = field(default_factory=dict)
    resolvents: dict[str, list[Resolvent]] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    active: dict[str, set[tuple[int, ...]]] = field(default_factory=dict)
    state: State = field(default_factory=State)
    committed: State = field(default_factory=State)

    # types

    def above(self, type: str | None) -> list[str]:
        return [] if type is None else [type, *self.above(self.parents[type])]

    def extent(self, type: str) -> list[int]:
        return [o for o, own in self.state.objects.items() if type in self.above(own)]

    # functions

    def resolvent(self, name: str, arguments: tuple[Any, ...]) -> Resolvent | None:
        """The definition for the most specific type of the first argument."""
        if self.root(name).types[0] not in self.parents:
            return self.root(name)
        for type in self.above(self.state.objects.get(arguments[0])):
            for resolvent in self.resolvents[name]:
                if resolvent.types[0] == type:
                    return resolvent
        return None

    def call(self, name: str, arguments: tuple[Any, ...]) -> list[Any]:
        resolvent = self.resolvent(name, arguments)
        return [] if resolvent is None else self.apply(resolvent, arguments)

    def apply(self, resolvent: Resolvent, arguments: tuple[Any, ...]) -> list[Any]:
        if resolvent.foreign is not None:
            value = resolvent.foreign(*arguments)
            return [] if value is None else [value]
        if resolvent.query is None:
            return sorted(self.state.values.get((resolvent.name, resolvent.types[0]), {}).get(arguments, ()))
        env = dict(zip(resolvent.parameters, arguments, strict=True))
        return [value for (value,) in self.query(resolvent.query, env)]

    def table(self, name: str) -> Counter[tuple[Any, ...]]:
        """All rows of a function: arguments and value."""
        rows: Counter[tuple[Any, ...]] = Counter()
        for arguments in product(*(self.extent_of(t) for t in self.root(name).types)):
            rows.update((*arguments, value) for value in self.call(name, arguments))
        return rows

    def root(self, name: str) -> Resolvent:
        return self.resolvents[name][0]

    def extent_of(self, type: str) -> list[Any]:
        return self.extent(type) if type in self.parents else list(range(-5, 12))

    # evaluation

    def query(self, query: Query, env: dict[str, Any]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for objects in product(*(self.extent(type) for type, _ in query.declared)):
            inner = env | dict(zip((name for _, name in query.declared), objects, strict=True))
            ways = 1 if query.where is None else self.ways(query.where, inner)
            if ways:
                rows += list(product(*(self.values(v, inner) for v in query.values))) * ways
        return list(dict.fromkeys(rows)) if query.distinct else rows

    def values(self, expr: Expr, env: dict[str, Any]) -> list[Any]:
        match expr:
            case ("const", value):
                return [value]
            case ("var", name):
                return [env[name]]
            case ("object", name):
                return [self.state.names[name]]
            case ("call", function, arguments):
                combined = product(*(self.values(a, env) for a in arguments))
                return [value for one in combined for value in self.call(function, one)]
            case ("op", sign, left, right):
                pairs = list(product(self.values(left, env), self.values(right, env)))
                return [v for pair in pairs for v in _computed(sign, *pair)]
            case ("agg", kind, query):
                return _aggregate(kind, [v for (v,) in self.query(query, env)])
            case _:
                raise AssertionError(expr)

    def ways(self, condition: Expr, env: dict[str, Any]) -> int:
        """In how many ways a condition holds."""
        match condition:
            case ("cmp", sign, left, right):
                return sum(_compared(sign, a, b) for a in self.values(left, env) for b in self.values(right, env))
            case ("and", parts):
                ways = 1
                for part in parts:
                    ways *= self.ways(part, env)
                return ways
            case ("or", parts):
                return int(any(self.ways(part, env) for part in parts))
            case ("not", part):
                return int(not self.ways(part, env))
            case ("some", query):
                return int(bool(self.query(query, env)))
            case ("notany", query):
                return int(not self.query(query, env))
            case _:
                raise AssertionError(condition)

    # changes

    def create(self, type: str, name: str, number: int) -> None:
        self.state.objects[number] = type
        self.state.names[name] = number

    def update(self, kind: str, name: str, arguments: tuple[Any, ...], value: Any) -> None:
        resolvent = self.resolvent(name, arguments)
        assert resolvent is not None
        assert resolvent.query is None
        values = self.state.values.setdefault((name, resolvent.types[0]), {}).setdefault(arguments, set())
        if kind == "set":
            values.clear()
        (values.discard if kind == "remove" else values.add)(value)

    def delete(self, number: int) -> None:
        state = self.state
        del state.objects[number]
        state.names = {name: o for name, o in state.names.items() if o != number}
        for (name, type), by_arguments in state.values.items():
            resolvent = next(r for r in self.resolvents[name] if r.types[0] == type)
            places = [n for n, t in enumerate(resolvent.types) if t in self.parents]
            for arguments in [a for a in by_arguments if any(a[p] == number for p in places)]:
                del by_arguments[arguments]
            if resolvent.result in self.parents:
                for values in by_arguments.values():
                    values.discard(number)

    # transactions and rules

    def instances(self, rule: Rule, state: State) -> set[tuple[int, ...]]:
        """The values of a rule's variables for which it is active and its condition holds."""
        now, self.state = self.state, state
        try:
            declared = list(product(*(self.extent(type) for type, _ in rule.declared)))
            rows = [(*arguments, *row) for arguments in self.active.get(rule.name, ()) for row in declared]
            return {row for row in rows if self._exist(rule, row) and self._holds(rule, row)}
        finally:
            self.state = now

    def _exist(self, rule: Rule, row: tuple[int, ...]) -> bool:
        """Whether the objects that a rule is active for are there."""
        pairs = zip(rule.parameters, row, strict=False)
        return all(type not in self.parents or value in self.extent(type) for (type, _), value in pairs)

    def _holds(self, rule: Rule, row: tuple[int, ...]) -> bool:
        return bool(self.ways(rule.condition, dict(zip(rule.variables, row, strict=True))))

    def commit(self) -> None:
        begun = {
            rule.name: self.instances(rule, self.state) - self.instances(rule, self.committed) for rule in self._all()
        }
        for rule in self._all():
            for row in begun[rule.name]:
                for value in self.values(rule.value, dict(zip(rule.variables, row, strict=True))):
                    self.update("add", rule.log, row, value)
        self.committed = copy.deepcopy(self.state)

    def _all(self) -> Iterator[Rule]:
        return iter(self.rules.values())

    def rollback(self) -> None:
        self.state = copy.deepcopy(self.committed)


def _computed(sign: str, left: Any, right: Any) -> list[Any]:
    if sign == "/":
        return [left / right] if right else []
    return [{"+": left + right, "-": left - right, "*": left * right}[sign]]


def _compared(sign: str, left: Any, right: Any) -> bool:
    signs = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt}
    return bool(signs.get(sign, operator.ge)(left, right))


def _aggregate(kind: str, values: list[Any]) -> list[Any]:
    match kind:
        case "count":
            return [len(values)]
        case "sum":
            return [sum(values)]
        case "avg":
            return [sum(values) / len(values)] if values else []
        case _:
            return [(min if kind == "min" else max)(values)] if values else []
