"""Resolves the rules of a program: names to predicates and columns, assignments to values; unsafe rules are refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from tidings.errors import (
    InvalidDatalog,
    NotStratified,
    Place,
    UnknownColumn,
    UnknownRelation,
    UnsafeVariable,
    WrongArity,
    closest,
)
from tidings.ir.expression import Expression, operand, refs, substitute
from tidings.ir.relation import Column
from tidings.ir.rule import VARIABLES, DatalogAtom, DatalogRule, Literal, is_any, names_in, variable, variable_name
from tidings.lang.datalog.parse import COMPARISONS
from tidings.lang.datalog.strata import components, cycle, is_recursive
from tidings.lang.datalog.syntax import Argument, ParsedAtom, ParsedComparison, ParsedProgram, ParsedRule
from tidings.lang.sql.context import Namespace


@dataclass(frozen=True, slots=True)
class ResolvedRule:
    """A rule over predicates by position, and where it was written.

    At the positions of ``aggregates`` the head has an aggregate; the other positions are its groups.
    """

    rule: DatalogRule
    parsed: ParsedRule
    aggregates: tuple[int, ...] = ()


@dataclass(slots=True)
class Resolved:
    """A program whose names are resolved."""

    rules: dict[str, list[ResolvedRule]]
    """The rules of each predicate that the program defines."""
    names: dict[str, tuple[str, ...]]
    """The columns of these predicates."""
    relations: dict[str, tuple[Column, ...]]
    """The tables and views it reads."""
    declared: dict[str, tuple[Column, ...]]
    components: list[tuple[str, ...]] = field(default_factory=list)
    """The predicates it defines, those that depend on each other together, lower ones first."""
    recursive: frozenset[str] = frozenset()


def resolve(program: ParsedProgram, namespace: Namespace) -> Resolved:
    """Resolve and check a program."""
    resolver = _Resolver(program, namespace)
    resolved = resolver.resolve()
    _stratify(resolved)
    return resolved


class _Resolver:
    """Resolves one program."""

    def __init__(self, program: ParsedProgram, namespace: Namespace) -> None:
        self.program, self.namespace = program, namespace
        self.heads: dict[str, str] = {}
        for rule in program.rules:
            self.heads.setdefault(rule.head.predicate.lower(), rule.head.predicate)
        declared = {d.predicate.lower(): d for d in program.declarations}
        self.result = Resolved({name: [] for name in self.heads.values()}, {}, {}, {})
        for key, name in self.heads.items():
            if key in declared:
                columns = tuple(Column(n, t) for n, t in declared[key].columns)
                self.result.declared[name] = columns
                self.result.names[name] = tuple(c.name for c in columns)
            else:
                first = next(r for r in program.rules if r.head.predicate.lower() == key)
                self.result.names[name] = _column_names(first.head)

    def resolve(self) -> Resolved:
        if not self.program.rules and not self.program.questions:
            raise InvalidDatalog(reason="it has no rules")
        for parsed in self.program.rules:
            name = self.heads[parsed.head.predicate.lower()]
            self.result.rules[name].append(self._rule(name, parsed))
        return self.result

    def columns(self, atom: ParsedAtom) -> tuple[str, tuple[str, ...]]:
        """A predicate's name as it was defined, and its columns."""
        if atom.predicate.lower() in self.heads:
            name = self.heads[atom.predicate.lower()]
            return name, self.result.names[name]
        known = self.namespace.columns(atom.predicate)
        if known is None:
            hint = closest(atom.predicate, [*self.heads.values(), *self.namespace.names()])
            raise UnknownRelation(atom.place, hint, name=atom.predicate)
        self.result.relations[known[0]] = known[1]
        return known[0], tuple(c.name for c in known[1])

    def atom(self, parsed: ParsedAtom) -> DatalogAtom:
        name, columns = self.columns(parsed)
        return DatalogAtom(name, self._terms(parsed, name, columns))

    def _terms(self, parsed: ParsedAtom, name: str, columns: tuple[str, ...]) -> tuple[Expression, ...]:
        named = [a for a in parsed.arguments if a.name is not None]
        if not named:
            if len(parsed.arguments) != len(columns):
                raise _arity(parsed, name, columns)
            return tuple(_term(a) for a in parsed.arguments)
        if len(named) < len(parsed.arguments):
            raise InvalidDatalog(parsed.place, reason="arguments are named or by position, not both")
        by_name = {c.lower(): position for position, c in enumerate(columns)}
        terms: list[Expression] = [variable(f"_c{n}") for n in range(len(columns))]
        for argument in named:
            position = by_name.get((argument.name or "").lower())
            if position is None:
                raise UnknownColumn(argument.place, closest(argument.name or "", columns), name=argument.name)
            terms[position] = _term(argument)
        return tuple(terms)

    def _rule(self, name: str, parsed: ParsedRule) -> ResolvedRule:
        head = self._terms(_unnamed(parsed.head), name, self.result.names[name])
        body = tuple(Literal(self.atom(i.atom), i.negated) for i in parsed.literals)
        aggregates = tuple(n for n, term in enumerate(head) if _is_aggregate(term))
        if any(term.find(exp.AggFunc) for n, term in enumerate(head) if n not in aggregates):
            reason = "an aggregate is a term of the head by itself: compute with it in another rule"
            raise InvalidDatalog(parsed.head.place, reason=reason)
        if aggregates:
            body = _all_named(body)
        rule = _assigned(DatalogRule(DatalogAtom(name, head), body), list(parsed.comparisons), parsed)
        self._check_safe(rule, parsed)
        return ResolvedRule(rule, parsed, aggregates)

    def _check_safe(self, rule: DatalogRule, parsed: ParsedRule) -> None:
        bound = {name for i in rule.positive for name in _plain_variables(i.atom)}
        places = dict(_places(parsed))
        for term in rule.head.terms:
            if is_any(term):
                raise UnsafeVariable(parsed.head.place, "a head has no _", predicate=rule.head.predicate, variable="_")
        used = [*rule.head.terms, *rule.conditions, *(t for i in rule.body for t in i.atom.terms)]
        for name in names_in(used):
            if name not in bound:
                place = places.get(name, parsed.place)
                raise UnsafeVariable(place, predicate=rule.head.predicate, variable=name)


