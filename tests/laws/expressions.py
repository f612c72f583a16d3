"""Random scalar expressions as Spark SQL text, typed by kind.

Arithmetic stays far from overflow and never divides by what may be zero: an error in the engine would be no
difference between a delta and a recompute.  Only functions on which Spark and DuckDB agree are used, so that the
same case can be run on both; of capitals they agree on those of ASCII.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.laws.schema import NUMERIC, Column, quote

LITERALS: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "-1"),
    "dec": ("1.50", "0.25", "CAST(1 AS DECIMAL(10,2))"),
    "dbl": ("CAST(1.5 AS DOUBLE)", "CAST(0 AS DOUBLE)"),
    "str": ("'a'", "'b'", "''", r"'it\'s'", "'é'"),
    "bool": ("TRUE", "FALSE"),
    "date": ("DATE'2024-01-01'", "DATE'2024-02-29'"),
    "ts": ("TIMESTAMP'2024-01-01 00:00:00'", "TIMESTAMP'2024-02-29 12:30:00.000001'"),
    "arr": ("ARRAY(1, 2)", "ARRAY(1)"),
    "row": ("NAMED_STRUCT('a', 1, 'b', 'a')",),
}


@dataclass(slots=True)
class Scope:
    """What an expression may name: columns by the alias of their source, and those that need no alias."""

    columns: list[tuple[str, Column]] = field(default_factory=list)
    visible: list[tuple[str, Column]] = field(default_factory=list)
    aliases: list[Column] = field(default_factory=list)
    """Names given earlier in the same SELECT list."""

    def alone(self, name: str) -> bool:
        """Whether the name without an alias stands for one column."""
        return sum(c.name.lower() == name.lower() for _, c in self.visible) == 1


@dataclass(slots=True)
class Expressions:
    """Writes expressions over a scope."""

    rng: Random
    scope: Scope

    def of(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind; columns are as likely as everything else together."""
        if self.rng.random() < 0.55 or depth <= 0:
            found = self.column(kind) if self.rng.random() < 0.9 else None
            return found or self.rng.choice(LITERALS[kind])
        text = self.rng.choice(_MAKERS[kind])(self, depth - 1)
        return f"({text})" if kind == "bool" else text

    def column(self, kind: str) -> str | None:
        """A column or an earlier alias of a kind, if there is one."""
        fitting = [self.spell(a, c) for a, c in self.scope.columns if c.kind == kind]
        fitting += [self.name(c.name) for c in self.scope.aliases if c.kind == kind]
        return self.rng.choice(fitting) if fitting else None

    def spell(self, alias: str, column: Column, *, as_declared: bool = False) -> str:
        """A column with its alias, or without where that is clear."""
        name = quote(column.name) if as_declared else self.name(column.name)
        short = (alias, column) in self.scope.visible and self.scope.alone(column.name)
        return name if short and self.rng.random() < 0.4 else f"{quote(alias)}.{name}"

    def name(self, name: str) -> str:
        """A name with or without quotes and, since case does not matter, in another one."""
        if name.isascii() and self.rng.random() < 0.15:
            name = name.swapcase()
        plain = name.isascii() and name.isidentifier() and name.lower() not in ("order", "select")
        return name if plain and self.rng.random() < 0.7 else quote(name)

    # any kind

    def case(self, kind: str, depth: int) -> str:
        other = "" if self.rng.random() < 0.3 else f" ELSE {self.of(kind, depth)}"
        return f"CASE WHEN {self.of('bool', depth)} THEN {self.of(kind, depth)}{other} END"

    def coalesce(self, kind: str, depth: int) -> str:
        return f"COALESCE({self.of(kind, depth)}, {self.of(kind, depth)})"

    def infix(self, kind: str, operator: str, depth: int, right: str | None = None) -> str:
        return f"({self.of(kind, depth)} {operator} {right or self.of(kind, depth)})"

    def call(self, text: str, kind: str, depth: int) -> str:
        return text.format(self.of(kind, depth))

    # truth

    def condition(self, depth: int = 2) -> str:
        """A predicate over columns, for WHERE and ON."""
        return self.rng.choice(_MAKERS["bool"])(self, depth)

    def lenient(self, depth: int = 2) -> str:
        """A predicate that many rows meet, half of the time: too many filters in a row would leave nothing."""
        condition = self.condition(depth)
        there = [self.spell(a, c) for a, c in self.scope.columns]
        if self.rng.random() < 0.5 or not there:
            return f"({condition})"
        return f"({condition} OR {self.rng.choice(there)} IS NOT NULL)"

    def comparison(self, depth: int) -> str:
        operator = self.rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        left, right = self.comparable()
        if left in ("arr", "row") and operator[0] in "<>" and operator != "<=>":
            operator = "<>"  # a NULL inside is the greatest for DuckDB: ``constructs`` has their order
        return f"{self.of(left, depth)} {operator} {self.of(right, depth)}"

    def comparable(self) -> tuple[str, str]:
        """Two kinds that compare: the same one, or two kinds of numbers."""
        kind = self.rng.choice([c.kind for _, c in self.scope.columns] or ["int"])
        mixed = kind in NUMERIC and self.rng.random() < 0.3
        return kind, self.rng.choice(NUMERIC) if mixed else kind

    def present(self, *kinds: str) -> str:
        """One of the kinds, of which there is a column if there can be."""
        there = [c.kind for _, c in self.scope.columns if c.kind in kinds]
        return self.rng.choice(there or kinds)

    def is_null(self, depth: int) -> str:
        kind = self.comparable()[0]
        return f"{self.of(kind, depth)} IS {self.rng.choice(['', 'NOT '])}NULL"

    def in_list(self, depth: int) -> str:
        kind = self.present("int", "str", "date", "dec")
        listed = [*self.rng.sample(LITERALS[kind], k=2), *(["NULL"] if self.rng.random() < 0.2 else [])]
        return f"{self.of(kind, depth)} {self.rng.choice(['', 'NOT '])}IN ({', '.join(listed)})"

    def between(self, depth: int) -> str:
        kind = self.present("int", "dec", "dbl", "str", "date", "ts")
        return f"{self.of(kind, depth)} BETWEEN {self.of(kind, 0)} AND {self.of(kind, 0)}"

    def like(self, depth: int) -> str:
        if self.present("str", "int") != "str":
            return self.comparison(depth)
        return f"{self.of('str', depth)} LIKE '{self.rng.choice(['a%', '%b%', '_', '%', 'A'])}'"

    def both(self, depth: int) -> str:
        if not depth:
            return self.comparison(depth)
        return f"({self.condition(depth - 1)} {self.rng.choice(['AND', 'OR'])} {self.condition(depth - 1)})"

    def negated(self, depth: int) -> str:
        return f"NOT ({self.condition(depth - 1) if depth else self.comparison(depth)})"

    def truth(self, depth: int) -> str:
        return self.column("bool") or self.comparison(depth)


