"""The rule programs that maintain a recursion: what is evaluated, in which order, over which rows.

``stored`` members have their old rows at hand; the rows of the others are derived on demand.  Where all are stored one
program does everything.  Else there are three, one after the other: what may be gone, then what is still there and what
comes, then the net of both.  Each derives what it asks for; the second begins when nothing can be gone any more, since
it reads the absence of that.

In a batch of several instants the state before an instant is the one at its beginning without what has gone since
(``_gone``), with what has come (``_come``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tidings.delta.recursion.lookup import lookup_plan
from tidings.delta.recursion.magic import OnDemandRules, on_demand_rules
from tidings.delta.recursion.maintenance import extreme_predicates, maintenance_columns, maintenance_rules
from tidings.delta.recursion.rounds import RuleProgram
from tidings.ir.relation import Column, Fixpoint, Relation
from tidings.ir.rule import DatalogAtom, DatalogRule, Literal, rule_text, variable

SINCE, COME, GONE = "_since", "_come", "_gone"


@dataclass(frozen=True)
class MaintenancePrograms:
    """How one recursion is maintained."""

    node: Fixpoint
    stored: Mapping[str, Relation]
    """The old rows of members that have them at hand."""
    given: Mapping[str, Relation]
    """The old rows of inputs, at the beginning of the batch."""
    _lookups: dict[tuple[str, tuple[int, ...], bool], Relation] = field(default_factory=dict)

    @cached_property
    def rules(self) -> OnDemandRules:
        return on_demand_rules(self.node, frozenset(self.stored))

    @property
    def on_demand(self) -> bool:
        """Whether old rows of some members are derived."""
        return bool(self.rules.demanded)

    @cached_property
    def columns(self) -> dict[str, tuple[Column, ...]]:
        """The columns of all predicates."""
        columns = dict(maintenance_columns(self.node)) | dict(self.rules.columns)
        for name in (*self.given, *self.stored):
            columns |= {f"{name}{kind}": columns[name] for kind in (SINCE, COME, GONE)}
        return columns

    @cached_property
    def first(self) -> tuple[RuleProgram, ...]:
        """The programs for the first instant of a batch: old states are as given."""
        return self._programs({**self.given, **self.stored}, ())

    @cached_property
    def later(self) -> tuple[RuleProgram, ...]:
        """The programs for the following instants, over what has come and gone since the beginning."""
        at_beginning = {f"{name}{SINCE}": plan for name, plan in {**self.given, **self.stored}.items()}
        states = [rule for name in (*self.given, *self.stored) for rule in self._state_rules(name)]
        return self._programs(at_beginning, tuple(states))

    def lookup(self, name: str, plan: Relation, positions: tuple[int, ...], *, null_safe: bool) -> Relation:
        """The plan that finds the rows of a given predicate by keys, made once."""
        key = (name, positions, null_safe)
        if key not in self._lookups:
            self._lookups[key] = lookup_plan(plan, self.columns[name], positions, null_safe=null_safe)
        return self._lookups[key]

    def text(self) -> str:
        """The rules, as a program that the language accepts."""
        rules = self.rules.all if self.on_demand else maintenance_rules(self.node).all
        extremes = extreme_predicates(self.node)
        return "\n".join(dict.fromkeys(rule_text(rule, extremes.get(rule.head.predicate)) for rule in rules))

    def _programs(self, given: Mapping[str, Relation], states: tuple[DatalogRule, ...]) -> tuple[RuleProgram, ...]:
        rules = self.rules
        inlined = frozenset(r.head.predicate for r in (*rules.new_states, *states))
        first = rules.deletions + rules.queries if self.on_demand else rules.deletions
        second = rules.changes + rules.queries if self.on_demand else rules.changes

        def program(part: tuple[DatalogRule, ...]) -> RuleProgram:
            idle = {f"{name}_ins": name for name in self.stored}
            every = tuple(dict.fromkeys(part + rules.new_states + states))
            return RuleProgram(every, self.columns, given, inlined, extreme_predicates(self.node), idle)

        return program(first), program(second), program(rules.net)

    def _state_rules(self, name: str) -> tuple[DatalogRule, DatalogRule]:
        terms = tuple(variable(f"x{n}") for n in range(1, len(self.columns[name]) + 1))
        head, since, come, gone = (DatalogAtom(f"{name}{kind}", terms) for kind in ("", SINCE, COME, GONE))
        kept = DatalogRule(head, (Literal(since), Literal(gone, negated=True)))
        return kept, DatalogRule(head, (Literal(come),))
