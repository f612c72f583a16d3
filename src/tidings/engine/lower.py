"""From plans to SQL text: the only place where SQL is printed.

Each ``project(join(…))`` becomes one SELECT with its sources in FROM, so the text stays as small as the algebra.
The active input comes first and the others follow in the order in which conditions connect them.

Scans become names (:func:`source_name`) under which an engine registers the versions of its relations.  A
restriction becomes a list of literal keys, left open in the text as a slot, or a semi-join with the keys' plan;
see :class:`Statement`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from sqlglot import exp

from tidings.delta.restrict import is_active
from tidings.engine.select import ONE_TASK, Block, Source, flat, one_task
from tidings.ir import types
from tidings.ir.expression import (
    UNTIL,
    WEIGHT,
    Expression,
    Ref,
    at_instant,
    cast,
    column,
    conjunction,
    operand,
    read,
    ref,
    substitute,
    typed_null,
)
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    During,
    Field,
    Filter,
    Item,
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
from tidings.ir.traverse import children

LISTABLE = types.EXACT - {"timestamp_ntz"}
"""Types whose keys may be written as literals."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between engines when a plan is printed."""

    name: str
    casts_items: bool
    """Whether computed columns are cast to their types, where the engine's own typing is not Spark's."""
    one_task: bool
    """Whether small work is to be one task; see :mod:`tidings.engine.select`."""


KeyColumn: TypeAlias = tuple[str, str]
"""A column of a relation's delta."""


