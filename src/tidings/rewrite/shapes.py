"""Queries that differ only in constants, as one query over a table of their constants.

``qty < 10`` and ``qty < 20`` have one shape: the same query with a column in the place of the number.  The constants of
all queries are the rows of an inline table that is joined where they are needed, and each row of the result says in the
column :data:`QUERY` which query it belongs to.

Only what something is compared with is taken out, in the conditions of filters and joins that lie above every operator
that looks at more than one row at a time.  A number keeps the type it has as a literal, or gets a wider one, so the
comparison means the same.  A string takes its meaning from the other side of the comparison; so it is taken out only
where the other side is a column of strings.

A query over groupings that are stored is taken with the definitions of these: the number of the query is one more key
of each.  Not so a grouping without keys: it has a row for each query that has none below it, and a key would lose that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression, Ref, column, literal, ref
from tidings.ir.relation import (
    Aggregate,
    Column,
    Field,
    Filter,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Values,
)
from tidings.ir.traverse import children, rebuild, walk
from tidings.rewrite.pipeline import normalise

QUERY = "__query"
"""The column that has the number of the query a row belongs to."""

_CONSTANT = "__CONSTANT"
"""Stands with a number for a constant that was taken out."""

_GROUPING = "#grouping"
"""Stands with a number for the name of a grouping."""

NO_GROUPINGS: Mapping[str, Aggregate] = MappingProxyType({})

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Paren)


class Constant(NamedTuple):
    """A constant of a query, and the type it has there."""

    value: Expression
    type: str


@dataclass(frozen=True, slots=True)
class QueryShape:
    """What some queries have in common.  Equal for all queries of the same shape."""

    plan: Relation
    """The query with marks in the place of its constants."""
    types: tuple[str, ...]
    """The types of the constants."""
    groupings: tuple[Aggregate, ...] = ()
    """The definitions of the groupings that the query reads, in the same way."""


class OneQuery(NamedTuple):
    """One query for several of a shape, and the definitions of the groupings it reads, in their order."""

    plan: Relation
    groupings: tuple[Aggregate, ...]


def shape(
    plan: Relation, groupings: Mapping[str, Aggregate] = NO_GROUPINGS
) -> tuple[QueryShape, tuple[Expression, ...]] | None:
    """The shape of a query and its constants; None if there are none to be taken out.

    ``groupings`` are definitions of what the query reads, each after those it reads itself.

    >>> from tidings.ir.text import parse
    >>> plans = [parse(f"project v [a int := t.a]\\n  filter [t.a < {n}]\\n    scan t t [a int]") for n in (1, 2)]
    >>> (one, ones), (two, twos) = map(shape, plans)
    >>> one == two, [c.sql() for c in ones + twos]
    (True, ['1', '2'])
    """
    names = {name: f"{_GROUPING}{n}" for n, name in enumerate(groupings)}
    if not all(g.keys and _is_reached(g.input, names) for g in groupings.values()) or not _is_reached(plan, names):
        return None
    taking = _Taking()
    marked_groupings = [
        replace(grouping, input=taking.marked(renamed(grouping.input, names))) for grouping in groupings.values()
    ]
    marked = taking.marked(renamed(plan, names))
    if not taking.constants or not isinstance(marked, Project):
        return None
    constant_types = tuple(c.type for c in taking.constants)
    common = QueryShape(replace(marked, alias="shape"), constant_types, tuple(marked_groupings))
    return common, tuple(c.value for c in taking.constants)


def renamed(plan: Relation, names: Mapping[str, str]) -> Relation:
    """A plan that reads some relations under other names."""
    if not names:
        return plan
    return rebuild(
        plan, lambda n: replace(n, relation=names[n.relation]) if isinstance(n, Scan) and n.relation in names else n
    )


def _is_reached(plan: Relation, groupings: Mapping[str, str]) -> bool:
    """Whether the number of the query gets from all groupings to the top: nothing between looks at several rows."""
    there, reached = (
        [node for node in nodes if isinstance(node, Scan) and node.relation in groupings]
        for nodes in (walk(plan), _row_by_row(plan))
    )
    return len(there) == len(reached)


def _row_by_row(node: Relation) -> Iterator[Relation]:
    """The nodes of a plan that lie above every operator that looks at more than one row at a time, and these."""
    yield node
    if isinstance(node, Filter | Project | Join | OuterJoin | SemiJoin):
        for child in children(node):
            yield from _row_by_row(child)


def in_one(common: QueryShape, constants: Sequence[tuple[Expression, ...]], groupings: Sequence[str] = ()) -> OneQuery:
    """One query for several of a shape; in its last column, the place of each row's query among them.

    It reads its groupings, which have that column first, under some names.

    >>> from tidings.ir.text import parse, show
    >>> plans = [parse(f"project v [a int := t.a]\\n  filter [t.a < {n}]\\n    scan t t [a int]") for n in (1, 2)]
    >>> (one, ones), (_, twos) = map(shape, plans)
    >>> print(show(in_one(one, [ones, twos]).plan))
    project shape [a int := t.a, __query int := constants1.__query]
      join [t.a < constants1.c0]
        scan t t [a int]
        values constants1 [__query int, c0 int] [(0, 1), (1, 2)]
    """
    columns = (Column(QUERY, "int"), *(Column(f"c{n}", type) for n, type in enumerate(common.types)))
    rows = tuple((literal(n), *values) for n, values in enumerate(constants))
    names = {f"{_GROUPING}{n}": name for n, name in enumerate(groupings)}
    joining = _Joining(Values("", columns, rows), frozenset(groupings))
    together = tuple(joining.grouping(replace(g, input=renamed(g.input, names))) for g in common.groupings)
    return OneQuery(normalise(joining.joined(renamed(common.plan, names)).plan, {}), together)


@dataclass(slots=True)
class _Taking:
    """Takes the constants out of a query."""

    constants: list[Constant] = field(init=False, default_factory=list)

    def marked(self, node: Relation) -> Relation:
        """The query with marks in the place of its constants."""
        match node:
            case Filter():
                return Filter(self.marked(node.input), self._conditions(node.conditions, node.fields))
            case Project():
                return replace(node, input=self.marked(node.input))
            case Join():
                return Join(tuple(map(self.marked, node.inputs)), self._conditions(node.conditions, node.fields))
            case OuterJoin() | SemiJoin():
                fields = node.left.fields + node.right.fields
                conditions = self._conditions(node.conditions, fields)
                return replace(node, left=self.marked(node.left), right=self.marked(node.right), conditions=conditions)
            case _:
                return node

    def _conditions(self, conditions: tuple[Expression, ...], fields: tuple[Field, ...]) -> tuple[Expression, ...]:
        strings = frozenset(f.ref for f in fields if f.type == "string")
        return tuple(self._condition(condition, strings) for condition in conditions)

    def _condition(self, condition: Expression, strings: frozenset[Ref]) -> Expression:
        tree = exp.Paren(this=condition.copy())  # so that the condition itself may be replaced
        for comparison in list(tree.find_all(*_COMPARISONS)):
            sides = list(comparison.iter_expressions())
            others = [side for side in sides if side.find(exp.Column)]
            with_string = bool(others) and all(ref(side) in strings for side in others)
            for side in sides:
                type = _type(side, with_string=with_string) if others else None
                if type is not None:
                    mark = exp.Anonymous(this=_CONSTANT, expressions=[literal(len(self.constants))])
                    self.constants.append(Constant(side.copy(), type))
                    side.replace(mark)
        return condition if tree.this == condition else tree.this.pop()


def _type(side: Expression, *, with_string: bool) -> str | None:
    """The type of one side of a comparison as a constant; None if it has to stay where it is."""
    if isinstance(side, exp.Cast):
        target = types.canonical(side.to)
        return target if isinstance(side.this, exp.Literal) and target in ("date", "timestamp") else None
    if isinstance(side, exp.Literal) and side.is_string:
        return "string" if with_string else None
    if not all(isinstance(node, (exp.Literal, *_ARITHMETIC)) for node in side.walk()):
        return None
    numbers = list(side.find_all(exp.Literal))
    if all(number.is_int for number in numbers):
        largest = max(int(number.name) for number in numbers)
        return "int" if largest < 2**31 else "bigint" if largest < 2**63 and len(numbers) == 1 else None
    return types.roomy_decimal(numbers[0].name) if len(numbers) == 1 else None


class _Joined(NamedTuple):
    """A part of a query over constants, and where it has the number of the query; None if it has no constants."""

    plan: Relation
    query: Ref | None


@dataclass(slots=True)
class _Joining:
    """Joins the constants into a query from which they were taken out."""

    constants: Values
    groupings: frozenset[str]
    """The names of groupings over the constants."""
    _uses: int = field(init=False, default=0)

    def grouping(self, node: Aggregate) -> Aggregate:
        """A grouping whose first key is the number of the query."""
        below = self.joined(node.input)
        if below.query is None:
            below, _ = self._beside(below, (), always=True)
        assert below.query is not None
        return replace(node, input=below.plan, keys=(Item(QUERY, "int", column(*below.query)), *node.keys))

    def joined(self, node: Relation) -> _Joined:
        """The query over the constants."""
        match node:
            case Filter():
                below, alias = self._beside(self.joined(node.input), node.conditions)
                return _Joined(Filter(below.plan, _unmarked(node.conditions, alias)), below.query)
            case Project():
                below = self.joined(node.input)
                if below.query is None:
                    return _Joined(replace(node, input=below.plan), None)
                number = Item(QUERY, "int", column(*below.query))
                return _Joined(replace(node, input=below.plan, items=(*node.items, number)), (node.alias, QUERY))
            case Join():
                return self._join(node)
            case OuterJoin() | SemiJoin():
                return self._two_sided(node)
            case Scan() if node.relation in self.groupings:
                return _Joined(replace(node, columns=(Column(QUERY, "int"), *node.columns)), (node.alias, QUERY))
            case _:
                return _Joined(node, None)

    def _join(self, node: Join) -> _Joined:
        inputs = [self.joined(i) for i in node.inputs]
        conditions, alias = node.conditions, ""
        if any(map(_has_marks, node.conditions)):
            alias = self._next_alias()
            inputs.append(_Joined(replace(self.constants, alias=alias), (alias, QUERY)))
        queries = [i.query for i in inputs if i.query is not None]
        same = tuple(_same(queries[0], other) for other in queries[1:])
        plan = Join(tuple(i.plan for i in inputs), (*_unmarked(conditions, alias), *same))
        return _Joined(plan, queries[0] if queries else None)

    def _two_sided(self, node: OuterJoin | SemiJoin) -> _Joined:
        left, right = self.joined(node.left), self.joined(node.right)
        left, alias = self._beside(left, node.conditions, always=right.query is not None and left.query is None)
        conditions = _unmarked(node.conditions, alias)
        if left.query is not None and right.query is not None:
            conditions = (*conditions, _same(left.query, right.query))
        return _Joined(replace(node, left=left.plan, right=right.plan, conditions=conditions), left.query)

    def _beside(
        self, below: _Joined, conditions: tuple[Expression, ...], *, always: bool = False
    ) -> tuple[_Joined, str]:
        """A part with the constants beside it that some conditions need, and under which alias these are."""
        if not always and not any(map(_has_marks, conditions)):
            return below, ""
        alias = self._next_alias()
        here = (alias, QUERY)
        same = () if below.query is None else (_same(below.query, here),)
        return _Joined(Join((below.plan, replace(self.constants, alias=alias)), same), below.query or here), alias

    def _next_alias(self) -> str:
        self._uses += 1
        return f"constants{self._uses}"


def _same(one: Ref, other: Ref) -> Expression:
    return exp.EQ(this=column(*one), expression=column(*other))


def _is_mark(node: Expression) -> bool:
    return isinstance(node, exp.Anonymous) and node.name == _CONSTANT


def _has_marks(condition: Expression) -> bool:
    return any(map(_is_mark, condition.find_all(exp.Anonymous)))


def _unmarked(conditions: tuple[Expression, ...], alias: str) -> tuple[Expression, ...]:
    """Conditions with columns of the constants in the place of marks."""

    def unmarked(node: Expression) -> Expression:
        return column(alias, f"c{node.expressions[0].name}") if _is_mark(node) else node

    return tuple(c.transform(unmarked) if _has_marks(c) else c for c in conditions)
