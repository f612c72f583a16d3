"""Assembling one SELECT from sources and conditions.

Sources are ordered so that each, where possible, shares a condition with those before it, the active one first; a
condition stands at the first join where all it mentions is there.

Two shapes.  *Flat*: ``FROM a JOIN b ON … JOIN c ON …``, the optimizer decides.  *One task*, for small work on Spark:
each join is a SELECT of its own around the one before, all of them told to stay in a single partition, so that the
whole plan is one job of one task without exchanges or broadcasts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.ir.expression import Expression, Ref, aliases, column, conjunction, equality, refs, substitute
from tidings.ir.relation import Field

ONE_TASK = "COALESCE(1)"
_ROWS = "__rows"


@dataclass(frozen=True, slots=True)
class Source:
    """Something to stand in FROM: its columns, its SQL, and whether its size follows the delta's."""

    fields: tuple[Field, ...]
    tree: Expression
    active: bool
    joins: tuple[exp.Join, ...] = ()
    """Outer joins that belong to it."""

    @property
    def aliases(self) -> frozenset[str]:
        return frozenset(f.alias for f in self.fields)


@dataclass(slots=True)
class Block:
    """A SELECT in the making: sources and conditions, no select list yet."""

    sources: list[Source]
    where: list[Expression] = field(default_factory=list)


def flat(block: Block, items: list[Expression]) -> exp.Select:
    """One SELECT with all sources in its FROM clause."""
    select = exp.select(*(i.copy() for i in items), copy=False)
    joined = list(_joined(block))
    for source, _ in joined[:1]:
        select = select.from_(source.tree, copy=False)
        for join in source.joins:
            select.append("joins", join)
    for source, ready in joined[1:]:
        on = conjunction(ready) if ready else None
        select = select.join(source.tree, on=on, join_type=None if ready else "cross", copy=False)
    return _where(select, _left(block, joined))


def one_task(block: Block, items: list[Expression]) -> exp.Select:
    """SELECTs around each other, one per join, each in a single partition.

    Columns of the rows so far go by ``alias.name`` in one name, since aliases end with each SELECT.
    """
    joined = list(_joined(block))
    if len(joined) < 2:
        return flat(block, items)
    (first, _), *rest = joined
    rows = exp.select(*_carried(first)).from_(first.tree, copy=False).hint(ONE_TASK, dialect="spark", copy=False)
    names: dict[Ref, Expression] = _names(first)
    for source, ready in rest:
        carried = [*(c.copy().as_(c.name, quoted=True) for c in names.values()), *_carried(source)]
        on = conjunction(substitute(c, names) for c in ready) if ready else None
        hashed = [_hash_join(source)] if any(equality(c) for c in ready) else []
        rows = exp.select(*carried, copy=False).from_(rows.subquery(_ROWS, copy=False), copy=False)
        rows = rows.join(source.tree, on=on, join_type=None if ready else "cross", copy=False)
        rows = rows.hint(ONE_TASK, *hashed, dialect="spark", copy=False)
        names |= _names(source)
    final = exp.select(*(substitute(i, names).copy() for i in items), copy=False)
    final = final.from_(rows.subquery(_ROWS, copy=False), copy=False)
    return _where(final, [substitute(c, names) for c in _left(block, joined)])


def _hash_join(source: Source) -> str:
    (alias,) = source.aliases
    return "SHUFFLE_HASH(`" + alias.replace("`", "``") + "`)"


def _names(source: Source) -> dict[Ref, Expression]:
    return {f.ref: column(_ROWS, f"{f.alias}.{f.name}") for f in source.fields}


def _carried(source: Source) -> list[Expression]:
    return [f.expression.as_(f"{f.alias}.{f.name}", quoted=True) for f in source.fields]


def _joined(block: Block) -> Iterator[tuple[Source, list[Expression]]]:
    """The sources in order, each with the conditions that connect it to those before it."""
    seen: frozenset[str] = frozenset()
    waiting = list(block.where)
    for source in _connected(block.sources, block.where):
        seen |= source.aliases
        ready = [c for c in waiting if aliases(c) <= seen and aliases(c) & source.aliases and len(aliases(c)) > 1]
        waiting = [c for c in waiting if c not in ready]
        yield source, ready


def _left(block: Block, joined: list[tuple[Source, list[Expression]]]) -> list[Expression]:
    """The conditions that connect nothing, for the WHERE clause."""
    used = [c for _, ready in joined for c in ready]
    return [c for c in block.where if c not in used]


def _connected(sources: list[Source], conditions: list[Expression]) -> list[Source]:
    rest = sorted(sources, key=lambda s: not s.active)
    ordered: list[Source] = []
    seen: frozenset[str] = frozenset()
    while rest:
        chosen = next((s for s in rest if _links(conditions, seen, s)), rest[0])
        rest.remove(chosen)
        ordered.append(chosen)
        seen |= chosen.aliases
    return ordered


def _links(conditions: list[Expression], seen: frozenset[str], source: Source) -> bool:
    """Whether some condition speaks of rows seen and of the source, and of nothing else."""
    mentioned = (frozenset(a for a, _ in refs(c)) for c in conditions)
    return any(m & seen and m & source.aliases and m <= seen | source.aliases for m in mentioned)


def _where(select: exp.Select, conditions: list[Expression]) -> exp.Select:
    return select.where(conjunction(conditions), copy=False) if conditions else select
