"""GROUP BY: the keys, and with GROUPING SETS, CUBE and ROLLUP the sets of keys it groups by.

Several sets are several groupings: a union of one aggregate per set, in which the keys outside the set are NULL and
``grouping`` is a constant.

A set without keys has a row only where the input has one, unless it is the only set: so Spark has it.

In a subquery what ties it to the query around is a key of every set, beside the same column as a key of some.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations, product
from typing import NamedTuple

from sqlglot import exp

from tidings.errors import InvalidExpression
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, cast, column, literal, read, typed_null
from tidings.ir.relation import Aggregate, Column, Filter, Item, Project, Relation, Scan, Union
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.select.stages import Stage
from tidings.lang.sql.query.subquery.totals import completed


class Grouping(NamedTuple):
    """Bound keys, and the sets of them to group by if they are several."""

    keys: list[Expression]
    sets: list[list[Expression]] | None = None

    @property
    def is_total(self) -> bool:
        """Whether all rows are one group, which is there also without rows."""
        return not self.keys and (self.sets is None or len(self.sets) == 1)


_SEVERAL = exp.GroupingSets | exp.Cube | exp.Rollup
_CALLS = exp.Grouping | exp.GroupingId


def listed(clause: exp.Group) -> list[Expression]:
    """The expressions of a clause, those of sets among them, each once."""
    sets = grouping_sets(clause)
    return _once(chain(*map(_unit, clause.expressions)) if sets is None else [*_declared(clause), *chain(*sets)])


def grouping_sets(clause: exp.Group) -> list[list[Expression]] | None:
    """The sets of expressions a clause groups by; None where it is one plain list.

    >>> from tidings.lang.sql.parse import statements
    >>> group = statements("SELECT 1 FROM t GROUP BY a, ROLLUP (b, (c, d))")[0].args["group"]
    >>> [[e.name for e in s] for s in grouping_sets(group)]
    [['a', 'b', 'c', 'd'], ['a', 'b'], ['a']]
    """
    after = [e for arg in ("grouping_sets", "cube", "rollup") for e in clause.args.get(arg) or []]
    if not after and not any(isinstance(e, _SEVERAL) for e in clause.expressions):
        return None
    if not after:
        parts = [_sets(e) if isinstance(e, _SEVERAL) else [[e]] for e in clause.expressions]
    elif all(isinstance(e, exp.GroupingSets) for e in after):
        parts = [_sets(e) for e in after]
    else:
        parts = [_sets(e if e.expressions else type(e)(expressions=clause.expressions)) for e in after]
    return [_once(chain(*chosen)) for chosen in product(*parts)]


def _declared(clause: exp.Group) -> list[Expression]:
    """What ``GROUP BY a, b GROUPING SETS (…)`` lists before its sets: it gives the keys their order."""
    return list(clause.expressions) if clause.args.get("grouping_sets") else []


def _sets(element: Expression) -> list[list[Expression]]:
    match element:
        case exp.GroupingSets():
            return list(chain(*map(_sets, element.expressions)))
        case exp.Rollup():
            units = list(map(_unit, element.expressions))
            return [list(chain(*units[:n])) for n in range(len(units), -1, -1)]
        case exp.Cube():
            units = list(map(_unit, element.expressions))
            chosen = (c for n in range(len(units), -1, -1) for c in combinations(units, n))
            return [list(chain(*c)) for c in chosen]
        case _:
            return [_unit(element)]


def _unit(element: Expression) -> list[Expression]:
    if isinstance(element, exp.Tuple):
        return list(element.expressions)
    return [element.unnest()]


def _once(expressions: Iterable[Expression]) -> list[Expression]:
    return list(dict.fromkeys(expressions))


def plainly_grouped(tree: Expression) -> Expression:
    """A clause or expression as the analyzer may see it: one list of keys, ``grouping`` a number of its type."""
    if isinstance(tree, exp.Group):
        several = grouping_sets(tree) is not None
        return exp.Group(expressions=[e.copy() for e in listed(tree)]) if several else tree
    plain = tree.copy().transform(lambda n: _bits(n, 0) if isinstance(n, _CALLS) else n)
    return plain.as_(tree.sql(DIALECT).lower(), quoted=True) if isinstance(tree, _CALLS) else plain


class GroupedItems(NamedTuple):
    """What a grouping computes: its keys, the keys that tie it to the query around, and its aggregates."""

    keys: list[Item]
    ties: list[Item]
    aggregates: list[Item]

    @property
    def all(self) -> tuple[Item, ...]:
        return (*self.keys, *self.ties, *self.aggregates)


def aggregated(
    ctx: Context,
    plan: Relation,
    stages: tuple[Stage, Stage],
    items: GroupedItems,
    grouping: Grouping,
    domain: Scan | None,
) -> Relation:
    """The aggregate over a plan; for several sets the union of theirs.

    ``stages`` are those of the keys and of the aggregates.  In a subquery ``domain`` has the values of the query around
    for which a total must have its row.
    """
    keys, aggregates = stages

    def grouped(set_keys: list[Item], computed: list[Item], alias: str) -> Relation:
        groups = Aggregate(plan, alias, (*set_keys, *items.ties), tuple(computed))
        return completed(ctx, groups, domain) if domain is not None and grouping.is_total else groups

    if not items.all:
        items = items._replace(aggregates=[_NUMBER])
    if grouping.sets is None:
        return grouped(items.keys, items.aggregates, keys.alias)
    branches = []
    for chosen in grouping.sets:
        constants = _constants(ctx, aggregates, grouping.keys, chosen)
        set_keys = [i for k, i in zip(keys.computed, items.keys, strict=True) if k in chosen]
        alias, computed = ctx.alias("groups"), [i for i in items.aggregates if i.name not in constants]
        keyed = set_keys or items.ties
        branch = grouped(set_keys, computed if keyed or _NUMBER in computed else [*computed, _NUMBER], alias)
        if not keyed and len(grouping.sets) > 1:
            branch = Filter(branch, (read(f"{alias}.{_NUMBER.name} > 0"),))
        branches.append(_padded(ctx, branch, alias, items, constants))
    return Union(tuple(branches), keys.alias, tuple(Column(i.name, i.type) for i in items.all))


_NUMBER = Item("n", "bigint", exp.Count(this=exp.Star(), big_int=True))


def _padded(
    ctx: Context, groups: Relation, alias: str, items: GroupedItems, constants: dict[str, Expression]
) -> Relation:
    """One grouping of several: its own keys, NULL for the others."""
    there = {f.name for f in groups.fields}

    def value(item: Item) -> Expression:
        if item.name in constants:
            return constants[item.name]
        return column(alias, item.name) if item.name in there else typed_null(item.type)

    return Project(groups, ctx.alias("set"), tuple(Item(i.name, i.type, value(i)) for i in items.all))


def _constants(
    ctx: Context, aggregates: Stage, keys: list[Expression], chosen: list[Expression]
) -> dict[str, Expression]:
    """What ``grouping`` and ``grouping_id`` say in one set, by the names of their columns."""
    constants = {}
    for call, name in aggregates.computed.items():
        if isinstance(call, _CALLS):
            arguments = [e.unnest() for e in call.expressions] or keys
            if any(e not in keys for e in arguments):
                raise InvalidExpression(ctx.place(call), reason=f"{call.key}() of something that is not grouped by")
            constants[name] = _bits(call, sum(2**n for n, e in enumerate(reversed(arguments)) if e not in chosen))
    return constants


def _bits(call: Expression, value: int) -> Expression:
    return cast(literal(value), grouping_type(call) or "bigint")


def grouping_type(call: Expression) -> str | None:
    """The type of a ``grouping`` call; None for other expressions."""
    return {exp.Grouping: "tinyint", exp.GroupingId: "bigint"}.get(type(call))  # type: ignore[arg-type]
