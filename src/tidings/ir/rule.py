"""Rules of recursion: predicates over positions, and how one follows from others.

A rule says that its head holds where all literals of its body do.  Terms are scalar expressions over variables, and a
variable is a column of the alias ``v`` (:func:`variable`); one whose name begins with an underscore stands for any
value.  Every other variable is bound by a positive literal.  A variable that stands in two places has one value there,
and NULL is a value like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlglot import exp

from tidings.ir.column import Column
from tidings.ir.expression import Expression, column, operand, ref, refs, show, show_name

VARIABLES = "v"
"""The alias of all variables."""


def variable(name: str) -> Expression:
    """A variable as a term."""
    return column(VARIABLES, name)


def variable_name(term: Expression) -> str | None:
    """The name of the variable that a term is; None for any other term."""
    reference = ref(term)
    return None if reference is None else reference[1]


def is_any(term: Expression) -> bool:
    """Whether a term stands for any value."""
    name = variable_name(term)
    return name is not None and name.startswith("_")


def names_in(expressions: Iterable[Expression]) -> list[str]:
    """The variables of some terms, each once, in the order in which they come; not those that stand for any value."""
    names = (name for term in expressions for _, name in refs(term))
    return list(dict.fromkeys(name for name in names if not name.startswith("_")))


@dataclass(frozen=True, slots=True)
class DatalogAtom:
    """A predicate with one term per position."""

    predicate: str
    terms: tuple[Expression, ...]

    @property
    def variables(self) -> list[str]:
        return names_in(self.terms)


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom that has to hold, or must not."""

    atom: DatalogAtom
    negated: bool = False

    @property
    def predicate(self) -> str:
        return self.atom.predicate

    @property
    def variables(self) -> list[str]:
        return self.atom.variables


@dataclass(frozen=True, slots=True)
class DatalogRule:
    """``head :- body, conditions``; without a body it is a fact."""

    head: DatalogAtom
    body: tuple[Literal, ...]
    conditions: tuple[Expression, ...] = ()

    @property
    def positive(self) -> tuple[Literal, ...]:
        return tuple(literal for literal in self.body if not literal.negated)


@dataclass(frozen=True, slots=True)
class Member:
    """One of the predicates that a fixpoint defines.

    With ``extreme``, ``min`` or ``max``, its last column is the least or greatest value there is for the others; with
    ``all`` a row is there as often as it can be derived.
    """

    name: str
    columns: tuple[Column, ...]
    extreme: str | None = None


_ATOM, _RULE = "ATOM", "RULE"


def rule_expression(rule: DatalogRule) -> Expression:
    """A rule as one expression, for the text form of plans.

    >>> x = variable("x")
    >>> show(rule_expression(DatalogRule(DatalogAtom("p", (x,)), (Literal(DatalogAtom("q", (x,)), negated=True),))))
    "RULE(ATOM('p', v.x), NOT ATOM('q', v.x))"
    """
    parts: list[Expression] = [_atom_expression(rule.head)]
    for literal in rule.body:
        atom = _atom_expression(literal.atom)
        parts.append(exp.Not(this=atom) if literal.negated else atom)
    return exp.Anonymous(this=_RULE, expressions=[*parts, *(c.copy() for c in rule.conditions)])


def read_rule(expression: Expression) -> DatalogRule:
    """The rule of an expression; the inverse of :func:`rule_expression`."""
    head, *rest = expression.expressions
    literals = [_literal(part) for part in rest]
    body = tuple(literal for literal in literals if literal is not None)
    conditions = tuple(p.copy() for p, literal in zip(rest, literals, strict=True) if literal is None)
    return DatalogRule(_atom(head), body, conditions)


def _atom_expression(atom: DatalogAtom) -> Expression:
    name = exp.Literal.string(atom.predicate)
    return exp.Anonymous(this=_ATOM, expressions=[name, *(t.copy() for t in atom.terms)])


def _is_atom(part: Expression) -> bool:
    return isinstance(part, exp.Anonymous) and part.this == _ATOM