def _column_names(head: ParsedAtom) -> tuple[str, ...]:
    """The columns of a predicate that is not declared: the variables of its first head, as far as they are distinct."""
    names: list[str] = []
    for position, argument in enumerate(head.arguments, 1):
        name = argument.name or (variable_name(argument.term) if argument.term is not None else None)
        if name is None and argument.term is not None and _is_aggregate(argument.term):
            name = argument.term.key.lower()
        if name is None or name.startswith("_") or name.lower() in {n.lower() for n in names}:
            name = f"c{position}"
        names.append(name)
    return tuple(names)


def _unnamed(head: ParsedAtom) -> ParsedAtom:
    """A head by position; names of its arguments are names of columns."""
    if all(a.name is not None for a in head.arguments) and head.arguments:
        return head
    return replace(head, arguments=tuple(replace(a, name=None) for a in head.arguments))


def _arity(parsed: ParsedAtom, name: str, columns: tuple[str, ...]) -> WrongArity:
    example = columns[0] if columns else "column"
    return WrongArity(
        parsed.place, predicate=name, example=example, columns=len(columns), arguments=len(parsed.arguments)
    )


def _term(argument: Argument) -> Expression:
    if argument.term is None:
        raise InvalidDatalog(argument.place, reason="* stands only in count(*)")
    return argument.term


def _is_aggregate(term: Expression) -> bool:
    return isinstance(term, exp.Count | exp.Sum | exp.Min | exp.Max | exp.Avg)