_Maker = Callable[[Expressions, int], str]


def _general(kind: str) -> list[_Maker]:
    return [lambda e, d: e.case(kind, d), lambda e, d: e.coalesce(kind, d)]


def _numeric(kind: str) -> list[_Maker]:
    return [
        lambda e, d: e.infix(kind, "+", d),
        lambda e, d: e.infix(kind, "-", d),
        lambda e, d: e.call("(- {})", kind, d),
    ]


def _call(text: str, kind: str) -> _Maker:
    return lambda e, d: e.call(text, kind, d)


_PREDICATES: list[_Maker] = [
    Expressions.comparison,
    Expressions.comparison,
    Expressions.is_null,
    Expressions.in_list,
    Expressions.between,
    Expressions.like,
    Expressions.truth,
]

_MAKERS: dict[str, list[_Maker]] = {
    "int": [
        *_general("int"),
        *_numeric("int"),
        _call("({} * 2)", "int"),
        _call("({} % 3)", "int"),
        _call("ABS({})", "int"),
        _call("LENGTH({})", "str"),
        _call("YEAR({})", "date"),
        _call("SIZE({})", "arr"),
        _call("CAST({} AS BIGINT)", "int"),
        _call("CAST({} AS INT)", "bool"),
        *[lambda e, d: _first(e)] * 3,
        *[lambda e, d: _field(e, "a", "int")] * 2,
    ],
    "dec": [*_general("dec"), *_numeric("dec"), _call("CAST({} AS DECIMAL(10,2))", "int")],
    "dbl": [*_general("dbl"), *_numeric("dbl"), _call("CAST({} AS DOUBLE)", "int"), _call("({} / 2)", "int")],
    "str": [
        *_general("str"),
        lambda e, d: f"CONCAT({e.of('str', d)}, {e.of('str', d)})",
        lambda e, d: e.infix("str", "||", d),
        _call("UPPER(REPLACE({}, 'é', 'e'))", "str"),
        _call("LOWER(REPLACE({}, 'é', 'e'))", "str"),
        _call("SUBSTRING({}, 1, 1)", "str"),
        _call("CAST({} AS STRING)", "int"),
        _call("CAST({} AS STRING)", "date"),
        _call("CAST({} AS STRING)", "dec"),
        lambda e, d: _field(e, "b", "str"),
    ],
    "bool": [*_PREDICATES, Expressions.both, Expressions.negated],
    "date": [*_general("date"), _call("CAST(DATE_ADD({}, 1) AS DATE)", "date"), _call("CAST({} AS DATE)", "ts")],
    "ts": [*_general("ts"), _call("CAST({} AS TIMESTAMP)", "date")],
    "arr": [*_general("arr")],
    "row": [
        *_general("row"),
        lambda e, d: f"NAMED_STRUCT('a', CAST({e.of('int', d)} AS INT), 'b', {e.of('str', d)})",
    ],
}


def _first(e: Expressions) -> str:
    """An item of an array, behind a guard: outside its bounds ANSI mode raises an error."""
    array = e.column("arr")
    at = e.rng.randint(0, 1)
    return f"CASE WHEN SIZE({array}) > {at} THEN {array}[{at}] END" if array else e.of("int", 0)


def _field(e: Expressions, name: str, kind: str) -> str:
    """A field of a struct column."""
    structs = [e.spell(a, c) for a, c in e.scope.columns if c.kind == "row"]
    return f"{e.rng.choice(structs)}.{name}" if structs else e.of(kind, 0)
