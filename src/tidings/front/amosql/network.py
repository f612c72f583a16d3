"""The propagation network of a condition: nodes, each with clauses over the nodes below it.

The condition is expanded as far as its calls are bound early, which makes the network flat.  A function that is bound
late stays a node, with its resolvents below it, and so do functions with a distinct query; what is negated, offered as
an alternative or aggregated is a node too.  Nodes of functions are shared by all conditions that read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tidings.algebra.calculus import SetExpression, SetProduct, levels, relation
from tidings.lang.amosql.expand import expanded
from tidings.lang.amosql.objectlog import (
    Aggregated,
    Alternatives,
    Atom,
    Body,
    HornClause,
    Literal,
    Not,
    RelationOf,
    Term,
    Variable,
    atoms,
    inner_bodies,
    terms_of,
    variables,
)
from tidings.lang.amosql.schema import Schema


@dataclass(frozen=True, slots=True)
class Node:
    """A derived relation: its clauses, any of which may make a row of it."""

    name: str
    clauses: tuple[HornClause, ...]
    aggregate: str | None = None
    """The aggregate that is taken over its clause, by all but the last term of the head."""

    def influents(self) -> list[str]:
        """The relations that its clauses read, each once, in order."""
        return list(dict.fromkeys(atom.relation.name for clause in self.clauses for atom in atoms(clause.body)))


@dataclass(frozen=True, slots=True)
class Network:
    """The nodes below a condition and the condition itself, which comes first."""

    nodes: Mapping[str, Node]

    def levels(self) -> dict[str, int]:
        """The level of each relation: stored functions and types are 0, a node is one above the highest it reads."""
        return levels({name: _influence(node) for name, node in self.nodes.items()})

    def draw(self, root: str, shared: Mapping[str, Iterable[str]]) -> str:
        """The network as a tree; ``shared`` names the other conditions that read a node."""
        drawn: set[str] = set()

        def lines(name: str, prefix: str) -> list[str]:
            below = self.nodes[name].influents() if name in self.nodes else []
            out = []
            for place, influent in enumerate(below):
                is_last, is_above = place == len(below) - 1, influent in drawn and influent in self.nodes
                drawn.add(influent)
                others = ", ".join(shared.get(influent, ()))
                mark = " (above)" if is_above else f" (shared with {others})" if others else ""
                out.append(f"{prefix}{'└── ' if is_last else '├── '}{influent}{mark}")
                if not is_above:
                    out += lines(influent, prefix + ("    " if is_last else "│   "))
            return out

        return "\n".join([root, *lines(root, "")])


def network(schema: Schema, clause: HornClause) -> Network:
    """The propagation network of a clause."""
    nodes: dict[str, Node] = {}

    def add(node: Node) -> None:
        nodes[node.name] = node
        for influent in node.influents():
            if influent not in nodes and (below := _function_node(schema, influent, nodes)) is not None:
                add(below)

    for node in _lifted(clause.name, expanded(clause, schema)):
        add(node)
    return Network(nodes)


def _influence(node: Node) -> SetExpression:
    """An expression that reads what a node reads."""
    leaves: list[SetExpression] = [relation(name, f"x{n}") for n, name in enumerate(node.influents())]
    whole = leaves[0] if leaves else relation("nothing")
    for leaf in leaves[1:]:
        whole = SetProduct(whole, leaf)
    return whole


def _function_node(schema: Schema, name: str, nodes: dict[str, Node]) -> Node | None:
    """The node of a function that is bound late, or whose clause is not expanded; None for what is stored."""
    if len(schema.functions.get(name, ())) > 1:
        return Node(name, tuple(_resolvent_clause(schema, name, at) for at in range(len(schema.functions[name]))))
    function = schema.by_relation(name)
    if function is None or function.clause is None:
        return None
    first, *others = _lifted(name, expanded(function.clause, schema))
    nodes |= {node.name: node for node in others}
    return first


def _resolvent_clause(schema: Schema, name: str, at: int) -> HornClause:
    """What an overloaded function is for the objects that have one of its resolvents."""
    function, generic = schema.functions[name][at], schema.generic(name)
    terms: tuple[Term, ...] = tuple(Variable(c, t) for c, t in zip(generic.columns, generic.types, strict=True))
    body: list[Literal] = [Atom(function.relation, terms)]
    for type in schema.overriding(function):
        body.append(Not((Atom(schema.extent(type), terms[:1]),)))
    return HornClause(name, terms, tuple(body))


def _lifted(name: str, clause: HornClause) -> list[Node]:
    """A clause as a node whose literals are over relations, and nodes for the bodies that were in it."""
    made: list[Node] = []
    body: list[Literal] = []
    counts: dict[str, int] = {}

    def numbered(kind: str) -> str:
        counts[kind] = counts.get(kind, 0) + 1
        return f"{name}.{kind}{counts[kind]}"

    for at, literal in enumerate(clause.body):
        if not any(list(atoms(inner)) for inner in inner_bodies(literal)):
            body.append(literal)
            continue
        outside = clause.body[:at] + clause.body[at + 1 :]
        given = _outer(literal, outside, clause.head)
        match literal:
            case Not(body=(Atom() as atom,)) if all(t in given for t in atom.terms if isinstance(t, Variable)):
                body.append(literal)
            case Not(body=inner):
                node = numbered("not")
                made += _lifted(node, HornClause(node, given, inner))
                body.append(Not((_node_atom(node, given),)))
            case Alternatives(branches=branches):
                node = numbered("or")
                parts = [_lifted(node, HornClause(node, given, branch)) for branch in branches]
                made.append(Node(node, tuple(c for first, *_ in parts for c in first.clauses)))
                made += [other for _, *others in parts for other in others]
                body.append(_node_atom(node, given))
            case Aggregated():
                node = numbered(literal.kind)
                first, *others = _lifted(node, HornClause(node, (*given, literal.value), literal.body))
                made += [replace(first, aggregate=literal.kind), *others]
                body.append(_node_atom(node, (*given, literal.result)))
    return [Node(name, (replace(clause, body=tuple(body)),)), *made]


def _outer(literal: Literal, outside: Body, head: tuple[Term, ...]) -> tuple[Term, ...]:
    """The variables that bodies in a literal have in common with what is around it."""
    around = {v.name for v in variables(outside)} | {t.name for t in head if isinstance(t, Variable)}
    inside = [v for inner in inner_bodies(literal) for v in variables(inner)]
    own = {t.name for t in terms_of(literal) if isinstance(t, Variable)}
    return tuple(dict.fromkeys(v for v in inside if v.name in around and v.name not in own))


def _node_atom(name: str, terms: tuple[Term, ...]) -> Atom:
    types = tuple(term.type for term in terms)
    return Atom(RelationOf(name, tuple(f"c{n}" for n in range(len(terms))), types, function=name), terms)
