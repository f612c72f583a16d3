"""Fragmented tables as text: the query that reads one from its fragments, and what follows FRAGMENTED BY.

>>> north = FragmentTree("table", ("k", "a"), "k < 9", table="n")
>>> south = FragmentTree("table", ("k", "a"), "k >= 9", table="s")
>>> whole_query(FragmentTree("union", ("k", "a"), parts=(north, south)), ())
'SELECT k, a FROM n WHERE k < 9 UNION ALL SELECT k, a FROM s WHERE k >= 9'
>>> fragmented_text(FragmentScheme(FragmentTree("union", ("k", "a"), parts=(north, south))))
'FRAGMENTED BY UNION (n WHERE k < 9, s WHERE k >= 9)'
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from tidings.ir.expression import show_name
from tidings.ir.fragments import FragmentScheme, FragmentTree


def whole_query(tree: FragmentTree, key: tuple[str, ...]) -> str:
    """The query whose rows are those of the whole: UNION ALL of parts, or their join by the key.

    Every row of a part meets its condition; it is said so that queries which contradict it leave the part out.
    """
    numbers = count(1)

    def query(part: FragmentTree) -> str:
        names = ", ".join(map(show_name, part.columns))
        match part.kind:
            case "table":
                return f"SELECT {names} FROM {relation_text(part.table)}"
            case "union":
                return " UNION ALL ".join(f"SELECT {names} FROM {_source(p)}{_where(p)}" for p in part.parts)
            case "join":
                return _join(part)

    def _source(part: FragmentTree) -> str:
        return relation_text(part.table) if part.kind == "table" else f"({query(part)}) AS part{next(numbers)}"

    def _join(join: FragmentTree) -> str:
        aliases = [f"part{next(numbers)}" for _ in join.parts]
        sources = [
            f"{relation_text(p.table) if p.kind == 'table' else f'({query(p)})'} AS {alias}"
            for p, alias in zip(join.parts, aliases, strict=True)
        ]
        homes = {c: alias for p, alias in reversed(list(zip(join.parts, aliases, strict=True))) for c in p.columns}
        items = ", ".join(f"{homes[c]}.{show_name(c)} AS {show_name(c)}" for c in join.columns)
        text = f"SELECT {items} FROM {sources[0]}"
        for source, alias in zip(sources[1:], aliases[1:], strict=True):
            on = " AND ".join(f"{aliases[0]}.{show_name(k)} = {alias}.{show_name(k)}" for k in key)
            text += f" JOIN {source} ON {on}"
        return text

    return query(tree)


def keys_of_several(tables: Sequence[str], key: Sequence[str]) -> str:
    """A query for the keys that some tables have more than once, taken together.

    >>> keys_of_several(["n", "s"], ["k"])
    'SELECT k FROM (SELECT k FROM n UNION ALL SELECT k FROM s) AS parts GROUP BY k HAVING count(*) > 1'
    """
    names = ", ".join(map(show_name, key))
    parts = " UNION ALL ".join(f"SELECT {names} FROM {relation_text(table)}" for table in tables)
    return f"SELECT {names} FROM ({parts}) AS parts GROUP BY {names} HAVING count(*) > 1"


def _where(part: FragmentTree) -> str:
    return "" if part.condition is None else f" WHERE {part.condition}"


def relation_text(name: str) -> str:
    """The name of a relation in a query.

    >>> relation_text("sales.orders"), relation_text("a b")
    ('sales.orders', '`a b`')
    """
    return ".".join(map(show_name, name.split(".")))


def fragmented_text(scheme: FragmentScheme) -> str:
    """What stands at the end of a CREATE TABLE statement."""
    return f"FRAGMENTED BY {part_text(scheme.tree, scheme.key, is_cut=False)}"


def part_text(tree: FragmentTree, key: tuple[str, ...], *, is_cut: bool) -> str:
    """A part of a fragmented table; with its columns where it does not have all."""
    where = f" WHERE {tree.condition}" if tree.condition else ""
    if tree.kind == "table":
        names = f" ({', '.join(map(show_name, tree.columns))})" if is_cut else ""
        at = f" AT {show_name(tree.site)}" if tree.site else ""
        return f"{relation_text(tree.table)}{names}{at}{where}"
    is_join = tree.kind == "join"
    parts = ", ".join(part_text(part, key, is_cut=is_cut or is_join) for part in tree.parts)
    on = f" ON ({', '.join(map(show_name, key))})" if is_join else ""
    return f"{tree.kind.upper()} ({parts}){on}{where}"