@dataclass(frozen=True, slots=True)
class KeyList:
    """Where a statement wants literal keys: the values of some columns of deltas."""

    slot: str
    columns: tuple[KeyColumn, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text with slots for lists of keys."""

    text: str
    key_lists: tuple[KeyList, ...]
    small: bool
    """Whether all it reads is a delta or restricted by a list of keys."""

    def filled(self, literals: Callable[[KeyList], str], since: str = "since", until: str = "until") -> str:
        """The text with every slot replaced: by the literals of its keys, and by the ends of the batch."""
        by_slot = {keys.slot: keys for keys in self.key_lists}

        def fill(found: re.Match[str]) -> str:
            return literals(by_slot[found[0]]) if found[0] in by_slot else found[0]

        text = re.sub(r"__keys_\d+__", fill, self.text)
        return text.replace("__SINCE()", since).replace("__UNTIL()", until)


def source_name(relation: str, version: Version) -> str:
    """The name under which an engine knows one version of a relation.

    >>> source_name("Quantity", Version.OLD)
    '__old_quantity'
    """
    name = relation.lower()
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    if plain != name:
        plain += f"_{zlib.crc32(name.encode()):08x}"
    return f"__{version.value}_{plain}"


def lower(plan: Relation, dialect: Dialect, listed: frozenset[str] = frozenset()) -> Statement:
    """Print a plan; the keys of deltas named in ``listed`` are given as literals."""
    small = _is_small(plan, listed)
    lowering = _Lowering(dialect, listed, small and dialect.one_task)
    query = lowering.query(plan)
    return Statement(printed(query, dialect, pretty=True), tuple(lowering.key_lists.values()), small)


def printed(query: exp.Query, dialect: Dialect, *, pretty: bool = False) -> str:
    """A query in the engine's own words.

    A plain CAST fails on what it cannot convert, on every engine; only TRY_CAST answers NULL.
    """
    strict = query.copy()
    if dialect.casts_items:
        for node in list(strict.find_all(exp.TryCast)):
            if not node.args.get("safe"):
                node.replace(exp.Cast(this=node.this, to=node.args["to"]))
        for call in list(strict.find_all(exp.Anonymous)):
            match str(call.this).lower():
                case "raise_error":
                    call.set("this", "error")
                case "timestamp_micros":
                    instant = exp.Anonymous(this="make_timestamp", expressions=call.expressions)
                    call.replace(exp.Cast(this=instant, to=exp.DataType.build("timestamptz")))
    return strict.sql(dialect.name, pretty=pretty, normalize_functions=False)


def listable_keys(node: Restrict, listed: frozenset[str]) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas that hold all keys of a restriction, if they may be written as literals.

    They may hold more: a restriction by more keys than needed is still right.
    """
    (key,) = node.keys.fields
    found = _trace(node.keys, key.ref)
    listable = found is not None and all(relation in listed for relation, _ in found) and key.type in LISTABLE
    return found if listable else None


def _is_small(node: Relation, listed: frozenset[str]) -> bool:
    match node:
        case Scan():
            return node.version is Version.DELTA and node.relation in listed
        case Restrict() if listable_keys(node, listed) is not None:
            return isinstance(node.input, Scan) or _is_small(node.input, listed)
        case _:
            return all(_is_small(c, listed) for c in children(node))


def _trace(node: Relation, wanted: Ref) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas all values of a column come from, if they come from deltas as they are."""
    match node:
        case Scan():
            return ((node.relation, wanted[1]),) if node.version is Version.DELTA else None
        case Project():
            item = next(i for i in node.items if i.name == wanted[1])
            inner = ref(item.expression)
            return None if inner is None else _trace(node.input, inner)
        case Filter() | Restrict() | Repeat() | During():
            return _trace(node.input, wanted)
        case Unnest():
            return None if wanted[0] == node.alias else _trace(node.input, wanted)
        case Join():
            owner = next(i for i in node.inputs if any(f.ref == wanted for f in i.fields))
            return _trace(owner, wanted)
        case Union():
            place = [f.ref for f in node.fields].index(wanted)
            traced = [_trace(b, b.fields[place].ref) for b in node.inputs]
            return None if None in traced else tuple(dict.fromkeys(k for t in traced for k in t or ()))
        case Aggregate() | Window() | OuterJoin() | SemiJoin() | SetOperation() | Values() | Consolidate():
            return None
        case _:
            assert_never(node)


@dataclass(slots=True)
class _Lowering:
    dialect: Dialect
    listed: frozenset[str]
    in_one_task: bool
    key_lists: dict[tuple[KeyColumn, ...], KeyList] = field(default_factory=dict)

    def query(self, node: Relation) -> exp.Query:
        """A closed query with the node's columns, under their own names."""
        match node:
            case Project(input=Window() as window):
                functions = {(window.alias, i.name): i.expression for i in window.items}
                inlined = (Item(i.name, i.type, substitute(i.expression, functions)) for i in node.items)
                return self._select(self._block(window.input), self._items(inlined))
            case Project(input=Unnest() as unnest):
                element = {(unnest.alias, unnest.element.name): exp.Explode(this=unnest.array.copy())}
                placed = [substitute(i.expression, element).copy().as_(i.name, quoted=True) for i in node.items]
                return self._select(self._block(unnest.input), placed)
            case Project():
                return self._select(self._block(node.input), self._items(node.items))
            case Aggregate():
                return self._aggregate(node)
            case SetOperation():
                sides = [self._branch(i, node.columns) for i in (node.left, node.right)]
                combine = exp.except_ if node.kind is SetKind.EXCEPT else exp.intersect
                return combine(*(s.subquery() for s in sides), distinct=not node.all)
            case Union():
                branches = [self._branch(b, node.columns) for b in node.inputs]
                return branches[0] if len(branches) == 1 else _union_all(branches)
            case Consolidate():
                return self._consolidate(node)
            case Repeat():
                return self._repeated(node)
            case Values() | Scan() | Filter() | During() | Join() | OuterJoin() | SemiJoin() | Restrict():
                items = [_output(f) for f in node.fields]
                return self._select(self._block(node), items)
            case Window() | Unnest():
                raise ValueError("a window or unnested array stands below a projection")
            case _:
                assert_never(node)

    def _branch(self, branch: Relation, columns: tuple[Column, ...]) -> exp.Query:
        """A branch of a union or set operation; the first decides the names, so each gets those of the whole."""
        if [f.name for f in branch.fields] == [c.name for c in columns]:
            return self.query(branch)
        items = [f.expression.as_(c.name, quoted=True) for f, c in zip(branch.fields, columns, strict=True)]
        return self._select(Block([self._derived(branch)]), items)

    def _aggregate(self, node: Aggregate) -> exp.Query:
        select = self._select(self._block(node.input), self._items((*node.keys, *node.aggregates)))
        places = (exp.Literal.number(n) for n in range(1, len(node.keys) + 1))
        return select.group_by(*places, copy=False) if node.keys else select

    def _repeated(self, node: Repeat) -> exp.Query:
        """Each row once per element of a sequence as long as its count."""
        counted = read("EXPLODE(SEQUENCE(1, 2))")
        counted.find(exp.GenerateSeries).set("end", node.times.copy())  # type: ignore[union-attr]
        items = [*(_output(f) for f in node.fields), counted.as_("__i", quoted=True)]
        return self._select(self._block(node.input), items)

    def _consolidate(self, node: Consolidate) -> exp.Query:
        inner = self.query(node.input).subquery(_quoted(node.alias), copy=False)
        keys = [column(node.alias, f.name) for f in node.fields if f.name != WEIGHT]
        total = exp.Sum(this=column(node.alias, WEIGHT))
        items = [k.as_(k.name, quoted=True) for k in keys]
        items.append(cast(total, "bigint").as_(WEIGHT, quoted=True))
        grouped = (
            exp.select(*items, copy=False).from_(inner, copy=False).group_by(*(k.copy() for k in keys), copy=False)
        )
        return grouped.having(exp.NEQ(this=total.copy(), expression=exp.Literal.number(0)))

    def _block(self, node: Relation) -> Block:
        """The node as an open block, for the SELECT above it to close."""
        match node:
            case Scan():
                table = exp.to_table(source_name(node.relation, node.version)).as_(_quoted(node.alias))
                return Block([self._source(node, table)])
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
                sources = [s for b in inputs for s in b.sources]
                return Block(sources, [*(c for b in inputs for c in b.where), *node.conditions])
            case Values():
                return Block([self._source(node, self._constant(node))] if node.columns else [])
            case OuterJoin():
                return self._outer_join(node)
            case SemiJoin():
                block = self._block(node.left)
                block.where.append(self._exists(node))
                return block
            case Project() | Union() | Aggregate() | SetOperation() | Repeat() | Consolidate():
                return Block([self._derived(node)])
            case Window() | Unnest():
                raise ValueError("a window or unnested array stands below a projection")
            case _:
                assert_never(node)

    def _outer_join(self, node: OuterJoin) -> Block:
        """Both sides under their aliases, as one source."""
        left, right = (self._one_source(i) for i in (node.left, node.right))
        on = conjunction(node.conditions) if node.conditions else exp.true()
        joined = exp.Join(this=right.tree, side="LEFT", on=on)
        return Block([Source(node.fields, left.tree, is_active(node), (joined,))])

    def _exists(self, node: SemiJoin) -> Expression:
        block = self._block(node.right)
        block.where += node.conditions
        found: Expression = exp.Exists(this=flat(block, [exp.Literal.number(1)]))
        return exp.Not(this=found) if node.anti else found

    def _one_source(self, node: Relation) -> Source:
        block = self._block(node)
        plain = len(block.sources) == 1 and not block.where and not block.sources[0].joins
        return block.sources[0] if plain else self._derived(node)

    def _derived(self, node: Relation) -> Source:
        return self._source(node, self.query(node).subquery(_quoted(node.fields[0].alias), copy=False))

    def _source(self, node: Relation, tree: Expression) -> Source:
        return Source(node.fields, tree, is_active(node))

    def _constant(self, node: Values) -> Expression:
        """Constant rows as an inline table, every cell cast, so that both engines type them alike."""
        if not node.rows:
            nulls = (typed_null(c.type).as_(c.name, quoted=True) for c in node.columns)
            return exp.select(*nulls).where("FALSE").subquery(_quoted(node.alias), copy=False)
        rows = [
            exp.Tuple(expressions=[cast(e, c.type) for e, c in zip(row, node.columns, strict=True)])
            for row in node.rows
        ]
        names = [_quoted(c.name) for c in node.columns]
        return exp.Values(expressions=rows, alias=exp.TableAlias(this=_quoted(node.alias), columns=names))

    # restriction

    def _restricted(self, node: Restrict) -> Block:
        """A scan with its keys; the SELECT is its own, so that pruning meets the scan before any join."""
        block = self._block(node.input)
        block.where.append(self._among(node))
        select = self._select(block, [_output(f) for f in node.fields])
        if self.in_one_task:
            select = select.hint(ONE_TASK, dialect=self.dialect.name)
        return Block([self._source(node, select.subquery(_quoted(node.fields[0].alias), copy=False))])

    def _among(self, node: Restrict) -> Expression:
        keys = self._key_list(node)
        test: Expression
        if keys is not None:
            test = exp.In(this=operand(node.expression), expressions=[exp.Var(this=keys.slot)])
            if node.null_safe:
                test = exp.Or(this=test, expression=exp.Is(this=operand(node.expression), expression=exp.Null()))
            return test
        inner = self.query(node.keys)
        if not node.null_safe:
            return exp.In(this=operand(node.expression), query=inner.subquery(copy=False))
        (key,) = node.keys.fields
        same = exp.NullSafeEQ(this=column("among", key.name), expression=operand(node.expression))
        return exp.Exists(this=exp.select("1").from_(inner.subquery("among")).where(same))

    def _key_list(self, node: Restrict) -> KeyList | None:
        """The slot for a restriction's keys, where they may be listed."""
        found = listable_keys(node, self.listed)
        if found is None:
            return None
        slot = f"__keys_{len(self.key_lists)}__"
        return self.key_lists.setdefault(found, KeyList(slot, found, node.keys.fields[0].type))

    # SELECT

    def _select(self, block: Block, items: list[Expression]) -> exp.Select:
        return (one_task if self.in_one_task else flat)(block, items or [exp.Literal.number(1)])

    def _items(self, items: Iterable[Item]) -> list[Expression]:
        return [self._item(i.expression, i.type).as_(i.name, quoted=True) for i in items]

    def _item(self, expression: Expression, type: str) -> Expression:
        if self.dialect.casts_items and ref(expression) is None and type != "void":
            return cast(expression, type)
        return expression.copy()


def _union_all(queries: list[exp.Query] | list[exp.Select]) -> exp.Query:
    return exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]


def _output(f: Field) -> Expression:
    return f.expression.as_(f.name, quoted=True)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
