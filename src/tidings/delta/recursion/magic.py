"""Re-derivation on demand: maintenance without the old rows of the predicates that are maintained.

The maintenance rules read old rows of ``p`` only where something changed.  What they need is asked for with magic
predicates (Staudt and Jarke, algorithm 2): ``m_p_bf(x)`` asks for the rows of ``p`` whose first column is ``x``, where
``b`` and ``f`` say which columns are bound.  Rules are evaluated from the changes outwards, negated literals last; what
is joined so far is a supplementary predicate, which gives the next literal its bindings:

    closure_red(x, y) :- sup(x, y, z), closure_new(z, y).        sup(x, y, z) :- closure_del(x, y), edge_new(x, z).
    m_closure_bb(z, y) :- sup(x, y, z).

The query rules derive what is asked for, from the inputs alone, and ask further the same way:

    closure(x, y) :- m_closure_bf(x), edge(x, y).

A least or greatest value is never asked for by itself, since it is the least of its whole group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.delta.recursion.maintenance import (
    MaintenanceRules,
    extreme_members,
    maintenance_columns,
    maintenance_rules,
)
from tidings.ir.expression import Expression, operand, refs
from tidings.ir.relation import Column, Fixpoint
from tidings.ir.rule import DatalogAtom, DatalogRule, Literal, flattened, is_any, names_in, variable, variable_name

ONE: Expression = exp.Literal.number(1)
"""The argument of predicates that would have none."""


@dataclass(frozen=True, slots=True)
class OnDemandRules:
    """The rules of algorithm 2, in the order in which they are evaluated, and the query rules of all of them."""

    deletions: tuple[DatalogRule, ...]
    changes: tuple[DatalogRule, ...]
    """New states, re-derivations and insertions."""
    net: tuple[DatalogRule, ...]
    queries: tuple[DatalogRule, ...]
    new_states: tuple[DatalogRule, ...]
    columns: Mapping[str, tuple[Column, ...]]
    demanded: frozenset[str]
    """The predicates whose old rows are derived on demand."""

    @property
    def all(self) -> tuple[DatalogRule, ...]:
        return self.deletions + self.new_states + self.changes + self.net + self.queries


def on_demand_rules(node: Fixpoint, stored: frozenset[str] = frozenset()) -> OnDemandRules:
    """The maintenance rules of a fixpoint whose members have no rows at hand, except those in ``stored``."""
    return _Rewriting(node, frozenset(m.name for m in node.members) - stored).rules()


@dataclass(frozen=True, slots=True)
class QueryRules:
    """The rules that derive the rows of a fixpoint that are asked for, and the columns of their predicates."""

    rules: tuple[DatalogRule, ...]
    columns: Mapping[str, tuple[Column, ...]]
    magic: tuple[str, ...]
    """The predicates that ask, one for each question."""


def query_rules(node: Fixpoint, questions: Sequence[tuple[str, int]]) -> QueryRules:
    """The query rules for the rows of members that have given values in one column; a question is both."""
    rewriting = _Rewriting(node, frozenset(m.name for m in node.members))
    magic = tuple(rewriting.ask(predicate, column) for predicate, column in questions)
    return QueryRules(rewriting.queries(), rewriting.columns, magic)


@dataclass(slots=True)
class _Rewriting:
    node: Fixpoint
    demanded: frozenset[str]
    columns: dict[str, tuple[Column, ...]] = field(init=False)
    _adornments: dict[str, tuple[str, str]] = field(init=False, default_factory=dict)
    """The magic predicates there are: of which predicate, and with which adornment."""
    _supplementary: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.columns = maintenance_columns(self.node)

    def rules(self) -> OnDemandRules:
        rules: MaintenanceRules = maintenance_rules(self.node)
        deletions = [r for rule in rules.deletions for r in self._chain(rule, self._delta_place(rule))]
        changes = [r for rule in rules.rederivations for r in self._chain(rule, 0)]
        changes += [r for rule in rules.insertions for r in self._chain(rule, self._delta_place(rule))]
        changes += [r for rule in rules.net for r in self._idle_check(rule)]
        queries = self.queries()
        return OnDemandRules(
            tuple(deletions), tuple(changes), rules.net, queries, rules.new_states, self.columns, self.demanded
        )

    def _delta_place(self, rule: DatalogRule) -> int:
        """Which literal of a rule has the changes."""
        kinds = ("_del", "_ins")
        return next(
            n
            for n, literal in enumerate(rule.body)
            if any(literal.predicate == f"{name}{k}" for k in kinds for name in self._plain_names())
        )

    def _plain_names(self) -> list[str]:
        return [*(m.name for m in self.node.members), *self.node.names]

    def _idle_check(self, rule: DatalogRule) -> list[DatalogRule]:
        """What came is looked for in the old state: a plus that was there is none."""
        came, *rest = rule.body
        old = next((i for i in rest if i.predicate in self.demanded), None)
        if old is None or not came.predicate.endswith(("_ins", "_del")):
            return []
        return [self._magic(old.atom, set(came.variables), (came,), ())]

    def _chain(self, rule: DatalogRule, first: int) -> list[DatalogRule]:
        """A rule as a chain of joins that begins with one literal, with the magic rules it needs."""
        rest = [literal for n, literal in enumerate(rule.body) if n != first]
        outwards = [*reversed(rule.body[:first]), *rule.body[first + 1 :]] if first else rest
        joined = _by_bindings(rule.body[first], [i for i in outwards if not i.negated])
        return self._joined(rule.head, [*joined, *(i for i in rest if i.negated)], rule.conditions)

    def _joined(
        self, head: DatalogAtom, literals: list[Literal], conditions: tuple[Expression, ...]
    ) -> list[DatalogRule]:
        """Literals joined one after the other; before each that is derived on demand stands what asks for it."""
        rules: list[DatalogRule] = []
        joined: tuple[Literal, ...] = (literals[0],)
        for number, literal in enumerate(literals[1:], 1):
            target = self._asked(literal)
            if target is not None:
                if len(joined) > 1:
                    later = [head, *(i.atom for i in literals[number:])]
                    joined = (self._supplement(joined, later, conditions, rules),)
                bound = {name for i in joined for name in i.variables}
                rules.append(self._magic(DatalogAtom(target, literal.atom.terms), bound, joined, ()))
            joined = (*joined, literal)
        rules.append(DatalogRule(head, joined, conditions))
        return rules

    def _asked(self, literal: Literal) -> str | None:
        """The predicate whose old rows a literal needs, if these are derived on demand."""
        name = literal.predicate.removesuffix("_new")
        return next((n for n in (literal.predicate, name) if n in self.demanded), None)

    def _supplement(
        self,
        joined: tuple[Literal, ...],
        later: list[DatalogAtom],
        conditions: tuple[Expression, ...],
        rules: list[DatalogRule],
    ) -> Literal:
        """A predicate for what is joined so far, with the variables that are needed later."""
        bound = {name for i in joined for name in i.variables}
        terms = [t for atom in later for t in atom.terms]
        needed = [name for name in names_in([*terms, *conditions]) if name in bound]
        self._supplementary += 1
        name = f"sup_{self._supplementary}"
        arguments = tuple(variable(n) for n in needed) or (ONE,)
        types = self._variable_types(joined)
        self.columns[name] = tuple(Column(n, types[n]) for n in needed) or (Column("one", "int"),)
        rules.append(DatalogRule(DatalogAtom(name, arguments), joined))
        return Literal(DatalogAtom(name, arguments))

    def _variable_types(self, literals: tuple[Literal, ...]) -> dict[str, str]:
        types: dict[str, str] = {}
        for literal in literals:
            for term, target in zip(literal.atom.terms, self.columns[literal.predicate], strict=True):
                name = variable_name(term)
                if name is not None and not is_any(term):
                    types.setdefault(name, target.type)
        return types

    def _magic(
        self, atom: DatalogAtom, bound: set[str], body: tuple[Literal, ...], conditions: tuple[Expression, ...]
    ) -> DatalogRule:
        """The rule that asks for the rows of an atom, given the variables that are bound."""
        is_bound = [not is_any(term) and all(n in bound for _, n in refs(term)) for term in atom.terms]
        if atom.predicate in extreme_members(self.node):
            is_bound[-1] = False
        adornment = "".join("b" if b else "f" for b in is_bound)
        name = f"m_{atom.predicate}_{adornment}"
        columns = [c for c, b in zip(self.columns[atom.predicate], is_bound, strict=True) if b]
        self._adornments[name] = atom.predicate, adornment
        self.columns[name] = tuple(columns) or (Column("one", "int"),)
        terms = tuple(term for term, b in zip(atom.terms, is_bound, strict=True) if b) or (ONE,)
        return DatalogRule(DatalogAtom(name, terms), body, conditions)

    def ask(self, predicate: str, column: int) -> str:
        """The magic predicate that asks for the rows of a member by the values of one column."""
        terms = tuple(variable(f"x{n}") for n in range(len(self.columns[predicate])))
        atom = DatalogAtom(predicate, terms)
        return self._magic(atom, {f"x{column}"}, (), ()).head.predicate

    def queries(self) -> tuple[DatalogRule, ...]:
        """The query rules of all magic predicates, and of those that they ask with themselves."""
        rules: list[DatalogRule] = []
        done: set[str] = set()
        while waiting := [name for name in self._adornments if name not in done]:
            for magic in waiting:
                done.add(magic)
                predicate, adornment = self._adornments[magic]
                for rule in (r for r in self.node.rules if r.head.predicate == predicate):
                    rules += self._query(rule, magic, adornment)
        return tuple(dict.fromkeys(rules))

    def _query(self, rule: DatalogRule, magic: str, adornment: str) -> list[DatalogRule]:
        """An original rule behind the magic predicate that asks for its head."""
        terms: list[Expression] = []
        conditions = list(rule.conditions)
        for number, (term, mark) in enumerate(zip(rule.head.terms, adornment, strict=True)):
            if mark == "f":
                continue
            if variable_name(term) is None:
                asked = variable(f"asked_{number}")
                conditions.append(exp.NullSafeEQ(this=asked, expression=operand(term)))
                terms.append(asked)
            else:
                terms.append(term)
        guard = Literal(DatalogAtom(magic, tuple(terms) or (ONE,)))
        plain = flattened(DatalogRule(rule.head, rule.body, tuple(conditions)))
        ordered = [*_by_bindings(guard, list(plain.positive)), *(i for i in plain.body if i.negated)]
        return self._joined(plain.head, ordered, plain.conditions)


def _by_bindings(first: Literal, rest: list[Literal]) -> list[Literal]:
    """Literals in the order in which most of their columns are bound; as they come where that is the same."""
    ordered, bound = [first], set(first.variables)
    while rest:
        best = max(rest, key=lambda i: sum(v in bound for v in i.variables))
        rest = [i for i in rest if i is not best]
        ordered.append(best)
        bound |= set(best.variables)
    return ordered