def _all_named(body: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """A body in which every column of a positive literal has a variable: aggregates count all combinations of rows."""
    numbers = count(1)

    def named(term: Expression) -> Expression:
        return variable(f"any_{next(numbers)}") if is_any(term) else term

    return tuple(
        i if i.negated else Literal(DatalogAtom(i.predicate, tuple(map(named, i.atom.terms))), negated=False)
        for i in body
    )


def _plain_variables(atom: DatalogAtom) -> Iterable[str]:
    """The variables that an atom gives values to."""
    return (name for term in atom.terms if (name := variable_name(term)) is not None and not is_any(term))


def _assigned(rule: DatalogRule, comparisons: list[ParsedComparison], parsed: ParsedRule) -> DatalogRule:
    """Put values in the place of variables that an equation defines; what is left are conditions."""
    bound = {name for i in rule.positive for name in _plain_variables(i.atom)}
    values: dict[str, Expression] = {}
    pending = list(comparisons)
    progress = True
    while progress:
        progress = False
        for comparison in list(pending):
            assignment = _assignment(comparison, bound)
            if assignment is not None:
                name, value = assignment
                values[name] = substitute(value, {(VARIABLES, n): v for n, v in values.items()})
                bound.add(name)
                pending.remove(comparison)
                progress = True
    by = {(VARIABLES, n): v for n, v in values.items()}

    def atom(of: DatalogAtom) -> DatalogAtom:
        return DatalogAtom(of.predicate, tuple(substitute(t, by) for t in of.terms))

    body = tuple(Literal(atom(i.atom), i.negated) for i in rule.body)
    conditions = tuple(
        COMPARISONS[c.operator](this=operand(substitute(c.left, by)), expression=operand(substitute(c.right, by)))
        for c in pending
    )
    return DatalogRule(atom(rule.head), body, conditions)


def _assignment(comparison: ParsedComparison, bound: set[str]) -> tuple[str, Expression] | None:
    """The variable that a comparison gives a value, and the value."""
    if comparison.operator != "=":
        return None
    for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        name = variable_name(side)
        if name is not None and name not in bound and not is_any(side) and all(n in bound for _, n in refs(other)):
            return name, other
    return None


def _places(parsed: ParsedRule) -> Iterable[tuple[str, Place]]:
    """Where the variables of a rule are written; of several places the first of the head counts most."""
    for comparison in parsed.comparisons:
        for name in names_in([comparison.left, comparison.right]):
            yield name, comparison.place
    for atom in (*(i.atom for i in reversed(parsed.literals)), parsed.head):
        for argument in reversed(atom.arguments):
            if argument.term is not None:
                for name in names_in([argument.term]):
                    yield name, argument.place


def _stratify(resolved: Resolved) -> None:
    edges = {
        head: {i.predicate for r in rules for i in r.rule.body if i.predicate in resolved.rules}
        for head, rules in resolved.rules.items()
    }
    resolved.components = components(edges)
    recursive = [c for c in resolved.components if is_recursive(c, edges)]
    resolved.recursive = frozenset(name for component in recursive for name in component)
    for component in recursive:
        inner = {name: edges[name] & set(component) for name in component}
        for name in component:
            for resolved_rule in resolved.rules[name]:
                _check_stratified(resolved_rule, component, inner)


def _check_stratified(resolved: ResolvedRule, component: tuple[str, ...], edges: dict[str, set[str]]) -> None:
    head = resolved.rule.head.predicate
    for literal, parsed in zip(resolved.rule.body, resolved.parsed.literals, strict=True):
        if literal.negated and literal.predicate in component:
            way = [head, *cycle(literal.predicate, head, edges)]
            shown = f"{way[0]} → !{' → '.join(way[1:])}"
            raise NotStratified(parsed.atom.place, through="a negation", cycle=shown, predicate=head)
    recursive = [i.predicate for i in resolved.rule.body if i.predicate in component]
    kinds = {type(resolved.rule.head.terms[n]) for n in resolved.aggregates}
    if recursive and not kinds <= {exp.Min, exp.Max}:
        way = [head, *cycle(recursive[0], head, edges)]
        through = "an aggregate other than min and max"
        raise NotStratified(resolved.parsed.head.place, through=through, cycle=" → ".join(way), predicate=head)
