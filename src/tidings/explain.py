"""Explains how a view is maintained: its network, plan, partial differentials, restrictions and SQL, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import assert_never

from tidings.analysis.dependencies import draw
from tidings.analysis.influents import CLOCK, influents, reads
from tidings.analysis.sites import local_parts, sites
from tidings.delta.plan import Program, Term, compile_program
from tidings.delta.restrict import restrictions
from tidings.engine.agreed.plan import in_words
from tidings.engine.sql.dialect import Dialect
from tidings.engine.sql.lower import lower
from tidings.engine.sql.statement import KeyList, KeyTest, listable_keys
from tidings.ir import text
from tidings.ir.expression import show
from tidings.ir.fragments import FragmentScheme, FragmentTree
from tidings.ir.operator_calls import operator_called
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetKind,
    SetOperation,
    Union,
    Unnest,
    Values,
    Version,
    Window,
)
from tidings.rewrite.pipeline import normalise


def explain(
    name: str,
    plan: Relation,
    definitions: Mapping[str, Relation],
    dialect: Dialect,
    strategy: str = "",
    fragments: Mapping[str, FragmentScheme] | None = None,
) -> str:
    """How a query is maintained: what it depends on, and what is run when one of these changes."""
    tables = influents(plan, definitions)
    parts = [
        ("Dependency network", draw(name, plan, definitions)),
        ("Plan", text.show(normalise(plan, definitions))),
        ("Influents", ", ".join(sorted(tables)) or "none: the answer never changes"),
    ]
    parts += explain_fragments(plan, definitions, fragments or {})
    if strategy:
        parts.append(("Strategy", strategy))
    forms: dict[str, Relation] = {}
    parts += [explain_change(name, plan, table, definitions, dialect, forms) for table in sorted(tables)]
    return sections(parts)


def explain_fragments(
    plan: Relation, definitions: Mapping[str, Relation], fragments: Mapping[str, FragmentScheme]
) -> list[tuple[str, str]]:
    """The fragments below a query, and what of it each site computes alone; nothing if there are none."""
    tables = influents(plan, definitions)
    below = {name: scheme for name, scheme in sorted(fragments.items()) if tables & set(scheme.tables())}
    if not below:
        return []
    leaves = [leaf for scheme in below.values() for leaf in scheme.tree.leaves()]
    by_table = {leaf.table: leaf.site or leaf.table for leaf in leaves}
    normal = normalise(plan, definitions)
    parts = local_parts(normal, by_table)
    if len(sites(normal, by_table)) == 1:
        lines = [f"intra-site: all of it at {parts[0][0]}"]
    else:
        lines = ["inter-site: only the deltas of these parts leave their sites"]
        lines += [f"at {site}: {algebra(part)}" for site, part in parts]
    trees = [f"{name} = {fragment_algebra(scheme.tree)}" for name, scheme in below.items()]
    return [("Fragments", "\n".join(trees)), ("Sites", "\n".join(lines))]


def fragment_algebra(tree: FragmentTree) -> str:
    """A fragmented table in terms of its fragments.

    >>> south = FragmentTree("table", ("k",), table="s", site="far")
    >>> parts = (FragmentTree("table", ("k",), "k < 9", table="n"), south)
    >>> fragment_algebra(FragmentTree("union", ("k",), parts=parts))
    'n [k < 9] ⊎ s at far'
    """
    condition = f" [{tree.condition}]" if tree.condition else ""
    if tree.kind == "table":
        return tree.table + (f" at {tree.site}" if tree.site else "") + condition
    sign = " ⊎ " if tree.kind == "union" else " ⋈ "
    inner = (fragment_algebra(p) if p.kind == "table" else f"({fragment_algebra(p)})" for p in tree.parts)
    return sign.join(inner) + condition


def explain_change(
    name: str,
    plan: Relation,
    table: str,
    definitions: Mapping[str, Relation],
    dialect: Dialect,
    normal_forms: dict[str, Relation] | None = None,
) -> tuple[str, str]:
    """What is run for a query when one relation that it depends on changes, and a title."""
    program = compile_program(name, plan, frozenset({table}), definitions, normal_forms=normal_forms)
    return "When time passes" if table == CLOCK else f"When {table} changes", _differentials(program, dialect)


def sections(parts: Iterable[tuple[str, str]]) -> str:
    """The parts of an explanation, each under its title."""
    return "\n\n".join(f"{title}\n{indent(body, '  ')}" for title, body in parts)


def _differentials(program: Program, dialect: Dialect) -> str:
    out = []
    for step in program.steps:
        for term in step.terms:
            out.append(f"∂{step.name}/∂{term.influent}{_occurrence(term)}  =  {algebra(term.plan)}")
            out += [f"  {_restriction(r)}" for r in restrictions(term.plan)]
        statement = lower(in_words(step.plan, dialect), dialect, program.changed)
        out.append("SQL" if len(program.steps) == 1 else f"SQL of step {step.level}, {step.name}")
        out.append(indent(statement.filled(_keys), "  "))
    return "\n".join(out)


def _occurrence(term: Term) -> str:
    return "" if term.occurrence == term.influent else f" (as {term.occurrence})"


def _restriction(node: Restrict) -> str:
    target = next(f.alias for f in node.input.fields)
    listed = listable_keys(node, reads(node.keys))
    how = "as a list of keys or a semi-join" if listed else "as a semi-join"
    return f"{target} restricted: {show(node.expression)} ∈ {algebra(node.keys)}, {how}"


def algebra(plan: Relation) -> str:
    """A plan as one line of algebra: Δ for changes, names for old states, ′ for new ones.

    >>> algebra(text.parse("filter [q.x > 1]\\n  scan delta quantity q [x int]"))
    'σ(Δquantity)'
    """
    match plan:
        case Scan():
            marks = {Version.DELTA: ("Δ", ""), Version.NEW: ("", "′")}
            before, after = marks.get(plan.version, ("", ""))
            return f"{before}{plan.relation}{after}"
        case Values():
            return "constant"
        case Filter():
            return f"σ({algebra(plan.input)})"
        case Project():
            return f"{_called(plan) or 'π'}({algebra(plan.input)})"
        case Join():
            return " ⋈ ".join(_inner(i) for i in plan.inputs)
        case Union():
            return " ⊎ ".join(algebra(i) for i in plan.inputs)
        case Restrict():
            return f"{_inner(plan.input)}⋉"
        case Aggregate():
            return f"γ({algebra(plan.input)})"
        case Window():
            return f"ω({algebra(plan.input)})"
        case Unnest():
            return f"μ({algebra(plan.input)})"
        case During():
            return f"τ({algebra(plan.input)})"
        case OuterJoin():
            return f"{_inner(plan.left)} ⟕ {_inner(plan.right)}"
        case SemiJoin():
            return f"{_inner(plan.left)} {'▷' if plan.anti else '⋉'} {_inner(plan.right)}"
        case SetOperation():
            return f"{_inner(plan.left)} {'∩' if plan.kind is SetKind.INTERSECT else '-'} {_inner(plan.right)}"
        case Repeat() | Consolidate():
            return algebra(plan.input)
        case Fixpoint():
            return f"μ({', '.join(map(algebra, plan.inputs))})"
        case _:
            assert_never(plan)


def _called(plan: Project) -> str:
    """The operator of a user that a projection calls, or its incremental form."""
    return next(filter(None, (operator_called(item.expression) for item in plan.items)), "")


def _inner(plan: Relation) -> str:
    return f"({algebra(plan)})" if isinstance(plan, Join | Union) else algebra(plan)


def _keys(keys: KeyList, test: KeyTest) -> str:
    listed = ", ".join(f"/* {name} of Δ{relation} */" for relation, name in keys.columns)
    return f"{test.tested} IN ({listed})"
