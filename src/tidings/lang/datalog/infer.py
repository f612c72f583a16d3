"""Finds the types of predicates: those of relations are known, those of rules follow from what they compute.

The engine's analyzer has the word on expressions and on the common type of several rules.  Predicates that depend on
each other are gone through until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import InvalidDatalog, InvalidExpression, Place, TypeConflict, UnsupportedType
from tidings.ir import types
from tidings.ir.expression import Expression, column, substitute, typed_null
from tidings.ir.relation import Column
from tidings.ir.rule import VARIABLES, is_any, variable_name
from tidings.lang.datalog.resolve import Resolved, ResolvedRule
from tidings.lang.sql.context import AnalysisFailed, Analyzer

_TURNS = 60
"""Types that still change after so many turns do not settle; decimals reach their widest long before."""

VariableTypes = dict[str, str]


@dataclass(slots=True)
class TypeInference:
    """Finds the columns of the predicates of one program."""

    resolved: Resolved
    analyzer: Analyzer
    columns: dict[str, tuple[Column, ...]]

    def infer(self) -> dict[str, tuple[Column, ...]]:
        """The columns of every predicate and relation of the program."""
        for component in self.resolved.components:
            self._component(component)
        return self.columns

    def _component(self, component: tuple[str, ...]) -> None:
        for name in component:
            if name in self.resolved.declared:
                self.columns[name] = self.resolved.declared[name]
        for _ in range(_TURNS):
            before = {name: self.columns.get(name) for name in component}
            for name in component:
                self._predicate(name)
            if before == {name: self.columns.get(name) for name in component}:
                break
        else:
            place = self.resolved.rules[component[0]][0].parsed.place
            raise InvalidDatalog(place, reason=f"the types of {component[0]} do not settle: declare it with .decl")
        for name in component:
            if name not in self.columns:
                rule = self.resolved.rules[name][0]
                reason = f"{name} follows only from itself, so it has no rows and no types"
                raise InvalidDatalog(rule.parsed.place, "add a rule that does not read it", reason=reason)

    def _predicate(self, name: str) -> None:
        rows: list[list[str]] = []
        for rule in self.resolved.rules[name]:
            if all(i.predicate in self.columns for i in rule.rule.body):
                rows.append(self.head_types(rule))
        if not rows:
            return
        place = self.resolved.rules[name][0].parsed.head.place
        if name in self.resolved.declared:
            return
        names = self.resolved.names[name]
        common = rows[0] if len(set(map(tuple, rows))) == 1 else self._common(rows, place)
        for type in common:
            if not types.is_supported(type):
                raise UnsupportedType(place, type=type)
        self.columns[name] = tuple(Column(n, t) for n, t in zip(names, common, strict=True))

    def _common(self, rows: list[list[str]], place: Place) -> list[str]:
        selects = [exp.select(*(typed_null(t).as_(f"c{n}") for n, t in enumerate(row))) for row in rows]
        return [c.type for c in self._analyze(exp.union(*selects, distinct=False), place)]

    def head_types(self, resolved: ResolvedRule) -> list[str]:
        """The types of what a rule computes; its conditions are checked on the way."""
        rule, place = resolved.rule, resolved.parsed.place
        variables = self.variable_types(resolved)
        for condition in rule.conditions:
            first, second = self.types_of([condition.this, condition.expression], variables, place)
            self._check(condition.sql("spark"), first, second, resolved)
        terms = list(rule.head.terms)
        groups = [n for n in range(len(terms)) if n not in resolved.aggregates]
        result = dict(zip(groups, self.types_of([terms[n] for n in groups], variables, place), strict=True))
        aggregates = list(resolved.aggregates)
        kinds = self.types_of([terms[n] for n in aggregates], variables, place)
        result |= dict(zip(aggregates, kinds, strict=True))
        return [result[n] for n in range(len(terms))]

    def variable_types(self, resolved: ResolvedRule) -> VariableTypes:
        """The types of a rule's variables, which its positive literals give them."""
        found: VariableTypes = {}
        rule = resolved.rule
        for literal in (*rule.positive, *(i for i in rule.body if i.negated)):
            for term, target in zip(literal.atom.terms, self.columns[literal.predicate], strict=True):
                name = variable_name(term)
                if name is None:
                    (type,) = self.types_of([term], found, resolved.parsed.place)
                    self._check(term.sql("spark"), type, target.type, resolved)
                elif not is_any(term):
                    self._check(name, found.setdefault(name, target.type), target.type, resolved)
        return found

    def _check(self, shown: str, first: str, second: str, resolved: ResolvedRule) -> None:
        if first != second and _family(first) != _family(second) and "void" not in (first, second):
            predicate = resolved.rule.head.predicate
            raise TypeConflict(resolved.parsed.place, predicate=predicate, variable=shown, first=first, second=second)

    def types_of(self, expressions: list[Expression], variables: VariableTypes, place: Place) -> list[str]:
        """The types of expressions over variables."""
        if not expressions:
            return []
        flat = {(VARIABLES, name): column("r", name) for name in variables}
        nulls = [typed_null(type).as_(name, quoted=True) for name, type in variables.items()]
        nothing = [exp.Literal.number(1).as_("one")]
        source = exp.select(*(nulls or nothing)).subquery(exp.to_identifier("r", quoted=True))
        items = [substitute(e, flat).copy().as_(f"c{n}") for n, e in enumerate(expressions)]
        return [c.type for c in self._analyze(exp.select(*items).from_(source), place)]

    def _analyze(self, query: exp.Query, place: Place) -> tuple[Column, ...]:
        try:
            return self.analyzer.analyze(query)
        except AnalysisFailed as failed:
            raise InvalidExpression(place, reason=failed.reason) from None


def _family(type: str) -> str:
    """Types whose values can be compared are of one family."""
    numeric = type in types.INTEGRAL or type in ("float", "double") or types.decimal(type) is not None
    times = type in ("date", "timestamp", "timestamp_ntz")
    return "number" if numeric else "time" if times else type
