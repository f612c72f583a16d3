"""Assembling one SELECT from sources and conditions.

Sources are ordered so that each, where possible, shares a condition with those before it, the active one first; a
condition stands at the first join where all it mentions is there.

Two shapes.  *Flat*: ``FROM a JOIN b ON … JOIN c ON …``, the optimizer decides.  *One task*, for small work on Spark:
each join is a SELECT of its own around the one before, all of them told to stay in a single partition, so that the
whole plan is one job of one task without exchanges or broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from tidings.engine.sql.layout import Lines, after, connected, enclosed, listed
from tidings.engine.sql.quoting import quoted
from tidings.engine.sql.scalar import Names, column_name, scalar
from tidings.ir.expression import Expression, aliases, cast, equality, typed_null
from tidings.ir.relation import Field, Values

ONE_TASK = "COALESCE(1)"
_ROWS = "__rows"


@dataclass(frozen=True, slots=True)
class Writing:
    """How an engine writes expressions; see :mod:`tidings.engine.sql.scalar`."""

    language: str
    strict: bool

    def scalar(self, expression: Expression, names: Names, type: str | None = None) -> str:
        return scalar(expression, self.language, self.strict, names, type)

    def quoted(self, name: str) -> str:
        return quoted(name, self.language)


@dataclass(frozen=True, slots=True)
class SelectItem:
    """One column of a SELECT: an expression, cast to a type if one is given, under a name if it has one."""

    expression: Expression
    name: str | None
    type: str | None = None

    def text(self, writing: Writing, names: Names) -> str:
        value = writing.scalar(self.expression, names, self.type)
        return value if self.name is None else f"{value} AS {writing.quoted(self.name)}"


@dataclass(frozen=True, slots=True)
class FromItem:
    """Something to stand in FROM: its columns, its SQL, and whether its size follows the delta's."""

    fields: tuple[Field, ...]
    lines: Lines
    active: bool
    joins: Lines = ()
    """Outer joins that belong to it."""
    generator: str = ""
    """What makes its rows beside each row of the others, where that is cheaper than a join."""

    @property
    def aliases(self) -> frozenset[str]:
        return frozenset(f.alias for f in self.fields)

    @property
    def joined(self) -> Lines:
        """What stands behind JOIN: one thing."""
        return enclosed("", self.lines + self.joins) if self.joins else self.lines


Test: TypeAlias = Callable[[Names], Lines]
"""A condition with a subquery in it, to be written where columns go by the given names."""


@dataclass(slots=True)
class Block:
    """A SELECT in the making: sources and conditions, no select list yet."""

    sources: list[FromItem]
    where: list[Expression] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """What a SELECT has beside its block: hints and how many of its first columns make the groups."""

    hints: tuple[str, ...] = ()
    groups: int = 0


PLAIN = SelectOptions()


def flat(
    block: Block, items: list[SelectItem], writing: Writing, options: SelectOptions = PLAIN, outer: Names | None = None
) -> Lines:
    """One SELECT with all sources in its FROM clause; ``outer`` are the names of columns from around it."""
    local = frozenset().union(*(s.aliases for s in block.sources))
    names = {r: name for r, name in (outer or {}).items() if r[0] not in local}
    block, generated = _generated(block)
    joined, left = _joined(block)
    rows: Lines = ()
    for source, ready in joined:
        rows += _join(source, ready, writing, names) if rows else after("FROM ", source.lines) + source.joins
    return _select(items, rows + generated, _conditions(left, block.tests, writing, names), writing, names, options)


def one_task(block: Block, items: list[SelectItem], writing: Writing, options: SelectOptions = PLAIN) -> Lines:
    """SELECTs around each other, one per join, each in a single partition.

    Columns of the rows so far go by ``alias.name`` in one name, since aliases end with each SELECT.
    """
    whole = block
    block, generated = _generated(block)
    joined, left = _joined(block)
    if len(joined) < 2:
        return flat(whole, items, writing, options)
    (first, _), *rest = joined
    fields = list(first.fields)
    rows = _select(
        [_carried(f) for f in fields],
        after("FROM ", first.lines) + first.joins,
        (),
        writing,
        {},
        SelectOptions((ONE_TASK,)),
    )
    names: dict[tuple[str, str], str] = {}
    for source, ready in rest:
        names |= {f.ref: column_name(_ROWS, f"{f.alias}.{f.name}", writing.language) for f in fields}
        hashed = [_hash_join(source, writing)] if any(equality(c) for c in ready) else []
        all_fields = [*fields, *source.fields]
        inner = enclosed("FROM ", rows, f" AS {_ROWS}") + _join(source, ready, writing, names)
        carried = [_carried(f) for f in all_fields]
        rows = _select(carried, inner, (), writing, names, SelectOptions((ONE_TASK, *hashed)))
        fields = all_fields
    names |= {f.ref: column_name(_ROWS, f"{f.alias}.{f.name}", writing.language) for f in fields}
    where = _conditions(left, block.tests, writing, names)
    return _select(items, enclosed("FROM ", rows, f" AS {_ROWS}") + generated, where, writing, names, options)


