"""The changes of a recursion that counts duplicates, as ``UNION ALL`` does: rounds over what came and went.

Each rule reads the recursive rows at most once, so what the rules derive is linear in them.  With ``A`` for the rules
that do not read them, ``L`` for those that do, and ``′`` for states after the change:

    P   =  A ⊎ L(P)
    ΔP  =  ΔA ⊎ ΔL(P) ⊎ L′(ΔP)          the last term is a round, and there are rounds as long as it gives something

``ΔA`` and ``ΔL(P)`` are one term per literal that reads an input: the literals before it see the state after the
change, those behind it the state before.  A literal that is negated has no such term; then the recursion is evaluated
anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tidings.delta.recursion.rounds import PREFIX
from tidings.delta.restrict import restrict
from tidings.ir.relation import Column, Fixpoint, Member, Project, Relation, Scan, Version
from tidings.ir.rename import rename
from tidings.ir.rule import DatalogRule
from tidings.ir.traverse import rebuild
from tidings.lang.datalog.rule_plan import as_columns, reference, renamed, rule_plan

BEFORE, OLD_ROWS = "before ", f"{PREFIX}old rows"
"""Before the names of relations as they were, and the relation that has the recursive rows as they were."""


@dataclass(frozen=True)
class BagRules:
    """The plans that give the changes of one recursion; scans of DELTA read what came, or what went."""

    node: Fixpoint
    given: Mapping[str, Relation]
    """The rows of inputs."""
    stored: tuple[Column, ...] = ()
    """The columns of the recursive rows where they are stored."""

    @property
    def member(self) -> Member:
        (member,) = self.node.members
        return member

    @property
    def is_maintained(self) -> bool:
        """Whether the rules are such that changes can be computed from changes."""
        linear = all(sum(i.predicate == self.member.name for i in rule.body) <= 1 for rule in self.node.rules)
        return len(self.node.members) == 1 and linear and not any(i.negated for r in self.node.rules for i in r.body)

    def reads_old_rows(self, changed: frozenset[str]) -> bool:
        """Whether the recursive rows as they were matter to changes of some inputs."""
        return any(
            self._is_recursive(rule) and any(i.predicate in changed for i in rule.body) for rule in self.node.rules
        )

    def _is_recursive(self, rule: DatalogRule) -> bool:
        return any(i.predicate == self.member.name for i in rule.body)

    @cached_property
    def first(self) -> tuple[tuple[str, Relation], ...]:
        """What the changes of inputs give by themselves: a plan per literal, with the input whose changes it reads."""
        return tuple(
            (literal.predicate, self._plan(rule, place))
            for rule in self.node.rules
            for place, literal in enumerate(rule.body)
            if literal.predicate != self.member.name and (self.stored or not self._is_recursive(rule))
        )

    @cached_property
    def again(self) -> tuple[Relation, ...]:
        """What the changes of the recursive rows give in the next round."""
        return tuple(
            self._plan(rule, place)
            for rule in self.node.rules
            for place, literal in enumerate(rule.body)
            if literal.predicate == self.member.name
        )

    def columns(self, predicate: str) -> tuple[Column, ...]:
        """The columns of an input, or of the recursive rows."""
        return self.member.columns if predicate == self.member.name else as_columns(self.given[predicate].fields)

    def _plan(self, rule: DatalogRule, changed: int) -> Relation:
        body = (rule.body[changed], *rule.body[:changed], *rule.body[changed + 1 :])
        ordered = DatalogRule(rule.head, body, rule.conditions)

        def rows(position: int, alias: str) -> Relation:
            predicate = body[position].predicate
            if position == 0:
                scan = Scan(PREFIX + predicate, f"{alias}_rows", self.columns(predicate), Version.DELTA)
                return Project(scan, alias, tuple(reference(scan.alias, c) for c in scan.columns))
            if predicate == self.member.name:
                return renamed(
                    Scan(OLD_ROWS, f"{alias}_rows", self.stored, Version.CURRENT), alias, self.member.columns
                )
            plan = rename(self.given[predicate], lambda inner: f"{alias}_{inner}")
            is_before = position > changed and rule.body[changed].predicate != self.member.name
            return renamed(_as_before(plan) if is_before else plan, alias, self.columns(predicate))

        return restrict(rule_plan(ordered, rows, self.member.columns, "rows"))


def _as_before(plan: Relation) -> Relation:
    """A plan over relations as they were before the change."""

    def before(node: Relation) -> Relation:
        if not isinstance(node, Scan):
            return node
        return Scan(BEFORE + node.relation, node.alias, node.columns, node.version)

    return rebuild(plan, before)
