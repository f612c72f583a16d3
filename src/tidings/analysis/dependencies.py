"""The dependency network: which relations influence which, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from tidings.analysis.influents import reads
from tidings.ir.relation import Relation


def levels(roots: Mapping[str, Relation], definitions: Mapping[str, Relation]) -> dict[str, int]:
    """Each relation's level: tables are 0, a view is one above the highest relation it reads."""
    by_name: dict[str, int] = {}

    def level(name: str, plan: Relation | None) -> int:
        if name not in by_name:
            below = sorted(reads(plan)) if plan is not None else []
            by_name[name] = 1 + max((level(r, definitions.get(r)) for r in below), default=-1 if plan is None else 0)
        return by_name[name]

    for name, plan in roots.items():
        level(name, plan)
    return by_name


def above(tables: Collection[str], name: str, plan: Relation, definitions: Mapping[str, Relation]) -> frozenset[str]:
    """Those of a relation and the relations below it that some tables influence, and the tables themselves.

    >>> from tidings.ir.text import parse
    >>> views = {"v": parse("scan t t [a int]")}
    >>> plan = parse("union w [a int]\\n  scan v v [a int]\\n  scan u u [a int]")
    >>> sorted(above({"t"}, "w", plan, views))
    ['t', 'v', 'w']
    """
    below = [above(tables, r, definitions[r], definitions) for r in reads(plan) if r in definitions]
    influenced = reads(plan).intersection(tables).union(*below)
    return influenced | {name} if influenced else influenced


def draw(
    name: str, plan: Relation, definitions: Mapping[str, Relation], mark: Callable[[str], str] = lambda _: ""
) -> str:
    """The network below a relation as a tree; a view that was drawn above is not drawn twice.

    ``mark`` is what is said beside the name of a relation.

    >>> from tidings.ir.text import parse
    >>> print(draw("low", parse("scan quantity q [item int]"), {}))
    low
    └── quantity
    """
    drawn: set[str] = set()

    def lines(node: str, body: Relation | None, prefix: str) -> list[str]:
        if body is None:
            return []
        below = sorted(reads(body))
        out = []
        for place, relation in enumerate(below):
            last = place == len(below) - 1
            is_above = relation in drawn and relation in definitions
            drawn.add(relation)
            out.append(f"{prefix}{'└── ' if last else '├── '}{relation}{' (above)' if is_above else mark(relation)}")
            if not is_above:
                out += lines(relation, definitions.get(relation), prefix + ("    " if last else "│   "))
        return out

    return "\n".join([f"{name}{mark(name)}", *lines(name, plan, "")])
