"""Explains rules and functions: the condition function, its clauses, the network and the partial differentials."""

from __future__ import annotations

from textwrap import indent

from tidings.errors import Place
from tidings.explain import sections
from tidings.front.amosql.differentials import differentials
from tidings.front.amosql.network import Network, network
from tidings.lang.amosql.expand import expanded
from tidings.lang.amosql.objectlog import HornClause, Variable, numbered, show_clause
from tidings.lang.amosql.schema import Function, RuleDefinition, Schema


def explain(schema: Schema, name: str, place: Place | None) -> str:
    """How a rule is judged, or a function computed."""
    if name in schema.rules or name not in schema.functions:
        return _explain_rule(schema, schema.rule(name, place))
    return _explain_function(schema, schema.functions[name])


def _explain_rule(schema: Schema, rule: RuleDefinition) -> str:
    kept = frozenset(p.name for p in (*rule.parameters, *rule.variables))
    of_rules = {other.name: network(schema, other.condition) for other in schema.rules.values()}
    own = of_rules[rule.name]
    shared = {
        node: [other for other, nodes in of_rules.items() if other != rule.name and node in nodes.nodes]
        for node in own.nodes
        if node != rule.condition_name
    }
    parts = [
        ("Condition function", _condition_function(rule)),
        ("Action procedure", _action_procedure(rule)),
        ("Clause", show_clause(numbered(rule.condition, kept))),
        ("Expanded clause", show_clause(numbered(expanded(rule.condition, schema), kept))),
        ("Dependency network", own.draw(rule.condition_name, shared)),
        ("Levels", _levels(own)),
    ]
    return sections([*parts, *_differentials(own, kept)])


def _explain_function(schema: Schema, resolvents: list[Function]) -> str:
    parts: list[tuple[str, str]] = []
    for function in resolvents:
        signature = ", ".join(p.type for p in function.parameters)
        result = f" -> {'set of ' if function.many else ''}{function.result.type}" if function.result else ""
        title = f"{function.name}({signature}){result}"
        if function.clause is None:
            kind = "stored" if function.is_stored else "foreign" if function.foreign else "a procedure"
            parts.append((title, f"{kind}, {function.relation.name}" if function.is_stored else kind))
            continue
        kept = frozenset(p.name for p in function.parameters)
        parts.append((title, show_clause(numbered(function.clause, kept))))
        parts.append(("Expanded clause", show_clause(numbered(expanded(function.clause, schema), kept))))
    return sections(parts)


def _condition_function(rule: RuleDefinition) -> str:
    definition = rule.definition
    written = [definition.condition.place.text[d.place.start : d.place.end] for d in definition.declarations]
    parameters = ", ".join(f"{p.type} {p.name}" for p in rule.parameters)
    place = definition.condition.place
    result = ", ".join(p.type for p in rule.variables) or "boolean"
    each = f" for each {', '.join(written)}" if written else ""
    values = ", ".join(p.name for p in rule.variables) or "true"
    condition = " ".join(place.text[place.start : place.end].split())
    return (
        f"create function {rule.condition_name}({parameters}) -> {result} as\n"
        f"  select {values}{each}\n"
        f"  where {condition};"
    )


def _action_procedure(rule: RuleDefinition) -> str:
    parameters = ", ".join(f"{p.type} {p.name}" for p in (*rule.parameters, *rule.variables))
    place = rule.definition.action.place
    action = " ".join(place.text[place.start : place.end].split())
    return f"create function {rule.action_name}({parameters}) -> boolean as\n  {action};"


def _levels(nodes: Network) -> str:
    by_level: dict[int, list[str]] = {}
    for name, level in nodes.levels().items():
        by_level.setdefault(level, []).append(name)
    return "\n".join(f"{level}: {', '.join(names)}" for level, names in sorted(by_level.items()))


def _differentials(nodes: Network, kept: frozenset[str]) -> list[tuple[str, str]]:
    """The differentials of each node, from the top."""
    parts = []
    for node in nodes.nodes.values():
        shown = []
        for clause in node.clauses:
            short = numbered(clause, kept)
            if node.aggregate is not None:
                shown.append(_aggregate_line(node.aggregate, short))
            for differential in differentials(short):
                shown.append(differential.text)
                if differential.algebra is not None:
                    shown.append(indent(f"= {differential.algebra}", "  "))
        parts.append((f"Partial differentials of {node.name}", "\n".join(shown) or "none"))
    return parts


def _aggregate_line(kind: str, clause: HornClause) -> str:
    group = ", ".join(term.name for term in clause.head[:-1] if isinstance(term, Variable))
    return f"-- the {kind} is computed anew for each group ({group}) that one of these touches"
