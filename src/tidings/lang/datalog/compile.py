"""From resolved rules to plans: predicates that do not recurse become joins, the others fixpoints.

Every predicate is a set.  With ``views`` a rule reads the predicates of the program as views of their names, else each
is put in the place where it is read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.errors import InvalidDatalog
from tidings.ir.expression import Expression, column, substitute
from tidings.ir.relation import (
    Aggregate,
    Column,
    Fixpoint,
    Item,
    Project,
    Relation,
    Scan,
    Union,
)
from tidings.ir.rename import rename
from tidings.ir.rule import VARIABLES, DatalogRule, Member, labels, names_in, rule_text, variable, with_predicates
from tidings.ir.text import show
from tidings.lang.datalog.extremes import extremes, without_aggregate
from tidings.lang.datalog.infer import TypeInference
from tidings.lang.datalog.parse import parse
from tidings.lang.datalog.resolve import Resolved, ResolvedRule, resolve
from tidings.lang.datalog.rule_plan import as_columns, body_plan, distinct, renamed, rule_plan
from tidings.lang.datalog.syntax import Argument, ParsedAtom, ParsedLiteral, ParsedProgram, ParsedRule
from tidings.lang.sql.context import Analyzer, Namespace

ANSWER = "answer"
"""The predicate of a question."""


@dataclass(slots=True)
class DatalogProgram:
    """A program that is bound to relations."""

    parsed: ParsedProgram
    resolved: Resolved
    columns: dict[str, tuple[Column, ...]]
    views: bool = False
    """Whether its predicates are views of their names."""
    _plans: dict[str, Relation] = field(default_factory=dict)

    @property
    def predicates(self) -> list[str]:
        """The predicates it defines, each after those it reads, as far as they do not read each other."""
        return [name for component in self.resolved.components for name in component]

    def plan(self, predicate: str) -> Relation:
        """The rows of a predicate."""
        if predicate not in self._plans:
            recursive = predicate in self.resolved.recursive
            self._plans[predicate] = self._fixpoint(predicate) if recursive else self._union(predicate)
        return self._plans[predicate]

    def _rows(self, predicate: str, alias: str, *, inline: bool = False) -> Relation:
        columns = self.columns[predicate]
        if predicate in self.resolved.relations or (self.views and not inline):
            return Scan(predicate, alias, columns)
        return renamed(rename(self.plan(predicate), lambda inner: f"{alias}_{inner}"), alias, columns)

    def _union(self, name: str) -> Relation:
        columns = self.columns[name]
        branches = tuple(
            self._branch(rule, f"{name}_{number}") for number, rule in enumerate(self.resolved.rules[name], 1)
        )
        return distinct(branches[0] if len(branches) == 1 else Union(branches, f"{name}_all", columns), name)

    def _branch(self, resolved: ResolvedRule, alias: str) -> Relation:
        rule, columns = resolved.rule, self.columns[resolved.rule.head.predicate]

        def rows(number: int, literal_alias: str) -> Relation:
            return self._rows(rule.body[number].predicate, literal_alias)

        if not resolved.aggregates:
            return rule_plan(rule, rows, columns, alias)
        return _aggregated(resolved, body_plan(rule, rows, alias), columns, alias)

    def _fixpoint(self, output: str) -> Fixpoint:
        component = next(c for c in self.resolved.components if output in c)
        kinds = extremes(component, self.resolved)
        rules = [without_aggregate(r.rule) for name in component for r in self.resolved.rules[name]]
        read = dict.fromkeys(i.predicate for rule in rules for i in rule.body if i.predicate not in component)
        label = labels([*component, *read])
        members = tuple(Member(label[name], self.columns[name], kinds.get(name)) for name in component)
        labelled = tuple(with_predicates(rule, label.__getitem__) for rule in rules)
        inputs = tuple(self._rows(name, f"{output}_{name}_rows") for name in read)
        group = group_name(members, labelled, inputs)
        names = tuple(label[name] for name in read)
        return Fixpoint(inputs, names, members, labelled, label[output], group, output)


def group_name(members: tuple[Member, ...], rules: tuple[DatalogRule, ...], inputs: tuple[Relation, ...]) -> str:
    """A name for a recursion that is another for every other one."""
    neutral = (rename(i, lambda _alias: "a") if isinstance(i, Scan) else i for i in inputs)
    parts = [*map(repr, members), *map(rule_text, rules), *map(show, neutral)]
    return "fixpoint_" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _aggregated(
    resolved: ResolvedRule,
    body: tuple[Relation, dict[tuple[str, str], Expression]],
    columns: tuple[Column, ...],
    alias: str,
) -> Relation:
    """Aggregates over the distinct combinations of the body's variables, grouped by the other terms of the head."""
    plan, bound = body
    rule = resolved.rule
    types = {f.ref: f.type for f in plan.fields}
    names = names_in(t for i in rule.positive for t in i.atom.terms)
    combinations = tuple(
        Item(name, types[value.table, value.name], value)
        for name in names
        if isinstance(value := bound[VARIABLES, name], exp.Column)
    )
    inner = Aggregate(plan, f"{alias}_set", combinations, ())
    by = {(VARIABLES, item.name): column(inner.alias, item.name) for item in combinations}
    numbered = list(enumerate(zip(rule.head.terms, columns, strict=True)))
    items = {n: Item(c.name, c.type, substitute(term, by)) for n, (term, c) in numbered}
    keys = tuple(item for n, item in items.items() if n not in resolved.aggregates)
    values = tuple(item for n, item in items.items() if n in resolved.aggregates)
    grouped = Aggregate(inner, f"{alias}_groups", keys, values)
    return Project(grouped, alias, tuple(Item(c.name, c.type, column(grouped.alias, c.name)) for c in columns))


