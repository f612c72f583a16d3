"""From plans to SQL text: the only place where SQL is printed.

Each ``project(join(…))`` becomes one SELECT with its sources in FROM, so the text stays as small as the algebra.
The active input comes first and the others follow in the order in which conditions connect them.

Scans become names (:func:`source_name`) under which an engine registers the versions of its relations.  A
restriction becomes a list of literal keys, left open in the text as a slot, or a semi-join with the keys' plan;
see :class:`PreparedStatement`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from sqlglot import exp

from tidings.delta.restrict import is_active
from tidings.engine.sql import layout
from tidings.engine.sql.dialect import Dialect
from tidings.engine.sql.layout import Lines, after, connected, enclosed, listed, with_named
from tidings.engine.sql.quoting import engine_name
from tidings.engine.sql.scalar import Names
from tidings.engine.sql.select import (
    ONE_TASK,
    PLAIN,
    Block,
    FromItem,
    SelectItem,
    SelectOptions,
    Writing,
    condition,
    flat,
    generator,
    inline_table,
    one_task,
)
from tidings.engine.sql.statement import KeySlots, PreparedStatement, listable_keys
from tidings.ir.expression import (
    UNTIL,
    WEIGHT,
    at_instant,
    column,
    literal,
    operand,
    read,
    ref,
    substitute,
)
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Version,
    Window,
)
from tidings.ir.traverse import children

GENERATED = 4
"""Up to so many constant rows are generated beside others; more of them are joined."""


def source_name(relation: str, version: Version) -> str:
    """The name under which an engine knows one version of a relation.

    >>> source_name("Quantity", Version.OLD)
    '__old_quantity'
    """
    return engine_name(version.value, relation)


def lower(
    plan: Relation,
    dialect: Dialect,
    listed: frozenset[str] = frozenset(),
    ranged: frozenset[str] = frozenset(),
) -> PreparedStatement:
    """Print a plan; the keys of deltas named in ``listed`` are given as literals, those in ``ranged`` within ranges."""
    small, slots = _is_small(plan, listed), KeySlots(listed, ranged)
    lowering = _Lowering(dialect, slots, small and dialect.one_task, _shared(plan))
    query = lowering.query(plan)
    text = layout.text(with_named(lowering.named, query))
    return PreparedStatement(text, tuple(slots.key_lists.values()), small, tuple(slots.tests))


def _is_small(node: Relation, listed: frozenset[str]) -> bool:
    match node:
        case Scan():
            return node.version is Version.DELTA and node.relation in listed
        case Restrict() if listable_keys(node, listed) is not None:
            return isinstance(node.input, Scan) or _is_small(node.input, listed)
        case _:
            return all(_is_small(c, listed) for c in children(node))


def _shared(plan: Relation) -> dict[int, str]:
    """Names for the nodes that stand in several places and have few rows: for these a query of its own pays."""
    places: Counter[int] = Counter()
    nodes: dict[int, Relation] = {}
    waiting = [plan]
    while waiting:
        for child in children(waiting.pop()):
            places[id(child)] += 1
            if id(child) not in nodes:
                nodes[id(child)] = child
                waiting.append(child)
    several = (n for n in nodes.values() if places[id(n)] > 1 and isinstance(n, Project | Aggregate) and is_active(n))
    return {id(node): f"__shared_{number}" for number, node in enumerate(several, 1)}


_FIXPOINT = "a fixpoint is evaluated in rounds, before the statement that reads it"


@dataclass(slots=True)
class _Lowering:
    """Prints the nodes of one plan: as closed queries, or as open blocks for the SELECT above to close."""

    dialect: Dialect
    slots: KeySlots
    in_one_task: bool
    shared: dict[int, str]
    """The names of queries that stand before the statement, by the nodes they are of."""
    named: dict[str, Lines] = field(init=False, default_factory=dict)
    """These queries, each after those it reads."""
    writing: Writing = field(init=False)
    _queries: dict[int, Lines] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.writing = Writing(self.dialect.name, self.dialect.casts_items)

    def query(self, node: Relation) -> Lines:
        """A closed query with the node's columns, under their own names; one that stands in two places is made once."""
        if id(node) not in self._queries:
            self._queries[id(node)] = self._query(node)
        return self._queries[id(node)]

    def _query(self, node: Relation) -> Lines:
        match node:
            case Project(input=Window() as window):
                functions = {(window.alias, i.name): i.expression for i in window.items}
                inlined = (Item(i.name, i.type, substitute(i.expression, functions)) for i in node.items)
                return self._select(self._block(window.input), self._items(inlined))
            case Project(input=Unnest() as unnest):
                element = {(unnest.alias, unnest.element.name): exp.Explode(this=unnest.array.copy())}
                placed = [SelectItem(substitute(i.expression, element), i.name) for i in node.items]
                return self._select(self._block(unnest.input), placed)
            case Project():
                return self._select(self._block(node.input), self._items(node.items))
            case Aggregate():
                items = self._items((*node.keys, *node.aggregates))
                return self._select(self._block(node.input), items, SelectOptions(groups=len(node.keys)))
            case SetOperation():
                word = node.kind.value.upper() + (" ALL" if node.all else "")
                return self._combined([node.left, node.right], node.columns, word)
            case Union():
                return self._combined(node.inputs, node.columns, "UNION ALL")
            case Consolidate():
                return self._consolidate(node)
            case Repeat():
                return self._repeated(node)
            case Values() | Scan() | Filter() | During() | Join() | OuterJoin() | SemiJoin() | Restrict():
                return self._select(self._block(node), [SelectItem(f.expression, f.name) for f in node.fields])
            case Window() | Unnest():
                raise ValueError("a window or unnested array stands below a projection")
            case Fixpoint():
                raise ValueError(_FIXPOINT)
            case _:
                assert_never(node)

    def _combined(self, inputs: Iterable[Relation], columns: tuple[Column, ...], word: str) -> Lines:
        """Queries one after the other with a word between them; those that are several themselves in parentheses."""
        first, *rest = (self._branch(i, columns) for i in inputs)
        lines = first
        for branch in rest:
            lines = (*lines, word, *branch)
        return lines

    def _branch(self, branch: Relation, columns: tuple[Column, ...]) -> Lines:
        """A branch of a union or set operation; the first decides the names, so each gets those of the whole."""
        if [f.name for f in branch.fields] != [c.name for c in columns]:
            items = [SelectItem(f.expression, c.name) for f, c in zip(branch.fields, columns, strict=True)]
            return self._select(Block([self._derived(branch)]), items)
        query = self.query(branch)
        return enclosed("", query) if isinstance(branch, Union | SetOperation) else query

    def _repeated(self, node: Repeat) -> Lines:
        """Each row once per element of a sequence as long as its count."""
        counted = read("EXPLODE(SEQUENCE(1, 2))")
        counted.find(exp.GenerateSeries).set("end", node.times.copy())  # type: ignore[union-attr]
        items = [*(SelectItem(f.expression, f.name) for f in node.fields), SelectItem(counted, "__i")]
        return self._select(self._block(node.input), items)

    def _consolidate(self, node: Consolidate) -> Lines:
        keys = [column(node.alias, f.name) for f in node.fields if f.name != WEIGHT]
        total = exp.Sum(this=column(node.alias, WEIGHT))
        items = [*(SelectItem(k, k.name) for k in keys), SelectItem(total, WEIGHT, "bigint")]
        return (
            "SELECT",
            listed([i.text(self.writing, {}) for i in items]),
            *after("FROM ", self._derived(node.input, node.alias).lines),
            "GROUP BY",
            listed([self.writing.scalar(k, {}) for k in keys]),
            "HAVING",
            (f"{self.writing.scalar(total, {})} <> 0",),
        )

    def _block(self, node: Relation) -> Block:
        """The node as an open block, for the SELECT above it to close."""
        match node:
            case Scan():
                table = f"{source_name(node.relation, node.version)} AS {self.writing.quoted(node.alias)}"
                return Block([_from_item(node, (table,))])
            case Filter():
                block = self._block(node.input)
                block.where += node.conditions
                return block
            case During():
                block = self._block(node.input)
                block.where.append(at_instant(node.condition, UNTIL))
                return block
            case Restrict():
                return self._restricted(node)
            case Join():
                inputs = [self._block(i) for i in node.inputs]
                return Block(
                    [s for b in inputs for s in b.sources],
                    [*(c for b in inputs for c in b.where), *node.conditions],
                    [t for b in inputs for t in b.tests],
                )
            case Values():
                return Block([self._constants(node)] if node.columns else [])
            case OuterJoin():
                return self._outer_join(node)
            case SemiJoin():
                block = self._block(node.left)
                block.tests.append(lambda names: self._exists(node, names))
                return block
            case Project() | Union() | Aggregate() | SetOperation() | Repeat() | Consolidate():
                return Block([self._derived(node)])
            case Window() | Unnest():
                raise ValueError("a window or unnested array stands below a projection")
            case Fixpoint():
                raise ValueError(_FIXPOINT)
            case _:
                assert_never(node)

    def _constants(self, node: Values) -> FromItem:
        """Constant rows, as an inline table or, beside others, generated."""
        item = _from_item(node, inline_table(node, self.writing))
        generates = self.dialect.generates and len(node.columns) == 1 and 0 < len(node.rows) <= GENERATED
        return replace(item, generator=generator(node, self.writing)) if generates else item

    def _outer_join(self, node: OuterJoin) -> Block:
        """Both sides under their aliases, as one source."""
        left, right = (self._one_source(i) for i in (node.left, node.right))
        parts = [(condition(c, self.writing, {}),) for c in node.conditions] or [("TRUE",)]
        joined = (*after("LEFT JOIN ", right.lines), after("ON ", connected(parts, "AND")))
        return Block([FromItem(node.fields, left.lines, is_active(node), joined)])

    def _exists(self, node: SemiJoin, names: Names) -> Lines:
        block = self._block(node.right)
        block.where += node.conditions
        match = flat(block, [SelectItem(literal(1), None)], self.writing, outer=names)
        return enclosed("NOT EXISTS" if node.anti else "EXISTS", match)

    def _one_source(self, node: Relation) -> FromItem:
        block = self._block(node)
        plain = len(block.sources) == 1 and not block.where and not block.tests and not block.sources[0].joins
        return block.sources[0] if plain else self._derived(node)

    def _derived(self, node: Relation, alias: str | None = None) -> FromItem:
        name = self.writing.quoted(alias or node.fields[0].alias)
        if id(node) in self.shared:
            return _from_item(node, (f"{self._named(node)} AS {name}",))
        return _from_item(node, enclosed("", self.query(node), f" AS {name}"))

    def _named(self, node: Relation) -> str:
        """The name of a query that stands before the statement; it is put there on first use."""
        name = self.shared[id(node)]
        if name not in self.named:
            query = self.query(node)
            self.named[name] = query
        return name

    def _restricted(self, node: Restrict) -> Block:
        """A scan with its keys; the SELECT is its own, so that pruning meets the scan before any join.

        Keys that are fewer than those of a restriction below take the place of those, unless these are listed.
        """
        below = node.input
        if isinstance(below, Restrict) and below.expression == node.expression:
            if self.slots.are_listed(below):
                return self._restricted(below)
            below = below.input
        block = self._block(below)
        block.tests.append(lambda names: self._among(node, names))
        items = [SelectItem(f.expression, f.name) for f in node.fields]
        select = self._select(block, items, SelectOptions((ONE_TASK,)) if self.in_one_task else PLAIN)
        alias = self.writing.quoted(node.fields[0].alias)
        return Block([_from_item(node, enclosed("", select, f" AS {alias}"))])

    def _among(self, node: Restrict, names: Names) -> Lines:
        """The test of a restriction: by a list of keys, or by the query of its keys."""
        tested = self.writing.scalar(operand(node.expression), names)
        test = self.slots.list_test(node, tested)
        if test is not None:
            return (test,)
        range_test = self.slots.range_test(node, tested) if self.dialect.halves else None
        bounds = "" if range_test is None else f"{range_test} AND "
        inner = self.query(node.keys)
        if not node.null_safe:
            return enclosed(f"{bounds}{tested} IN ", inner)
        (key,) = node.keys.fields
        same = exp.NullSafeEQ(this=column("among", key.name), expression=operand(node.expression))
        match = ("SELECT", ("1",), *enclosed("FROM ", inner, " AS among"), "WHERE", (self.writing.scalar(same, names),))
        return enclosed(f"{bounds}EXISTS", match)

    def _select(self, block: Block, items: list[SelectItem], options: SelectOptions = PLAIN) -> Lines:
        return (one_task if self.in_one_task else flat)(
            block, items or [SelectItem(literal(1), None)], self.writing, options
        )

    def _items(self, items: Iterable[Item]) -> list[SelectItem]:
        return [SelectItem(i.expression, i.name, self._cast(i)) for i in items]

    def _cast(self, item: Item) -> str | None:
        """The type to cast a computed column to, where the engine's own typing is not Spark's."""
        computed = self.dialect.casts_items and item.type != "void" and ref(item.expression) is None
        return item.type if computed else None


def _from_item(node: Relation, lines: Lines) -> FromItem:
    return FromItem(node.fields, lines, is_active(node))
