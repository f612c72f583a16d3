"""Why a row is in a view, and why one is not: derivation trees over the rows there are.

A row of a recursive predicate is explained by the rule that derives it in the earliest round, so that a tree never
goes round in a circle; rows of tables and of other views are its leaves.  A row that is missing is explained rule by
rule: the first literal for which no value is left is the one that fails.  All rows are derived for it, in this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidings.engine.recursion.rule_values import Binding, holds, value_of
from tidings.ir.expression import refs
from tidings.ir.relation import Fixpoint
from tidings.ir.rule import DatalogAtom, DatalogRule, Literal, atom_text, is_any, rule_text, term_text, variable_name

Row: TypeAlias = tuple[Any, ...]
PredicateRows: TypeAlias = Mapping[str, set[Row]]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A row, the rule that gives it and the rows that rule reads; a leaf has no rule.

    ``absent`` are the literals that hold because there is no such row.
    """

    predicate: str
    row: Row
    rule: str | None = None
    because: tuple[Derivation, ...] = ()
    absent: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        shown = f"{self.predicate}({', '.join(map(repr, self.row))})"
        lines = [f"{indent}{shown}" + (f"   by {self.rule}" if self.rule else "")]
        for part in self.because:
            lines += part._lines(indent + "  ")
        return lines + [f"{indent}  {literal}" for literal in self.absent]


@dataclass(frozen=True, slots=True)
class FailedRule:
    """A rule that does not give a row, and the first literal or condition that fails; None if the head does not fit."""

    rule: str
    literal: str | None
    """The literal with the values it was tried with, where they are known."""

    def __str__(self) -> str:
        return f"{self.rule}   fails at {self.literal or 'its head'}"


@dataclass(slots=True)
class Explainer:
    """Explains rows of the members of one recursion, given the rows of its inputs."""

    node: Fixpoint
    rows: dict[str, set[Row]]
    """The rows of inputs, and of members as far as they are derived."""
    _how: dict[tuple[str, Row], tuple[DatalogRule, Binding]]

    @staticmethod
    def over(node: Fixpoint, inputs: PredicateRows) -> Explainer:
        """Derive all rows, round by round, and remember how each came about first."""
        explainer = Explainer(node, {**inputs, **{m.name: set() for m in node.members}}, {})
        while explainer._round():
            pass
        return explainer

    def _round(self) -> bool:
        found: dict[tuple[str, Row], tuple[DatalogRule, Binding]] = {}
        for rule in self.node.rules:
            for binding in self._solutions(rule, {}):
                row = tuple(value_of(t, binding) for t in rule.head.terms)
                if row not in self.rows[rule.head.predicate]:
                    found.setdefault((rule.head.predicate, row), (rule, binding))
        for (predicate, row), how in found.items():
            self.rows[predicate].add(row)
            self._how[predicate, row] = how
        return bool(found)

    def why(self, predicate: str, row: Row) -> Derivation | None:
        """How a row is derived; None if it is not there."""
        if row not in self.rows.get(predicate, ()):
            return None
        if (predicate, row) not in self._how:
            return Derivation(predicate, row)
        rule, binding = self._how[predicate, row]
        because = tuple(
            part
            for literal in rule.positive
            if (part := self.why(literal.predicate, self._row_of(literal, binding))) is not None
        )
        absent = tuple("!" + _filled(i.atom, binding) for i in rule.body if i.negated)
        return Derivation(predicate, row, rule_text(rule), because, absent)

    def why_not(self, predicate: str, row: Row) -> tuple[FailedRule, ...]:
        """For each rule of a predicate the literal at which it fails to give a row; nothing if the row is there."""
        if row in self.rows.get(predicate, ()):
            return ()
        return tuple(self._failure(rule, row) for rule in self.node.rules if rule.head.predicate == predicate)

    def _failure(self, rule: DatalogRule, row: Row) -> FailedRule:
        text = rule_text(rule)
        start = _matched(rule.head, row, {})
        if start is None:
            return FailedRule(text, None)
        bindings: list[Binding] = [start]
        for literal in (*rule.positive, *(i for i in rule.body if i.negated)):
            left = self._joined(literal, bindings)
            if not left:
                return FailedRule(text, ("!" if literal.negated else "") + _filled(literal.atom, bindings[0]))
            bindings = left
        for condition in rule.conditions:
            left = [b for b in bindings if holds(condition, b)]
            if not left:
                return FailedRule(text, term_text(condition))
            bindings = left
        return FailedRule(text, None)

    def _solutions(self, rule: DatalogRule, start: Binding) -> list[Binding]:
        bindings: list[Binding] = [start]
        for literal in (*rule.positive, *(i for i in rule.body if i.negated)):
            bindings = self._joined(literal, bindings)
        return [b for b in bindings if all(holds(c, b) for c in rule.conditions)]

    def _joined(self, literal: Literal, bindings: Sequence[Binding]) -> list[Binding]:
        rows = self.rows[literal.predicate]
        if literal.negated:
            return [b for b in bindings if not any(_matched(literal.atom, row, b) is not None for row in rows)]
        return [m for b in bindings for row in rows if (m := _matched(literal.atom, row, b)) is not None]

    def _row_of(self, literal: Literal, binding: Binding) -> Row:
        """The row of a literal that a binding matches."""
        rows = sorted(self.rows[literal.predicate], key=repr)
        return next(row for row in rows if _matched(literal.atom, row, binding) is not None)


def _matched(atom: DatalogAtom, row: Row, binding: Binding) -> Binding | None:
    """A binding with what a row gives the variables of an atom; None if the row does not match."""
    matched: Binding = {**binding, "": None}
    computed: list[tuple[Any, Any]] = []
    for term, value in zip(atom.terms, row, strict=True):
        name = variable_name(term)
        if name is None:
            computed.append((term, value))
        elif not is_any(term) and matched.setdefault(name, value) != value:
            return None
    fits = all(value_of(t, matched) == v for t, v in computed if all(name in matched for _, name in refs(t)))
    return matched if fits else None


def _filled(atom: DatalogAtom, binding: Binding) -> str:
    """An atom with the values that are known."""
    shown = (
        repr(binding[name]) if (name := variable_name(t)) is not None and name in binding else term_text(t)
        for t in atom.terms
    )
    return f"{atom_text(DatalogAtom(atom.predicate, ())).removesuffix('()')}({', '.join(shown)})"