def _literal(part: Expression) -> Literal | None:
    if _is_atom(part):
        return Literal(_atom(part))
    if isinstance(part, exp.Not) and _is_atom(part.this):
        return Literal(_atom(part.this), negated=True)
    return None


def _atom(part: Expression) -> DatalogAtom:
    name, *terms = part.expressions
    return DatalogAtom(str(name.this), tuple(t.copy() for t in terms))


def with_predicates(rule: DatalogRule, name: Callable[[str], str]) -> DatalogRule:
    """A rule over predicates of other names."""
    body = tuple(Literal(DatalogAtom(name(i.predicate), i.atom.terms), i.negated) for i in rule.body)
    return DatalogRule(DatalogAtom(name(rule.head.predicate), rule.head.terms), body, rule.conditions)


def flattened(rule: DatalogRule) -> DatalogRule:
    """A rule whose positive literals compute nothing: what they compute is the value of a variable of its own.

    >>> x = variable("x")
    >>> body = Literal(DatalogAtom("q", (x,))), Literal(DatalogAtom("r", (exp.Add(this=x, expression=x),)))
    >>> rule_text(flattened(DatalogRule(DatalogAtom("p", (x,)), body)))
    'p(x) :- q(x), r(computed_1), computed_1 = (x + x).'
    """
    conditions: list[Expression] = []

    def plain(term: Expression) -> Expression:
        if variable_name(term) is not None or not refs(term):
            return term
        name = variable(f"computed_{len(conditions) + 1}")
        conditions.append(exp.NullSafeEQ(this=name, expression=operand(term)))
        return name.copy()

    body = tuple(
        i if i.negated else Literal(DatalogAtom(i.predicate, tuple(map(plain, i.atom.terms)))) for i in rule.body
    )
    return DatalogRule(rule.head, body, (*rule.conditions, *conditions)) if conditions else rule


_DERIVED = ("del", "ins", "new", "red", "best", "plus", "minus", "since", "come", "gone")
_MADE = ("m_", "sup_")


def labels(names: Iterable[str]) -> dict[str, str]:
    """What predicates are called in a fixpoint: as they are, unless that is how a version of another one is called.

    >>> labels(["p", "q"]), labels(["p", "p_del"])
    ({'p': 'p', 'q': 'q'}, {'p': 'p', 'p_del': 'p del'})
    """
    known = list(names)
    taken = {f"{name}_{kind}" for name in known for kind in _DERIVED}
    clash = any(name in taken or name.startswith(_MADE) for name in known)
    return {name: name.replace("_", " ") if clash else name for name in known}


def rule_text(rule: DatalogRule, extreme: str | None = None) -> str:
    """A rule as the Datalog language writes it; ``extreme`` is what is kept of the last term of its head.

    >>> x, y = variable("x"), variable("y")
    >>> body = Literal(DatalogAtom("q", (x, y))), Literal(DatalogAtom("r", (y,)), negated=True)
    >>> rule_text(DatalogRule(DatalogAtom("p", (x,)), body))
    'p(x) :- q(x, y), !r(y).'
    """
    parts = [("!" if i.negated else "") + atom_text(i.atom) for i in rule.body]
    parts += [term_text(condition) for condition in rule.conditions]
    head = atom_text(rule.head)
    if extreme is not None:
        *rest, value = map(term_text, rule.head.terms)
        head = f"{show_name(rule.head.predicate)}({', '.join([*rest, f'{extreme}({value})'])})"
    return f"{head} :- {', '.join(parts)}." if parts else f"{head}."


def atom_text(atom: DatalogAtom) -> str:
    return f"{show_name(atom.predicate)}({', '.join(map(term_text, atom.terms))})"


def term_text(term: Expression) -> str:
    """A term or comparison as the Datalog language writes it."""
    if is_any(term):
        return "_"

    if isinstance(term, exp.NullSafeEQ):
        return term_text(exp.EQ(this=term.this.copy(), expression=term.expression.copy()))

    def plain(node: Expression) -> Expression:
        return exp.Identifier(this=node.name, quoted=False) if isinstance(node, exp.Column) else node

    return show(term.transform(plain)).replace("<>", "!=")
