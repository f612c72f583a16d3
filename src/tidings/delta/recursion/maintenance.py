"""Maintenance rules: how the predicates of a recursion change when what they read does, as rules.

For every rule ``p :- r₁, …, rₙ`` (Staudt and Jarke, *Incremental Maintenance of Externally Materialized Views*,
algorithm 1), where ``_del`` and ``_ins`` are what goes and comes, possibly more than that for predicates of the
recursion itself, and ``_new`` is the state after the change:

    D   p_del :- r₁, …, rᵢ_del, …, rₙ                 what may be gone, one rule per literal
    N   p_new :- p, !p_del.  p_new :- p_red.  p_new :- p_ins.
    R   p_red :- p_del, r₁_new, …, rₙ_new             what is still derived another way
    I   p_ins :- r₁_new, …, rᵢ_ins, …, rₙ_new         what comes, one rule per literal
    E   p_plus :- p_ins, !p.                          without what was there already
        p_minus :- p_del, !p_ins, !p_red.             without what is there again

A negated literal changes the other way round: what comes into ``rᵢ`` takes from ``p``, what goes gives.  Its predicate
is an input, so its changes are exact.  Where it leaves columns open with ``_`` another row may have been there before,
or still be there: then the literal itself stays, beside the changes.

A predicate that keeps the least (or greatest) value of each group changes group by group.  What a change takes is gone
only if it was the least value; a group that lost it finds its least value again, from all that is still there; what
comes counts where it is less.  Since the recursion is monotone, what follows from a value that is not the least is
never less than what follows from the least, so it does no harm that the rules see such values on the way:

    D   p_del(k, v) :- r₁, …, rᵢ_del, …, rₙ, p(k, v)
    N   p_new(k, v) :- p(k, v), !p_del(k, _).  p_new :- p_red.  p_new :- p_ins.
    R   p_red(k, min(v)) :- p_del(k, _), r₁_new, …, rₙ_new
    I   p_ins(k, min(v)) :- r₁_new, …, rᵢ_ins, …, rₙ_new
    E   p_best(k, min(v)) :- p_red(k, v).  p_best(k, min(v)) :- p_ins(k, v).
        p_best(k, min(v)) :- p_ins(k, _), p(k, v), !p_del(k, _).
        p_plus(k, v) :- p_best(k, v), !p(k, v).
        p_minus(k, v) :- p_del(k, _), p(k, v), !p_best(k, v), and the same with p_ins in the place of p_del
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidings.ir.relation import Column, Fixpoint
from tidings.ir.rule import DatalogAtom, DatalogRule, Literal, flattened, is_any, variable

KINDS = ("del", "new", "red", "ins", "best", "plus", "minus")
INPUT_KINDS = ("del", "ins", "new")


@dataclass(frozen=True, slots=True)
class MaintenanceRules:
    """The rules that maintain the members of a fixpoint, by what they are for."""

    deletions: tuple[DatalogRule, ...]
    new_states: tuple[DatalogRule, ...]
    rederivations: tuple[DatalogRule, ...]
    insertions: tuple[DatalogRule, ...]
    net: tuple[DatalogRule, ...]

    @property
    def all(self) -> tuple[DatalogRule, ...]:
        return self.deletions + self.new_states + self.rederivations + self.insertions + self.net


def maintenance_rules(node: Fixpoint) -> MaintenanceRules:
    """The maintenance rules of a fixpoint (algorithm 1)."""
    kept = extreme_members(node)
    widths = {m.name: len(m.columns) for m in node.members}
    widths |= {name: len(plan.fields) for name, plan in zip(node.names, node.inputs, strict=True)}
    deletions = [rule for original in node.rules for rule in _deletions(original, kept)]
    rederivations = [_rederivation(rule, kept) for rule in node.rules]
    insertions = [rule for original in node.rules for rule in _insertions(original)]
    members = [(m.name in kept, _any(m.name, widths)) for m in node.members]
    states = [rule for is_kept, atom in members for rule in _member_state(atom, is_kept)]
    states += [rule for name in node.names for rule in _input_state(_any(name, widths))]
    net = [rule for is_kept, atom in members for rule in (_net_extreme(atom) if is_kept else _net(atom))]
    parts = (deletions, states, rederivations, insertions, net)
    return MaintenanceRules(*(tuple(map(flattened, part)) for part in parts))


def extreme_members(node: Fixpoint) -> dict[str, str]:
    """The members that keep the least or greatest value of their last column, and which of both."""
    return {m.name: m.extreme for m in node.members if m.extreme in ("min", "max")}


def extreme_predicates(node: Fixpoint) -> dict[str, str]:
    """All predicates of the maintenance rules that keep least or greatest values."""
    kinds = ("", "_red", "_ins", "_best")
    return {f"{name}{kind}": extreme for name, extreme in extreme_members(node).items() for kind in kinds}


def maintenance_columns(node: Fixpoint) -> dict[str, tuple[Column, ...]]:
    """The columns of all predicates of the maintenance rules."""
    columns = {m.name: m.columns for m in node.members}
    inputs = {
        name: tuple(Column(f.name, f.type) for f in plan.fields)
        for name, plan in zip(node.names, node.inputs, strict=True)
    }
    kinds = {f"{name}_{kind}": columns[name] for name in columns for kind in KINDS}
    input_kinds = {f"{name}_{kind}": inputs[name] for name in inputs for kind in INPUT_KINDS}
    return columns | inputs | kinds | input_kinds


def kind(literal: Literal, suffix: str) -> Literal:
    """The literal over another version of its predicate."""
    return Literal(DatalogAtom(f"{literal.predicate}_{suffix}", literal.atom.terms), literal.negated)


def changed(literal: Literal, suffix: str) -> Literal:
    """The literal over the changes that matter to it: of a negated one those of the other sign."""
    other = {"del": "ins", "ins": "del"}[suffix]
    return Literal(DatalogAtom(f"{literal.predicate}_{other if literal.negated else suffix}", literal.atom.terms))


def new_literal(literal: Literal) -> Literal:
    """The literal over the state after the change."""
    return kind(literal, "new")


def _deletions(rule: DatalogRule, kept: dict[str, str]) -> Iterator[DatalogRule]:
    head = DatalogAtom(f"{rule.head.predicate}_del", rule.head.terms)
    for place, literal in enumerate(rule.body):
        body = [*rule.body[:place], changed(literal, "del"), *rule.body[place + 1 :]]
        if literal.negated and is_open(literal):
            body.append(literal)
        if rule.head.predicate in kept:
            body.append(Literal(rule.head))
        yield DatalogRule(head, tuple(body), rule.conditions)


def _insertions(rule: DatalogRule) -> Iterator[DatalogRule]:
    head = DatalogAtom(f"{rule.head.predicate}_ins", rule.head.terms)
    new = [new_literal(literal) for literal in rule.body]
    for place, literal in enumerate(rule.body):
        body = [*new[:place], changed(literal, "ins"), *new[place + 1 :]]
        if literal.negated and is_open(literal):
            body.append(new[place])
        yield DatalogRule(head, tuple(body), rule.conditions)


def _rederivation(rule: DatalogRule, kept: dict[str, str]) -> DatalogRule:
    head = DatalogAtom(f"{rule.head.predicate}_red", rule.head.terms)
    lost = DatalogAtom(f"{rule.head.predicate}_del", rule.head.terms)
    deleted = Literal(_group(lost) if rule.head.predicate in kept else lost)
    return DatalogRule(head, (deleted, *map(new_literal, rule.body)), rule.conditions)


def _any(name: str, widths: dict[str, int]) -> DatalogAtom:
    return DatalogAtom(name, tuple(variable(f"x{n}") for n in range(1, widths[name] + 1)))


def _of(atom: DatalogAtom, suffix: str) -> DatalogAtom:
    return DatalogAtom(f"{atom.predicate}_{suffix}", atom.terms)


def _group(atom: DatalogAtom) -> DatalogAtom:
    """The atom with any value in its last column."""
    return DatalogAtom(atom.predicate, (*atom.terms[:-1], variable("_value")))


def _member_state(atom: DatalogAtom, is_kept: bool) -> tuple[DatalogRule, ...]:
    new, gone = _of(atom, "new"), _of(atom, "del")
    kept = DatalogRule(new, (Literal(atom), Literal(_group(gone) if is_kept else gone, negated=True)))
    return (kept, DatalogRule(new, (Literal(_of(atom, "red")),)), DatalogRule(new, (Literal(_of(atom, "ins")),)))


def _input_state(atom: DatalogAtom) -> tuple[DatalogRule, ...]:
    new = _of(atom, "new")
    kept = DatalogRule(new, (Literal(atom), Literal(_of(atom, "del"), negated=True)))
    return (kept, DatalogRule(new, (Literal(_of(atom, "ins")),)))


def _net(atom: DatalogAtom) -> tuple[DatalogRule, ...]:
    came, went, again = (Literal(_of(atom, k)) for k in ("ins", "del", "red"))
    plus = DatalogRule(_of(atom, "plus"), (came, Literal(atom, negated=True)))
    absent = tuple(Literal(i.atom, negated=True) for i in (came, again))
    return (plus, DatalogRule(_of(atom, "minus"), (went, *absent)))


def _net_extreme(atom: DatalogAtom) -> tuple[DatalogRule, ...]:
    old, best = Literal(atom), _of(atom, "best")
    came, went, again = (_of(atom, k) for k in ("ins", "del", "red"))
    not_best = Literal(best, negated=True)
    return (
        DatalogRule(best, (Literal(again),)),
        DatalogRule(best, (Literal(came),)),
        DatalogRule(best, (Literal(_group(came)), old, Literal(_group(went), negated=True))),
        DatalogRule(_of(atom, "plus"), (Literal(best), Literal(atom, negated=True))),
        DatalogRule(_of(atom, "minus"), (Literal(_group(went)), old, not_best)),
        DatalogRule(_of(atom, "minus"), (Literal(_group(came)), old, not_best)),
    )


def is_open(literal: Literal) -> bool:
    """Whether a literal leaves columns open."""
    return any(map(is_any, literal.atom.terms))