def inline_table(node: Values, writing: Writing) -> Lines:
    """Constant rows as an inline table, every cell cast, so that both engines type them alike."""
    if not node.rows:
        nulls = [SelectItem(typed_null(c.type), c.name).text(writing, {}) for c in node.columns]
        nothing: Lines = ("SELECT", listed(nulls), "WHERE", ("FALSE",))
        return enclosed("", nothing, f" AS {writing.quoted(node.alias)}")
    rows = [
        exp.Tuple(expressions=[cast(e, c.type) for e, c in zip(row, node.columns, strict=True)]) for row in node.rows
    ]
    names = [exp.to_identifier(c.name, quoted=True) for c in node.columns]
    alias = exp.TableAlias(this=exp.to_identifier(node.alias, quoted=True), columns=names)
    return (writing.scalar(exp.Values(expressions=rows, alias=alias), {}),)


def generator(node: Values, writing: Writing) -> str:
    """Constant rows of one column, made beside each row of others; in the words of Spark.

    A join with an inline table would lose that the others are in one partition.
    """
    (only,) = node.columns
    elements = exp.Array(expressions=[cast(row[0], only.type) for row in node.rows])
    made = writing.scalar(exp.Explode(this=elements), {})
    return f"LATERAL VIEW {made} {writing.quoted(node.alias)} AS {writing.quoted(only.name)}"


def _generated(block: Block) -> tuple[Block, Lines]:
    """A block without the sources whose rows are generated, and their generators; one source is left in any case."""
    generated = [s for s in block.sources if s.generator]
    if not generated or len(generated) == len(block.sources):
        return block, ()
    others = [s for s in block.sources if not s.generator]
    return Block(others, block.where, block.tests), tuple(s.generator for s in generated)


def _select(
    items: list[SelectItem],
    rows: Lines,
    where: list[Lines] | tuple[()],
    writing: Writing,
    names: Names,
    options: SelectOptions,
) -> Lines:
    hints = f" /*+ {', '.join(options.hints)} */" if options.hints else ""
    lines: Lines = (f"SELECT{hints}", listed([i.text(writing, names) for i in items]), *rows)
    if where:
        lines += ("WHERE", connected(where, "AND"))
    if options.groups:
        lines += ("GROUP BY", listed([str(n) for n in range(1, options.groups + 1)]))
    return lines


def _join(source: FromItem, ready: list[Expression], writing: Writing, names: Names) -> Lines:
    if not ready:
        return after("CROSS JOIN ", source.joined)
    on = connected(_conditions(ready, [], writing, names), "AND")
    return (*after("JOIN ", source.joined), after("ON ", on))


def _conditions(conditions: list[Expression], tests: list[Test], writing: Writing, names: Names) -> list[Lines]:
    return [(condition(c, writing, names),) for c in conditions] + [test(names) for test in tests]


def condition(expression: Expression, writing: Writing, names: Names) -> str:
    """A condition that can stand beside AND."""
    text = writing.scalar(expression, names)
    return f"({text})" if isinstance(expression, exp.Or) else text


def _hash_join(source: FromItem, writing: Writing) -> str:
    (alias,) = source.aliases
    return f"SHUFFLE_HASH({writing.quoted(alias)})"


def _carried(f: Field) -> SelectItem:
    return SelectItem(f.expression, f"{f.alias}.{f.name}")


def _joined(block: Block) -> tuple[list[tuple[FromItem, list[Expression]]], list[Expression]]:
    """The sources in order, each with the conditions that connect it to those before it, and what connects nothing."""
    seen: frozenset[str] = frozenset()
    waiting = [(c, aliases(c)) for c in block.where]
    joined = []
    for source in _connected(block.sources, [mentioned for _, mentioned in waiting]):
        seen |= source.aliases
        new = source.aliases
        ready = [len(m) > 1 and m <= seen and bool(m & new) for _, m in waiting]
        joined.append((source, [c for (c, _), now in zip(waiting, ready, strict=True) if now]))
        waiting = [w for w, now in zip(waiting, ready, strict=True) if not now]
    return joined, [c for c, _ in waiting]


def _connected(sources: list[FromItem], mentioned: list[frozenset[str]]) -> Iterator[FromItem]:
    """The active source first, then those that some condition connects to the ones before."""
    rest = [(s, s.aliases) for s in sorted(sources, key=lambda s: not s.active)]
    seen: frozenset[str] = frozenset()
    while rest:
        place = next((n for n, (_, source_aliases) in enumerate(rest) if _links(mentioned, seen, source_aliases)), 0)
        source, source_aliases = rest.pop(place)
        seen |= source_aliases
        yield source


def _links(mentioned: list[frozenset[str]], seen: frozenset[str], source_aliases: frozenset[str]) -> bool:
    """Whether some condition speaks of rows seen and of the source, and of nothing else."""
    return any(m & seen and m & source_aliases and m <= seen | source_aliases for m in mentioned)