def bind_program(
    program: str,
    namespace: Namespace,
    analyzer: Analyzer,
    text: str | None = None,
    offset: int = 0,
    *,
    views: bool = False,
) -> DatalogProgram:
    """A program bound to relations; places refer to ``text``, in which it begins at ``offset``."""
    parsed = parse(program, text, offset)
    if not views:
        parsed.rules += [_question(question) for question in parsed.questions[-1:]]
    resolved = resolve(parsed, namespace)
    columns = TypeInference(resolved, analyzer, dict(resolved.relations)).infer()
    return DatalogProgram(parsed, resolved, columns, views)


def bind_view(program: str, name: str, namespace: Namespace, analyzer: Analyzer, text: str, offset: int) -> Relation:
    """The plan of a view by a program: its question, its ``.output``, the predicate of its name or the last one."""
    bound = bind_program(program, namespace, analyzer, text, offset)
    return named_for(bound.plan(_output(bound, name)), name)


def _output(bound: DatalogProgram, name: str) -> str:
    defined = {p.lower(): p for p in bound.resolved.rules}
    if bound.parsed.questions:
        return ANSWER
    for asked in bound.parsed.outputs[:1]:
        if asked.lower() not in defined:
            raise InvalidDatalog(reason=f".output names {asked}, for which there is no rule")
        return defined[asked.lower()]
    return defined.get(name.lower()) or bound.parsed.rules[-1].head.predicate


def named_for(plan: Relation, name: str) -> Relation:
    """A plan under the name of its view."""
    return plan if plan.fields[0].alias == name else renamed(plan, name, as_columns(plan.fields))


def _question(question: ParsedAtom) -> ParsedRule:
    """A question as a rule whose head has its variables."""
    names = names_in(a.term for a in question.arguments if a.term is not None)
    arguments = tuple(Argument(variable(name), question.place) for name in names)
    if not arguments:
        arguments = (Argument(exp.Boolean(this=True), question.place, "holds"),)
    head = ParsedAtom(ANSWER, arguments, question.place)
    return ParsedRule(head, (ParsedLiteral(question, negated=False),), (), question.place)
