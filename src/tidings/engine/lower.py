"""From plans to SQL text: the only place where SQL is printed.

Each ``project(join(…))`` becomes one SELECT with its sources in FROM, so the text stays as small as the algebra.
The active input comes first and the others follow in the order in which conditions connect them.

Scans become names (:func:`source_name`) under which an engine registers the versions of its relations.  A
restriction becomes a list of literal keys, left open in the text as a slot, or a semi-join with the keys' plan;
see :class:`Statement`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from sqlglot import exp

from tidings.delta.restrict import is_active
from tidings.ir import types
from tidings.ir.expression import (
    DIALECT,
    WEIGHT,
    Expression,
    aliases,
    cast,
    column,
    conjunction,
    ref,
    typed_null,
)
from tidings.ir.relation import (
    Consolidate,
    Field,
    Filter,
    Join,
    Project,
    Relation,
    Restrict,
    Scan,
    Union,
    Values,
    Version,
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
    join_hint: Callable[[list[str]], str | None] = lambda _: None
    """An optimizer hint for a join of restricted inputs, given their aliases, active one first."""
    scan_hint: str | None = None
    """An optimizer hint for the scan of a relation restricted by a list of keys."""


@dataclass(frozen=True, slots=True)
class KeyList:
    """Where a statement wants literal keys: the values of one column of a relation's delta."""

    slot: str
    relation: str
    column: str
    type: str


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text with slots for lists of keys."""

    text: str
    key_lists: tuple[KeyList, ...]
    small: bool
    """Whether all it reads is a delta or restricted by a list of keys."""

    def filled(self, literals: Callable[[KeyList], str]) -> str:
        """The text with every slot replaced by the literals of its keys."""
        text = self.text
        for keys in self.key_lists:
            text = text.replace(keys.slot, literals(keys))
        return text


def source_name(relation: str, version: Version) -> str:
    """The name under which an engine knows one version of a relation.

    >>> source_name("My Table", Version.OLD)
    '__old_my_20_table'
    """
    plain = re.sub(r"\W", lambda m: f"_{ord(m[0]):x}_", relation.lower())
    return f"__{version.value}_{plain}"


def lower(plan: Relation, dialect: Dialect, listed: frozenset[str] = frozenset()) -> Statement:
    """Print a plan; the keys of deltas named in ``listed`` are given as literals."""
    lowering = _Lowering(dialect, listed)
    query = lowering.query(plan)
    return Statement(printed(query, dialect, pretty=True), tuple(lowering.key_lists.values()), _is_small(plan, listed))


def printed(query: exp.Query, dialect: Dialect, *, pretty: bool = False) -> str:
    """A query in the engine's own words.

    A plain CAST fails on what it cannot convert, on every engine; only TRY_CAST answers NULL.
    """
    strict = query.transform(
        lambda n: (
            exp.Cast(this=n.this, to=n.args["to"])
            if type(n) is exp.TryCast and not n.args.get("safe") and dialect.name != DIALECT
            else n
        )
    )
    return strict.sql(dialect.name, pretty=pretty, normalize_functions=False)


def listable_keys(node: Restrict, listed: frozenset[str]) -> tuple[str, str] | None:
    """The relation and column whose changes hold all keys of a restriction, if they may be written as literals.

    The column may hold more: a restriction by more keys than needed is still right.
    """
    (key,) = node.keys.fields
    found = _trace(node.keys, key.ref)
    return found if found is not None and found[0] in listed and key.type in LISTABLE else None


def _is_small(node: Relation, listed: frozenset[str]) -> bool:
    match node:
        case Scan():
            return node.version is Version.DELTA and node.relation in listed
        case Restrict() if listable_keys(node, listed) is not None:
            return isinstance(node.input, Scan) or _is_small(node.input, listed)
        case _:
            return all(_is_small(c, listed) for c in children(node))


def _trace(node: Relation, wanted: tuple[str, str]) -> tuple[str, str] | None:
    match node:
        case Scan():
            return (node.relation, wanted[1]) if node.version is Version.DELTA else None
        case Project():
            item = next(i for i in node.items if i.name == wanted[1])
            inner = ref(item.expression)
            return None if inner is None else _trace(node.input, inner)
        case Filter() | Restrict():
            return _trace(node.input, wanted)
        case Join():
            owner = next(i for i in node.inputs if any(f.ref == wanted for f in i.fields))
            return _trace(owner, wanted)
        case Union() | Values() | Consolidate():
            return None
        case _:
            assert_never(node)


@dataclass(slots=True)
class _Block:
    """A SELECT in the making: sources and conditions, no select list yet."""

    sources: list[_Source]
    where: list[Expression] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Source:
    aliases: frozenset[str]
    tree: Expression
    active: bool
    restricted: bool


@dataclass(slots=True)
class _Lowering:
    dialect: Dialect
    listed: frozenset[str]
    key_lists: dict[tuple[str, str], KeyList] = field(default_factory=dict)

    def query(self, node: Relation) -> exp.Query:
        """A closed query with the node's columns, under their own names."""
        match node:
            case Project():
                items = [self._item(i.expression, i.type).as_(i.name, quoted=True) for i in node.items]
                return self._select(self._block(node.input), items or [exp.Literal.number(1)])
            case Union():
                branches = [self._branch(b, node) for b in node.inputs]
                return branches[0] if len(branches) == 1 else _union_all(branches)
            case Consolidate():
                return self._consolidate(node)
            case Values() | Scan() | Filter() | Join() | Restrict():
                items = [_output(f) for f in node.fields]
                return self._select(self._block(node), items or [exp.Literal.number(1)])
            case _:
                assert_never(node)

    def _branch(self, branch: Relation, union: Union) -> exp.Query:
        """A union branch; the first decides the names of the columns, so each gets the union's."""
        if [f.name for f in branch.fields] == [c.name for c in union.columns]:
            return self.query(branch)
        items = [f.expression.as_(c.name, quoted=True) for f, c in zip(branch.fields, union.columns, strict=True)]
        return self._select(_Block([self._derived(branch)]), items)

    def _consolidate(self, node: Consolidate) -> exp.Query:
        inner = self.query(node.input).subquery(_quoted(node.alias))
        keys = [column(node.alias, f.name) for f in node.fields if f.name != WEIGHT]
        total = exp.Sum(this=column(node.alias, WEIGHT))
        items = [k.as_(k.name, quoted=True) for k in keys]
        items.append(cast(total, "bigint").as_(WEIGHT, quoted=True))
        grouped = exp.select(*items).from_(inner).group_by(*keys)
        return grouped.having(exp.NEQ(this=total.copy(), expression=exp.Literal.number(0)))

    def _block(self, node: Relation) -> _Block:
        """The node as an open block, for the SELECT above it to close."""
        match node:
            case Scan():
                table = exp.to_table(source_name(node.relation, node.version)).as_(_quoted(node.alias))
                return _Block([self._source(node, table)])
            case Filter():
                block = self._block(node.input)
                block.where += node.conditions
                return block
            case Restrict():
                return self._restricted(node)
            case Join():
                inputs = [self._block(i) for i in node.inputs]
                sources = [s for b in inputs for s in b.sources]
                return _Block(sources, [*(c for b in inputs for c in b.where), *node.conditions])
            case Values():
                return _Block([self._source(node, self._constant(node))] if node.columns else [])
            case Project() | Union() | Consolidate():
                return _Block([self._derived(node)])
            case _:
                assert_never(node)

    def _derived(self, node: Relation) -> _Source:
        return self._source(node, self.query(node).subquery(_quoted(node.fields[0].alias)))

    def _source(self, node: Relation, tree: Expression, restricted: bool = False) -> _Source:
        return _Source(frozenset(f.alias for f in node.fields), tree, is_active(node), restricted)

    def _constant(self, node: Values) -> Expression:
        """Constant rows as a chain of SELECTs, which both engines type alike."""
        rows = [
            exp.select(*(cast(e, c.type).as_(c.name, quoted=True) for e, c in zip(row, node.columns, strict=True)))
            for row in node.rows
        ]
        empty = exp.select(*(typed_null(c.type).as_(c.name, quoted=True) for c in node.columns)).where("FALSE")
        return (_union_all(rows) if rows else empty).subquery(_quoted(node.alias))

    # restriction

    def _restricted(self, node: Restrict) -> _Block:
        """A scan with its keys at once; the SELECT is its own, so that hints and pruning meet the scan."""
        block = self._block(node.input)
        block.where.append(self._among(node))
        items = [f.expression.as_(f.name, quoted=True) for f in node.fields]
        alias = node.fields[0].alias
        select = self._select(block, items)
        if self.dialect.scan_hint and self._key_list(node) is not None:
            select = select.hint(self.dialect.scan_hint)
        return _Block([self._source(node, select.subquery(_quoted(alias)), restricted=True)])

    def _among(self, node: Restrict) -> Expression:
        keys = self._key_list(node)
        test: Expression
        if keys is not None:
            test = exp.In(this=node.expression.copy(), expressions=[exp.Var(this=keys.slot)])
            if node.null_safe:
                test = exp.Or(this=test, expression=exp.Is(this=node.expression.copy(), expression=exp.Null()))
            return test
        inner = self.query(node.keys)
        if not node.null_safe:
            return exp.In(this=node.expression.copy(), query=inner.subquery())
        (key,) = node.keys.fields
        same = exp.NullSafeEQ(this=column("among", key.name), expression=node.expression.copy())
        return exp.Exists(this=exp.select("1").from_(inner.subquery("among")).where(same))

    def _key_list(self, node: Restrict) -> KeyList | None:
        """The slot for a restriction's keys, where they may be listed."""
        found = listable_keys(node, self.listed)
        if found is None:
            return None
        slot = f"__keys_{len(self.key_lists)}__"
        return self.key_lists.setdefault(found, KeyList(slot, *found, node.keys.fields[0].type))

    # SELECT

    def _select(self, block: _Block, items: list[Expression]) -> exp.Select:
        ordered = _connected(block.sources, block.where)
        select = exp.select(*(i.copy() for i in items))
        if not ordered:
            return _where(select, block.where)
        waiting = list(block.where)
        seen: frozenset[str] = ordered[0].aliases
        select = select.from_(ordered[0].tree)
        for source in ordered[1:]:
            seen |= source.aliases
            ready = [c for c in waiting if aliases(c) <= seen and aliases(c) & source.aliases and len(aliases(c)) > 1]
            waiting = [c for c in waiting if c not in ready]
            select = (
                select.join(source.tree, on=conjunction(ready))
                if ready
                else select.join(source.tree, join_type="cross")
            )
        if len(ordered) > 1 and (
            hint := self.dialect.join_hint([a for s in ordered if s.active or s.restricted for a in s.aliases])
        ):
            select = select.hint(hint)
        return _where(select, waiting)

    def _item(self, expression: Expression, type: str) -> Expression:
        if self.dialect.casts_items and ref(expression) is None and type != "void":
            return cast(expression, type)
        return expression.copy()


def _connected(sources: list[_Source], conditions: list[Expression]) -> list[_Source]:
    """Sources so that each, where possible, shares a condition with those before it; the active one first."""
    rest = sorted(sources, key=lambda s: not s.active)
    ordered: list[_Source] = []
    seen: frozenset[str] = frozenset()
    while rest:
        linked = (
            s
            for s in rest
            if any(aliases(c) & seen and aliases(c) & s.aliases and aliases(c) <= seen | s.aliases for c in conditions)
        )
        chosen = next(linked, rest[0])
        rest.remove(chosen)
        ordered.append(chosen)
        seen |= chosen.aliases
    return ordered


def _where(select: exp.Select, conditions: list[Expression]) -> exp.Select:
    return select.where(conjunction(conditions)) if conditions else select


def _union_all(queries: list[exp.Query] | list[exp.Select]) -> exp.Query:
    return exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]


def _output(f: Field) -> Expression:
    return f.expression.as_(f.name, quoted=True)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
